"""What commands draw with rich: every text becomes harmless before rich measures it.

Only this module makes a console or a `Text` (tests/lint/rules/ways_out.py). Markup such as `[red]` is off: in a name it
is a part of the name.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console, OverflowMethod
from rich.text import Text

from config.values.harmless_text import harmless_line

CELL_CHARACTERS_AT_MOST = 500
"""Of a text without a style, such as a cell: wrapping a megabyte at each look would slow `up` down."""


def shown(text: str, style: str = "", *, overflow: OverflowMethod | None = None, no_wrap: bool | None = None) -> Text:
    """One line for people."""
    return Text(harmless_line(text), style, overflow=overflow, no_wrap=no_wrap)


class HarmlessConsole(Console):
    """A console that takes no text for markup, and shows each in one line."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Called by rich for each plain text that is printed or stands in a cell."""
        return super().render_str(harmless_line(text, CELL_CHARACTERS_AT_MOST), **options)


def console(*, stderr: bool = False) -> Console:
    """A console that cuts rows at the edge of a terminal; in a pipe, rows keep their length."""
    plain: dict[str, Any] = {"stderr": stderr, "markup": False, "emoji": False, "highlight": False}
    found = HarmlessConsole(**plain)
    return found if found.is_terminal else HarmlessConsole(**plain, width=1000, soft_wrap=True)
