"""Static pod manifests on disk: their content, and their changes (spec 1.1).

`ManifestDirectory` is the capability, `LocalManifests` of `runtime.manifests.local` the real one. The path is one file
or a directory. Of a directory one level is read, sorted by name, without dot-files and directories. Unreadable files
are part of the answer, because one bad file must not hide the others. Contents are bytes, which are not interpreted
here.

`read` and `renew` touch the disk and may hang on a sick one: actors run them on a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

LIMIT_BYTES = 10 * 1024 * 1024
"""No manifest may be larger (spec 1.1)."""


class ManifestFile(msgspec.Struct, frozen=True):
    """One file: `content`, or None and the `problem` of reading it."""

    path: str
    content: bytes | None
    problem: str = ""
    touched_ns: int = 0
    """When content, name or rights were last changed, in wall-clock nanoseconds; 0: not known.

    Nobody can set it.
    """


class ManifestReading(msgspec.Struct, frozen=True):
    """All files at a path, sorted by name.

    `missing`: there is nothing at the path, so there are no files. `problem`: what is there cannot be listed, and
    nothing is known about its files.
    """

    files: tuple[ManifestFile, ...] = ()
    missing: bool = False
    problem: str = ""


class ManifestWatch(Protocol):
    """Tells of changes at one path until closed."""

    def renew(self) -> str:
        """Make sure that what is at the path *now* is watched; to be called before each reading.

        Gives the reason when it cannot be watched, so that only the next reading will show its changes.
        """

    def close(self) -> None:
        """Tell no more."""


class ManifestDirectory(Protocol):
    def read(self, path: str) -> ManifestReading:
        """Everything at `path`. Never raises OSError: problems are in the answer."""

    def watch(self, path: str, on_change: Callable[[str], None]) -> ManifestWatch:
        """Call `on_change`, on any thread, after each change at `path`.

        It gets the name of a file that was removed, else "". A file that another one has taken the place of, or that
        was renamed within the directory, is not removed: editors save so.

        It watches nothing until `renew` is called.
        """
