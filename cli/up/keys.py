"""The keys that a person presses beside the live table of `actorlet up`.

Owns the mode of the terminal: keys come at once and are not shown, and Ctrl-C comes as a key. So it ends this program
alone, not the one that started it, which would report an error (tox does).
"""

from __future__ import annotations

import os
import select
import termios
from types import TracebackType
from typing import Self

CTRL_C = "\x03"
BYTES_AT_ONCE = 64
_LOCAL_FLAGS = 3
"""Where `termios.tcgetattr` has the flags for echo, lines and signals."""


class Keys:
    """Of the terminal behind a file descriptor; none where it is no terminal."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._before: list[int | list[bytes | int]] | None = None

    def pressed(self) -> str:
        """The keys since the last call, without waiting."""
        if self._before is None or not select.select([self._descriptor], [], [], 0)[0]:
            return ""
        try:
            return os.read(self._descriptor, BYTES_AT_ONCE).decode("utf-8", "ignore")
        except OSError:
            return ""

    def __enter__(self) -> Self:
        if os.isatty(self._descriptor) and self._is_in_front():
            self._before = termios.tcgetattr(self._descriptor)
            mode = termios.tcgetattr(self._descriptor)
            mode[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO | termios.ISIG)
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, mode)
        return self

    def _is_in_front(self) -> bool:
        """A job in the background may not change the mode of the terminal, nor may one of another session."""
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError:  # it is the terminal of another session, which then keeps its mode and its signals
            return False

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._before = None
