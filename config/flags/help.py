"""The text of `actorlet run --help`: every flag with what it is and its default.

A flag of a field tells the name of the field. Defaults are those of a kubelet without a configuration file (spec 12.1).
"""

from __future__ import annotations

import textwrap

from config.flags.command_line import parse_flags
from config.flags.shown import flags_shown
from config.flags.table import BARE, FLAGS, Flag, FlagKind

_TEXT_AT = 44
_EMPTY = frozenset({"", "[]"})
_WITHOUT_DEFAULT = frozenset({FlagKind.SWITCH, FlagKind.VERSION})


def flags_help(width: int = 100) -> str:
    """All flags by group; the deprecated ones last and in brief."""
    defaults = flags_shown(parse_flags([]))
    groups: dict[str, list[Flag]] = {}
    for flag in FLAGS.values():
        groups.setdefault(flag.group, []).append(flag)
    lines: list[str] = []
    for group, members in groups.items():
        lines += [f"{group}:"]
        if members[0].attribute:
            lines += [line for flag in members for line in _help_lines(flag, defaults[flag.name], width)]
        else:
            names = " ".join(f"--{flag.name}" for flag in members)
            lines += textwrap.wrap(names, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        lines.append("")
    return "\n".join(lines)


def _help_lines(flag: Flag, default: str, width: int) -> list[str]:
    short = {"v": "-v", "help": "-h, --help"}.get(flag.name, f"--{flag.name}")
    head = f"  {short}" + ("" if flag.kind in BARE else f" <{flag.kind}>")
    text = flag.help or flag.field
    if default not in _EMPTY and flag.kind not in _WITHOUT_DEFAULT:
        text += f" (default {default})"
    indent = " " * _TEXT_AT
    if len(head) >= _TEXT_AT - 1:
        return [head, *textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)]
    return textwrap.wrap(text, width, initial_indent=head.ljust(_TEXT_AT), subsequent_indent=indent)
