"""The nodes of the file system in memory."""

from __future__ import annotations

from typing import Protocol

import msgspec


class SizeAccount(Protocol):
    """Knows how many bytes a file system holds."""

    def take(self, size_bytes: int, /) -> None:
        """Count `size_bytes` more. Raises OSError when they do not fit."""


class File(msgspec.Struct, eq=False):
    """Bytes. `write` appends, as logs are written; `tree` keeps account of the size.

    What was written as a whole is kept as it came: pods share the text of their certificates.
    """

    tree: SizeAccount
    data: bytes | bytearray = b""
    mode: int = 0o644
    linked: bool = True

    def write(self, data: bytes, /) -> int:
        if self.linked:
            self.tree.take(len(data))
        if isinstance(self.data, bytes):
            self.data = bytearray(self.data)
        self.data += data
        return len(data)

    def close(self) -> None:
        """Nothing to close."""


class SymbolicLink(msgspec.Struct, eq=False):
    """A symbolic link."""

    target: str


class Directory(msgspec.Struct, eq=False):
    """Entries by name."""

    entries: dict[str, Node] = msgspec.field(default_factory=dict)
    mode: int = 0o755


Node = File | SymbolicLink | Directory
