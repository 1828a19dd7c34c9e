"""Texts of the command line as values: one reader per kind of flag (spec 12.3).

A reader takes the text and the value of earlier occurrences of the flag (None at first). Repeated lists and maps grow;
all other values are replaced. A reader raises ValueError with a short reason.
"""

from collections.abc import Callable, Mapping
from typing import Any

from config.flags.table import FlagKind
from config.kubelet.configuration import MemoryReservation, RegisteredTaint, VerbosityByFile
from config.kubelet.feature_gates import TRUTHS, parse_gates
from config.values.durations import DurationError, parse_duration_ns

Reader = Callable[[str, Any], Any]


def read_value(kind: FlagKind, text: str, before: Any = None) -> Any:
    """The value of a flag; `before` is the value of its earlier occurrences.

    Raises ValueError with the reason.
    """
    return _READERS[kind](text, before)


def _text(text: str, _before: Any) -> str:
    return text


def _boolean(text: str, _before: Any) -> bool:
    if text not in TRUTHS:
        raise ValueError(f"{text!r} is neither true nor false")
    return TRUTHS[text]


def _integer(bits: int) -> Reader:
    def read(text: str, _before: Any) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError(f"{text} does not fit {bits} bits")
        return value

    return read


def _duration(text: str, _before: Any) -> int:
    try:
        return parse_duration_ns(text)
    except DurationError as error:
        raise ValueError(f"{text!r} is not a duration: {error.reason}") from None


def _pieces(text: str, separator: str = ",") -> list[str]:
    return [piece for piece in (part.strip() for part in text.split(separator)) if piece]


def _list(text: str, before: Any) -> tuple[str, ...]:
    return (*(before or ()), *_pieces(text))


def _pairs(sign: str) -> Reader:
    def read(text: str, before: Any) -> Mapping[str, str]:
        pairs: dict[str, str] = dict(before or {})
        for piece in _pieces(text):
            key, found, value = (part.strip() for part in piece.partition(sign))
            if not found or not key:
                raise ValueError(f"{piece!r} is not key{sign}value")
            pairs[key] = value
        return pairs

    return read


def _gates(text: str, before: Any) -> Mapping[str, bool]:
    chosen, faults = parse_gates(text)
    if faults:
        raise ValueError("; ".join(fault.reason for fault in faults))
    return {**(before or {}), **chosen}


def _headers(text: str, before: Any) -> Mapping[str, tuple[str, ...]]:
    headers: dict[str, tuple[str, ...]] = dict(before or {})
    for piece in _pieces(text):
        key, colon, value = (part.strip() for part in piece.partition(":"))
        if not colon or not key:
            raise ValueError(f"{piece!r} is not Header:value")
        headers[key] = (*headers.get(key, ()), value)
    return headers


def _taints(text: str, before: Any) -> tuple[RegisteredTaint, ...]:
    taints: list[RegisteredTaint] = list(before or ())
    for piece in _pieces(text):
        pair, colon, effect = piece.rpartition(":")
        key, _, value = pair.partition("=")
        if not colon or not key:
            raise ValueError(f"{piece!r} is not key=value:effect")
        taints.append(RegisteredTaint(key=key, value=value, effect=effect))
    return tuple(taints)


def _memory(text: str, before: Any) -> tuple[MemoryReservation, ...]:
    reservations: list[MemoryReservation] = list(before or ())
    for piece in _pieces(text, ";"):
        node, colon, limits = piece.partition(":")
        if not colon or not node.isascii() or not node.isdigit():
            raise ValueError(f"{piece!r} is not node:memory=amount")
        reservations.append(MemoryReservation(numa_node=int(node), limits=_pairs("=")(limits, None)))
    return tuple(reservations)


def _vmodule(text: str, before: Any) -> tuple[VerbosityByFile, ...]:
    entries: list[VerbosityByFile] = list(before or ())
    for piece in _pieces(text):
        pattern, equals, level = piece.partition("=")
        if not equals or not pattern or not (level.isascii() and level.isdigit()):
            raise ValueError(f"{piece!r} is not file=level")
        entries.append(VerbosityByFile(file_pattern=pattern, verbosity=_integer(32)(level, None)))
    return tuple(entries)


def _version(text: str, _before: Any) -> str:
    if text != "raw" and text not in TRUTHS:
        raise ValueError(f"{text!r} is neither true nor raw")
    return text if text == "raw" else ("true" if TRUTHS[text] else "")


_READERS: Mapping[FlagKind, Reader] = {
    FlagKind.TEXT: _text,
    FlagKind.BOOLEAN: _boolean,
    FlagKind.SWITCH: _boolean,
    FlagKind.INT32: _integer(32),
    FlagKind.INT64: _integer(64),
    FlagKind.DURATION: _duration,
    FlagKind.LIST: _list,
    FlagKind.PAIRS: _pairs("="),
    FlagKind.GATES: _gates,
    FlagKind.THRESHOLDS: _pairs("<"),
    FlagKind.HEADERS: _headers,
    FlagKind.TAINTS: _taints,
    FlagKind.MEMORY: _memory,
    FlagKind.VMODULE: _vmodule,
    FlagKind.VERSION: _version,
}
