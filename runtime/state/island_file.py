"""The memory of an island node on disk, `island_state`.

`IslandFile` is the capability, `LocalIslandFile` the real one. It may hold Secrets, so only root reads it. Its content
is opaque here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from runtime.files.directories import make_directories
from runtime.files.state_file import LIMIT_BYTES, read_state, write_state

FILE = "island_state"
T = TypeVar("T")


class IslandFile(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """The content as `decode` reads it, which raises ValueError; None: there is no file.

        Raises UnreadableStateError for a file of no use, which is moved aside, and OSError.
        """

    def save(self, content: bytes) -> None:
        """Write the file. Raises OSError. After a crash it has its new content or its old."""


class LocalIslandFile:
    """The file on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._path = Path(root, FILE)

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        return read_state(str(self._path), decode)

    def save(self, content: bytes) -> None:
        if len(content) > LIMIT_BYTES:
            raise OSError(f"{self._path} would have {len(content)} bytes, and may have {LIMIT_BYTES}")
        make_directories(str(self._path.parent), 0o750)
        write_state(str(self._path), content)
