"""Manifests that were handed to the node, kept on its disk: one file each, all of it or nothing.

`ManifestStore` is the capability, `LocalManifestStore` the real one. What is in a file is not known here, and reading
them is `runtime.manifests.files`. A file is on the disk when the call that writes it returns. Calls may hang on a sick
disk: actors run them on a lane. Raises OSError.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from runtime.files.directories import make_directories
from runtime.files.whole_file import settle, write_whole


class ManifestStore(Protocol):
    """See the module. Paths are absolute; files whose names begin with a dot are no manifests."""

    def prepare(self, directory: str) -> None:
        """Make the directory if it is missing."""

    def write(self, path: str, content: bytes) -> None:
        """Write the file; replace an existing one."""

    def remove(self, path: str) -> None:
        """Remove the file if it exists."""


class LocalManifestStore:
    """A manifest store on the disk of this machine.

    Manifests may hold secrets, so only the owner can read them.
    """

    def prepare(self, directory: str) -> None:
        make_directories(directory, 0o700)

    def write(self, path: str, content: bytes) -> None:
        write_whole(path, content)

    def remove(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)
        settle(os.path.dirname(path))
