"""Progress bars on standard error: one for each running play, and one for all seeds together.

Each shows the real time so far, and an estimate of what is left.

The bars are drawn inside the `with` block only, so code that prints leaves the block first. Rich draws them; without a
terminal it is not even imported.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from config.values.harmless_text import harmless_line

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN_EVERY_S = 0.1
ESTIMATED_FROM_S = 300.0
"""The time left is estimated from the progress in the last so many seconds: single seeds differ much."""
_SAY_OTHERWISE = ("FORCE_COLOR", "TTY_COMPATIBLE")
"""Variables that make Rich treat other streams as a terminal."""

now_s = time.monotonic
"""Real time; a world's clock is virtual."""


class PlayBars:
    """A context in which the bars are drawn. `quiet`: never. `clock`: seconds of real time."""

    def __init__(self, *, quiet: bool, clock: Callable[[], float] = now_s) -> None:
        self._progress = None if quiet else _seen_progress(clock)
        self._clock = clock
        self._shown_s = clock()

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
        """Add a bar below the others; None where no bars are drawn."""
        if self._progress is None:
            return None
        return self._progress.add_task(harmless_line(what), total=1.0, virtual="", counted="")

    def drop(self, bar: TaskID | None) -> None:
        """Remove a bar."""
        if self._progress is not None and bar is not None:
            self._progress.remove_task(bar)

    def stand(self, bar: TaskID | None, share: float, *, virtual: str = "", counted: str = "") -> None:
        """Set the progress of a bar; drawn at the next `refresh`."""
        if self._progress is not None and bar is not None:
            self._progress.update(bar, completed=share, virtual=virtual, counted=counted)

    def is_due(self) -> bool:
        """Whether to redraw now."""
        return self._progress is not None and self._clock() - self._shown_s >= SHOWN_EVERY_S

    def refresh(self) -> None:
        """Redraw all bars."""
        self._shown_s = self._clock()
        if self._progress is not None:
            self._progress.refresh()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it is closed
        return False


def _seen_progress(clock: Callable[[], float]) -> Progress | None:
    """The Rich progress display; None where no bars are drawn."""
    if not _is_terminal() and not any(name in os.environ for name in _SAY_OTHERWISE):
        return None
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from cli.styling import console

    terminal = console(stderr=True)
    if not terminal.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[virtual]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[counted]}"),
        console=terminal,
        get_time=clock,
        transient=True,
        auto_refresh=False,
        speed_estimate_period=ESTIMATED_FROM_S,
        redirect_stdout=False,
        redirect_stderr=False,
    )
