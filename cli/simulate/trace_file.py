"""The file of `--trace`. A full disk ends the trace, and not the play.

A failure to write is reported once, on standard error. Opening raises OSError as `open` does.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from cli.file_errors import why
from cli.printing import complain


class TraceFile:
    """A context manager that writes a trace. A write error is printed with the name of `command`."""

    def __init__(self, path: str, command: str) -> None:
        self._path = path
        self._command = command
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # closed by __exit__
        self._whole = True

    def write(self, text: str) -> None:
        """Write a line; nothing after a failure: half a trace is better than one with holes."""
        if not self._whole:
            return
        try:
            self._file.write(text)
        except OSError as error:
            self._tell(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as failure:
            self._tell(failure)

    def _tell(self, error: OSError) -> None:
        if self._whole:
            self._whole = False
            reason = f"--trace {self._path}: {error.strerror or why(error)}: the trace ends before its end"
            complain(f"actorlet {self._command}: {reason}")
