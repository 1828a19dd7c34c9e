"""A command on a terminal of its own, as a person has it.

Tests type, read the screen, and resize it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

Size = tuple[int, int]
"""Rows and columns."""
FIRST_SIZE: Size = (24, 80)


class Terminal:
    """See the module. `shown`: everything until now."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self._process = process
        self._screen = screen
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def interrupt(self) -> None:
        """As Ctrl-C on a terminal that controls the process."""
        self._process.send_signal(signal.SIGINT)

    def resize(self, size: Size) -> None:
        _set_size(self._screen, size)
        self._process.send_signal(signal.SIGWINCH)

    def until(self, text: str, seconds: float = 120.0) -> None:
        """Read until it is shown."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            assert self._read(end), f"not within {seconds:g} s: {text!r} in {self.shown!r}"

    def end(self, seconds: float = 120.0) -> int:
        """Its exit status, once it has ended."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        return self._process.wait(max(1.0, end - time.monotonic()))

    def _read(self, end: float) -> bool:
        """False when there is no more, or the time is over."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # what a terminal says when nobody is on it any more
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)


@contextmanager
def on_terminal(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Terminal]:
    """Started on a terminal of `FIRST_SIZE`, and killed with the context when it still runs."""
    screen, keyboard = pty.openpty()
    _set_size(screen, FIRST_SIZE)
    process = subprocess.Popen(
        command, stdin=keyboard, stdout=keyboard, stderr=keyboard, env=environment, start_new_session=True
    )
    os.close(keyboard)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.close(screen)


def _set_size(screen: int, size: Size) -> None:
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
