"""The state file of claims on disk, `dra_manager_state` (spec 10.12).

`ClaimFile` is the capability, `LocalClaimFile` the real one. The file is that of a kubelet, which may be the next to
read it; so its content is opaque here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from runtime.files.state_file import read_state, write_state

FILE = "dra_manager_state"
T = TypeVar("T")


class ClaimFile(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """The content as `decode` reads it, which raises ValueError; None: there is no file.

        Raises UnreadableStateError for a file of no use, which is moved aside, and OSError.
        """

    def save(self, content: bytes) -> None:
        """Write the file. Raises OSError. After a crash it has its new content or its old."""


class LocalClaimFile:
    """The state file on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._path = str(Path(root, FILE))

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        return read_state(self._path, decode)

    def save(self, content: bytes) -> None:
        write_state(self._path, content)
