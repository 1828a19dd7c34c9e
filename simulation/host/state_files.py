"""What a simulated agent keeps on the disk: ids, allocations, shares, devices, records of pulls.

Each class stands in for the `Local...` class of the same capability in `runtime/state/`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import DIRECTORY as DEVICE_PLUGINS
from runtime.files.state_file import LIMIT_BYTES as STATE_BYTES
from runtime.files.state_file import UNREADABLE, UnreadableStateError, decoded
from runtime.state.allocation_file import ACTUATED_NAME
from runtime.state.allocation_file import NAME as ALLOCATIONS
from runtime.state.device_file import NAME as CHECKPOINT
from runtime.state.id_files import RECORD
from runtime.state.pull_record_files import DIRECTORY as RECORDS
from runtime.state.pull_record_files import PULLED, PULLING, FileChange, PullFiles
from runtime.state.share_files import CPU_STATE
from runtime.state.share_files import NAMES as SHARE_FILES
from simulation.host.file_paths import directory_of
from simulation.host.file_tree import FileTree, OnTree, gated

T = TypeVar("T")


def read_state(tree: FileTree, path: str, decode: Callable[[bytes], T], limit_bytes: int) -> T | None:
    """Like `runtime.files.state_file.read_state`."""
    if not tree.exists(path):
        return None
    try:
        return decoded(tree.read(path, limit_bytes), decode)
    except ValueError as fault:
        tree.remove_all(path + UNREADABLE)
        tree.rename(path, path + UNREADABLE)
        raise UnreadableStateError(f"{path}: {fault}; it is kept as {path}{UNREADABLE}") from None


class SimulatedIdFiles(OnTree):
    """`runtime.state.id_files.IdFiles`.

    `root` is the agent's directory. Nobody has chosen ids on a simulated machine.
    """

    def __init__(self, tree: FileTree, root: str) -> None:
        super().__init__(tree)
        self._pods = os.path.join(root, "pods")

    def subordinate(self) -> tuple[str | None, str | None]:
        return None, None

    def records(self) -> Mapping[str, str]:
        tree = self.tree

        def read() -> dict[str, str]:
            paths = {uid: self._record(uid) for uid in tree.names_if_any(self._pods)}
            return {uid: tree.read(path).decode() for uid, path in paths.items() if tree.exists(path)}

        return tree.gate(self._pods, read)

    def write(self, uid: str, text: str) -> None:
        path = self._record(uid)
        return self.tree.gate(path, lambda: self.tree.write(path, text.encode(), 0o600))

    def remove(self, uid: str) -> None:
        path = self._record(uid)
        return self.tree.gate(path, lambda: self.tree.remove_all(path))

    def _record(self, uid: str) -> str:
        return os.path.join(self._pods, uid, RECORD)


class SimulatedAllocationFile(OnTree):
    """`runtime.state.allocation_file.AllocationFile`. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        super().__init__(tree)
        self._path = os.path.join(root, ALLOCATIONS)
        self._actuated = os.path.join(root, ACTUATED_NAME)

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        tree, path = self.tree, self._path
        return tree.gate(path, lambda: read_state(tree, path, decode, STATE_BYTES))

    def load_actuated(self, decode: Callable[[bytes], T]) -> T | None:
        tree, path = self.tree, self._actuated
        return tree.gate(path, lambda: read_state(tree, path, decode, STATE_BYTES))

    def save(self, allocated: bytes, actuated: bytes) -> None:
        return self._save(self._path, allocated, actuated)

    @gated
    def _save(self, path: str, allocated: bytes, actuated: bytes) -> None:
        self.tree.make_directories(directory_of(path))
        self.tree.write(self._actuated, actuated, 0o600)
        self.tree.write(path, allocated, 0o600)


class SimulatedOpaqueFile(OnTree):
    """`runtime.state.opaque_file.OpaqueFile`. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str, name: str) -> None:
        super().__init__(tree)
        self._path = os.path.join(root, name)

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        return self._load(self._path, decode)

    def save(self, content: bytes) -> None:
        return self._save(self._path, content)

    @gated
    def _load(self, path: str, decode: Callable[[bytes], T]) -> T | None:
        return read_state(self.tree, path, decode, STATE_BYTES)

    @gated
    def _save(self, path: str, content: bytes) -> None:
        self.tree.make_directories(directory_of(path))
        self.tree.write(path, content, 0o600)


class SimulatedShareFiles(OnTree):
    """`runtime.state.share_files.ShareFiles`. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        super().__init__(tree)
        self._root = root

    def load(self) -> FrozenMap[str, bytes]:
        return self._load(os.path.join(self._root, CPU_STATE))

    def save(self, contents: Mapping[str, bytes]) -> None:
        return self._save(os.path.join(self._root, CPU_STATE), contents)

    @gated
    def _load(self, path: str) -> FrozenMap[str, bytes]:
        directory = directory_of(path)
        paths = {name: os.path.join(directory, name) for name in SHARE_FILES}
        return FrozenMap({name: self.tree.read(each) for name, each in paths.items() if self.tree.exists(each)})

    @gated
    def _save(self, path: str, contents: Mapping[str, bytes]) -> None:
        directory = directory_of(path)
        self.tree.make_directories(directory)
        for name, content in contents.items():
            self.tree.write(os.path.join(directory, name), content, 0o600)


class SimulatedDeviceFile(OnTree):
    """`runtime.state.device_file.DeviceFile`. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        super().__init__(tree)
        self._path = os.path.join(root, DEVICE_PLUGINS, CHECKPOINT)

    @property
    def path(self) -> str:
        return self._path

    def load(self) -> bytes | None:
        return self._load(self._path)

    def save(self, content: bytes) -> None:
        return self._save(self._path, content)

    @gated
    def _load(self, path: str) -> bytes | None:
        return self.tree.read(path) if self.tree.exists(path) else None

    @gated
    def _save(self, path: str, content: bytes) -> None:
        self.tree.make_directories(directory_of(path))
        self.tree.write(path, content, 0o600)


class SimulatedPullRecordFiles(OnTree):
    """`runtime.state.pull_record_files.PullRecordFiles`. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        super().__init__(tree)
        self._root = os.path.join(root, RECORDS)

    def load(self) -> PullFiles:
        return self._load(self._root)

    def apply(self, changes: Iterable[FileChange]) -> None:
        return self._apply(self._root, tuple(changes))

    @gated
    def _load(self, root: str) -> PullFiles:
        return PullFiles(self._read_all(os.path.join(root, PULLING)), self._read_all(os.path.join(root, PULLED)))

    def _read_all(self, directory: str) -> FrozenMap[str, bytes]:
        names = self.tree.names_if_any(directory)
        return FrozenMap({name: self.tree.read(os.path.join(directory, name)) for name in names})

    @gated
    def _apply(self, root: str, changes: tuple[FileChange, ...]) -> None:
        for change in changes:
            path = os.path.join(root, change.directory, change.name)
            if change.content is None:
                self.tree.remove_all(path)
            else:
                self.tree.make_directories(directory_of(path))
                self.tree.write(path, change.content, 0o600)
