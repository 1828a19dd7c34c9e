"""The files that say who pulled which image, where a kubelet has them.

They are `image_manager/pulling` and `pulled`.

`PullRecordFiles` is the capability, `LocalPullRecordFiles` the real one. Changes are made one after the other; each is
there after a crash, whole. A file that cannot be read is set aside and its name told: whoever forgot it would open an
image to everybody. It is kept in a directory of ours, since a kubelet takes every file in its own for a record. Refuses
to know what is in the files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import Protocol

import msgspec

from config.frozen_map import FrozenMap
from runtime.files.directories import make_directories
from runtime.files.state_file import UNREADABLE, UnreadableStateError, move_aside, read_state, write_state

DIRECTORY = "image_manager"
PULLING, PULLED = "pulling", "pulled"
ASIDE = "unreadable"
"""The directory with a directory of unreadable files for each of the two."""
PREFIX, TEMPORARY = "sha256-", ".tmp"
LIMIT_BYTES = 1 << 20


class FileChange(msgspec.Struct, frozen=True):
    """`directory` is PULLING or PULLED. `content` None: the file is to go, and what was set aside of it."""

    directory: str
    name: str
    content: bytes | None = None


class PullFiles(msgspec.Struct, frozen=True):
    """Contents by the name of the file. `unreadable` has names of PULLED; `problems` is for people."""

    pulling: FrozenMap[str, bytes]
    pulled: FrozenMap[str, bytes]
    unreadable: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


class PullRecordFiles(Protocol):
    """See the module. May block; call it on a lane."""

    def load(self) -> PullFiles:
        """Read all records. Raises OSError for a disk error."""

    def apply(self, changes: Iterable[FileChange]) -> None:
        """Make the changes in order, up to the first that fails. Raises OSError."""


class LocalPullRecordFiles:
    """Pull records on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, DIRECTORY)

    def load(self) -> PullFiles:
        unreadable: set[str] = set()
        problems: list[str] = []
        pulling = self._read_all(PULLING, set(), problems)
        pulled = self._read_all(PULLED, unreadable, problems)
        return PullFiles(FrozenMap(pulling), FrozenMap(pulled), frozenset(unreadable), tuple(problems))

    def apply(self, changes: Iterable[FileChange]) -> None:
        for change in changes:
            directory = os.path.join(self._root, change.directory)
            path = os.path.join(directory, change.name)
            if change.content is not None:
                make_directories(directory, 0o700)
                write_state(path, change.content)
                continue
            for each in (path, path + UNREADABLE, self._aside(change.directory, change.name)):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(each)

    def _aside(self, directory: str, name: str) -> str:
        return os.path.join(self._root, ASIDE, directory, name)

    def _read_all(self, directory: str, unreadable: set[str], problems: list[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        path = os.path.join(self._root, directory)
        unreadable.update(_names_in(os.path.join(self._root, ASIDE, directory)))
        for name in _names_in(path):
            if name.endswith(UNREADABLE):
                # An agent before this one has left it here.
                record = name.removesuffix(UNREADABLE)
                unreadable.add(record)
                try:
                    move_aside(os.path.join(path, name), self._aside(directory, record))
                except OSError as failure:
                    problems.append(f"{os.path.join(path, name)}: it cannot be moved away: {failure.strerror}")
                continue
            try:
                content = read_state(os.path.join(path, name), bytes, LIMIT_BYTES, aside=self._aside(directory, name))
            except UnreadableStateError as fault:
                unreadable.add(name)
                problems.append(str(fault))
                continue
            if content is not None:
                found[name] = content
        return found


def _names_in(directory: str) -> list[str]:
    """The names of the records in a directory; none if it is missing."""
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    return [name for name in names if name.startswith(PREFIX) and not name.endswith(TEMPORARY)]
