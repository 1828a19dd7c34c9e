"""What the file system in memory consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.file_tree import FileTree


@dataclass(eq=False, slots=True)
class File:
    """Bytes. `write` appends, as logs are written; `tree` keeps account of the size."""

    tree: FileTree
    data: bytearray = field(default_factory=bytearray)
    mode: int = 0o644
    linked: bool = True

    def write(self, data: bytes, /) -> int:
        if self.linked:
            self.tree.take(len(data))
        self.data += data
        return len(data)

    def close(self) -> None:
        """Nothing is held that must be let go."""


@dataclass(eq=False, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(eq=False, slots=True)
class Directory:
    """Entries by name."""

    entries: dict[str, Node] = field(default_factory=dict)
    mode: int = 0o755
    linked: bool = True
    known_as: str = ""
    """The path under which the tree finds it at once; empty for none."""


Node = File | Link | Directory
