"""Bars on standard error that show how far plays are: one for each that is under way, and one for all of several seeds.

They are there while somebody sees them and nothing else is written: whoever prints leaves the block before.
"""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

SHOWN_EVERY_S = 0.1


class PlayBars:
    """See the module; a context in which they are seen. `quiet`: never."""

    def __init__(self, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self.hidden = quiet or not console.is_terminal
        self.now_s = console.get_time
        self._shown_s = console.get_time()
        self._progress = Progress(
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
            disable=self.hidden,
        )

    def __enter__(self) -> PlayBars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def add(self, what: str) -> TaskID:
        """One more, below the others."""
        return self._progress.add_task(what, total=1.0, virtual="", counted="")

    def drop(self, bar: TaskID) -> None:
        """It is over."""
        self._progress.remove_task(bar)

    def stand(self, bar: TaskID, share: float, *, virtual: str = "", counted: str = "") -> None:
        """How far that one is; seen at the next `refresh`."""
        self._progress.update(bar, completed=share, virtual=virtual, counted=counted)

    def is_due(self) -> bool:
        """Whether it is time to show how far all of it is."""
        return not self.hidden and self.now_s() - self._shown_s >= SHOWN_EVERY_S

    def refresh(self) -> None:
        """Show it."""
        self._shown_s = self.now_s()
        self._progress.refresh()
