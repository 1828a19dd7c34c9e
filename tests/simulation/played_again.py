"""Plays the same once more in another process.

Strings have other hashes there, and nothing may depend on them.

As a program it reads a name of the library and a seed from each line, and says what came of it.
"""

from __future__ import annotations

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


class OtherProcess(AbstractContextManager["OtherProcess"]):
    """It plays what it is told to, one after the other, while the caller does something else."""

    def __enter__(self) -> OtherProcess:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.played_again"],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": HASH_SEED},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ask, self._answers = self._process.stdin, self._process.stdout
        return self

    def begin(self, name: str, seed: int) -> None:
        """Let it play that."""
        print(name, seed, file=self._ask, flush=True)

    def ends_like(self, outcome: PlayOutcome) -> bool:
        """Whether the oldest that was begun has come to the very same, to the last message."""
        return self._answers.readline() == f"{outcome!r}\n"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ask.close()
        self._answers.close()
        self._process.wait()


if __name__ == "__main__":
    for line in sys.stdin:
        asked, with_seed = line.split()
        print(repr(played(asked, int(with_seed))), flush=True)
