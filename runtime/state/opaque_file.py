"""One state file whose content this package does not know, as `dra_manager_state` or `island_state`.

`OpaqueFile` is the capability, `LocalOpaqueFile` the real one. Its owner says what is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from runtime.files.directories import make_directories
from runtime.files.state_file import LIMIT_BYTES, read_state, write_state

CLAIMS = "dra_manager_state"
"""The file of prepared claims (spec 10.12). The next to read it may be a kubelet."""
ISLAND = "island_state"
"""The memory of an island node. It may hold Secrets."""
T = TypeVar("T")


class OpaqueFile(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """The content as `decode` reads it, which raises ValueError; None: there is no file.

        Raises UnreadableStateError for a file of no use, which is moved aside, and OSError.
        """

    def save(self, content: bytes) -> None:
        """Write the file, which only root reads.

        Raises OSError, also for a content that is too long to be read again. After a crash it has its new
        content or its old.
        """


class LocalOpaqueFile:
    """The file of that name on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str, name: str) -> None:
        self._path = Path(root, name)

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        return read_state(str(self._path), decode)

    def save(self, content: bytes) -> None:
        if len(content) > LIMIT_BYTES:
            raise OSError(f"{self._path} would have {len(content)} bytes, and may have {LIMIT_BYTES}")
        make_directories(str(self._path.parent), 0o750)
        write_state(str(self._path), content)
