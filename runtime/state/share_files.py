"""The state files of the CPU and memory managers on disk (spec 10.8, 10.9).

`ShareFiles` is the capability, `LocalShareFiles` the real one. The files are those of a kubelet, which may be the next
to read them; so their content is opaque here. A file that cannot be used stays where it is: to go on without it would
give CPUs twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from config.frozen_map import FrozenMap
from runtime.files.directories import make_directories
from runtime.files.state_file import LIMIT_BYTES
from runtime.files.whole_file import write_whole

CPU_STATE, MEMORY_STATE = "cpu_manager_state", "memory_manager_state"
NAMES = (CPU_STATE, MEMORY_STATE)


class ShareFiles(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self) -> FrozenMap[str, bytes]:
        """The content of the files that exist, by name. Raises OSError."""

    def save(self, contents: Mapping[str, bytes]) -> None:
        """Write the files in the order given. Raises OSError.

        After a crash each has its new content or its old.
        """


class LocalShareFiles:
    """The state files on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def load(self) -> FrozenMap[str, bytes]:
        found = {}
        for name in NAMES:
            try:
                with open(self._root / name, "rb") as file:
                    found[name] = file.read(LIMIT_BYTES)
            except FileNotFoundError:
                continue
        return FrozenMap(found)

    def save(self, contents: Mapping[str, bytes]) -> None:
        make_directories(str(self._root), 0o750)
        for name, content in contents.items():
            write_whole(str(self._root / name), content)
