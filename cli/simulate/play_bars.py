"""Bars on standard error that show how far plays are: one for each that is under way, and one for all of several seeds.

They are there while somebody sees them and nothing else is written: whoever prints leaves the block before. Where
nobody can see them Rich, which draws them, is not even imported.
"""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_EVERY_S = 0.1
_SAY_OTHERWISE = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables by which Rich takes for a terminal what is none."""

now_s = time.monotonic
"""What a person waits: no clock of a world."""


class PlayBars:
    """See the module; a context in which they are seen. `quiet`: never."""

    def __init__(self, *, quiet: bool) -> None:
        self._progress = None if quiet else _seen_progress()
        self._shown_s = now_s()

    def __enter__(self) -> PlayBars:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def add(self, what: str) -> TaskID | None:
        """One more, below the others; None where nobody sees them."""
        if self._progress is None:
            return None
        return self._progress.add_task(what, total=1.0, virtual="", counted="")

    def drop(self, bar: TaskID | None) -> None:
        """It is over."""
        if self._progress is not None and bar is not None:
            self._progress.remove_task(bar)

    def stand(self, bar: TaskID | None, share: float, *, virtual: str = "", counted: str = "") -> None:
        """How far that one is; seen at the next `refresh`."""
        if self._progress is not None and bar is not None:
            self._progress.update(bar, completed=share, virtual=virtual, counted=counted)

    def is_due(self) -> bool:
        """Whether it is time to show how far all of it is."""
        return self._progress is not None and now_s() - self._shown_s >= SHOWN_EVERY_S

    def refresh(self) -> None:
        """Show it."""
        self._shown_s = now_s()
        if self._progress is not None:
            self._progress.refresh()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it is closed
        return False


def _seen_progress() -> Progress | None:
    """What draws the bars; None where nobody sees them."""
    if not _is_terminal() and not any(name in os.environ for name in _SAY_OTHERWISE):
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[virtual]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[counted]}"),
        console=console,
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
