"""The content of `/flagz`: every flag with its value, as Go prints it (KEP-4828). Pure.

The value is the one of the command line, or else the flag's default. Files do not change it: `/configz` shows the
effective configuration. Secrets are masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from config.credentials.masked import MASK
from config.credentials.masked_urls import masked_url
from config.flags.command_line import ParsedFlags, apply_flags
from config.flags.table import FLAGS, Flag, FlagKind
from config.kubelet.reading import legacy_configuration
from config.values.durations import format_duration_ns

_SECRET = frozenset({"storage-driver-password"})
_URLS = frozenset({"manifest-url"})


def flags_shown(flags: ParsedFlags) -> Mapping[str, str]:
    """Flag -> value."""
    configuration = apply_flags(legacy_configuration(), flags)

    def shown(flag: Flag) -> str:
        value: Any
        if flag.configures:
            value = reduce(getattr, flag.attribute.split("."), configuration)
        elif flag.attribute:
            value = getattr(flags.node, flag.attribute)
        else:
            value = flags.without_effect.get(flag.name)
        text = _TEXTS.get(flag.kind, _text)(value)
        if text and flag.name in _SECRET:
            return MASK
        return masked_url(text) if flag.name in _URLS else text

    return {name: shown(flag) for name, flag in FLAGS.items()}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _list(values: Any) -> str:
    return f"[{','.join(map(str, values or ()))}]"


def _pairs(sign: str) -> Callable[[Any], str]:
    return lambda values: ",".join(f"{key}{sign}{value}" for key, value in sorted((values or {}).items()))


def _gates(values: Any) -> str:
    return ",".join(f"{name}={_boolean(value)}" for name, value in sorted(values.items()))


_TEXTS: Mapping[FlagKind, Callable[[Any], str]] = {
    FlagKind.BOOLEAN: _boolean,
    FlagKind.SWITCH: _boolean,
    FlagKind.VERSION: lambda value: value or "false",
    FlagKind.DURATION: lambda value: format_duration_ns(value or 0),
    FlagKind.LIST: _list,
    FlagKind.PAIRS: _pairs("="),
    FlagKind.THRESHOLDS: _pairs("<"),
    FlagKind.GATES: _gates,
    FlagKind.HEADERS: lambda values: ",".join(f"{name}:{MASK}" for name in sorted(values)),
    FlagKind.TAINTS: lambda taints: ",".join(f"{each.key}={each.value}:{each.effect}" for each in taints or ()),
    FlagKind.MEMORY: lambda every: ";".join(f"{each.numa_node}:{_pairs('=')(each.limits)}" for each in every or ()),
    FlagKind.VMODULE: lambda every: ",".join(f"{each.file_pattern}={each.verbosity}" for each in every or ()),
}
