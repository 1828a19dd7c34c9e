"""`<root>/allocated_pods_state`: what of the node has been given to which pod, on the disk (spec 10.16).

`AllocationFile` is the capability, `LocalAllocationFile` the real one. What has been saved is there after a crash, all
of it or what was before. Refuses to know what is in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from runtime.files.directories import make_directories
from runtime.files.whole_file import write_whole

NAME = "allocated_pods_state"
LIMIT_BYTES = 256 * 1024 * 1024


class AllocationFile(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self) -> bytes | None:
        """What was saved last; None where nothing was. Raises OSError."""

    def save(self, content: bytes) -> None:
        """Keep that from now on. Raises OSError."""


class LocalAllocationFile:
    """On the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def load(self) -> bytes | None:
        try:
            with (self._root / NAME).open("rb") as file:
                return file.read(LIMIT_BYTES)
        except FileNotFoundError:
            return None

    def save(self, content: bytes) -> None:
        make_directories(str(self._root), 0o750)
        write_whole(str(self._root / NAME), content)
