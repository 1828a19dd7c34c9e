"""The allocations of pods on disk (spec 10.16): two files below the root directory.

The next agent reads both, be it this one or a kubelet. `allocated_pods_state` has the allocated resources, and
`actuated_pods_state` those that the runtime was told.

`AllocationFile` is the capability, `LocalAllocationFile` the real one. After a crash a file has its new content or its
old (`runtime.files.state_file`). The real one adds the checksum that a kubelet requires. The content is not interpreted
here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from runtime.files.directories import make_directories
from runtime.files.state_file import read_state, write_state
from runtime.state.checkpoint import Checksums

NAME = "allocated_pods_state"
ACTUATED_NAME = "actuated_pods_state"
T = TypeVar("T")


class AllocationFile(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """The last saved content; None without one. Raises UnreadableStateError, OSError (`read_state`)."""

    def load_actuated(self, decode: Callable[[bytes], T]) -> T | None:
        """Like the loading of allocations, for the file of actuated resources."""

    def save(self, allocated: bytes, actuated: bytes) -> None:
        """Keep that from now on; one content for each file, a JSON object with `data`. Raises OSError."""


class LocalAllocationFile:
    """The allocation files on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._checksums = Checksums()

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        return read_state(str(self._root / NAME), decode)

    def load_actuated(self, decode: Callable[[bytes], T]) -> T | None:
        return read_state(str(self._root / ACTUATED_NAME), decode)

    def save(self, allocated: bytes, actuated: bytes) -> None:
        make_directories(str(self._root), 0o750)
        write_state(str(self._root / ACTUATED_NAME), self._checksums.added(actuated))
        write_state(str(self._root / NAME), self._checksums.added(allocated))
