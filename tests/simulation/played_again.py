"""Plays the same once more in another process.

Strings have other hashes there, and the collector of rings runs at other moments. Nothing may depend on them.

As a program it reads a name of the library and a seed from each line, and says what came of it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from simulation.play.play import PlayOutcome
from tests.simulation.sizes import played

REPOSITORY = Path(__file__).parents[2]
HASH_SEED = "4242"
COLLECTOR = (20_000, 5, 5)
"""The thresholds of its collector."""


class OtherProcess(AbstractContextManager["OtherProcess"]):
    """It plays what it is told to, while the caller does something else.

    When the process has died, the play that it was at fails, and the next one begins a new process.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._unread = 0

    def begin(self, name: str, seed: int) -> None:
        """Let it play that. The answer to an earlier play that nobody asked for is dropped."""
        while self._unread:
            self._answer()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.simulation.played_again"],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONHASHSEED": HASH_SEED},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        print(name, seed, file=self._process.stdin, flush=True)
        self._unread = 1

    def ends_like(self, outcome: PlayOutcome) -> bool:
        """Whether what was begun has come to the very same, to the last message.

        Raises ChildProcessError when the process died at it.
        """
        answer = self._answer()
        if self._process is None:
            raise ChildProcessError("the other process died at this play; standard error may say why")
        return answer == f"{outcome!r}\n"

    def _answer(self) -> str:
        """Its next answer; empty when it has died."""
        assert self._process is not None
        assert self._process.stdout is not None
        self._unread = 0
        answer = self._process.stdout.readline()
        if not answer:
            self._end()
        return answer

    def _end(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()


if __name__ == "__main__":
    gc.set_threshold(*COLLECTOR)
    for line in sys.stdin:
        asked, with_seed = line.split()
        print(repr(played(asked, int(with_seed))), flush=True)
