"""The manifests of static pods on a simulated host, as `runtime.manifests` has them on a machine."""

from __future__ import annotations

import os
from collections.abc import Callable

from runtime.manifests.files import LIMIT_BYTES, ManifestFile, ManifestReading
from simulation.host.file_tree import FileTree, OnTree, gated


class SimulatedManifests(OnTree):
    """`runtime.manifests.files.ManifestDirectory`."""

    def read(self, path: str) -> ManifestReading:
        try:
            return self._read(path)
        except OSError as failure:
            return ManifestReading(problem=failure.strerror or str(failure))

    def watch(self, path: str, on_change: Callable[[str], None]) -> SimulatedManifestWatch:
        return SimulatedManifestWatch(self.tree, path, on_change)

    @gated
    def _read(self, path: str) -> ManifestReading:
        tree = self.tree
        if not tree.exists(path):
            return ManifestReading(missing=True)
        if not tree.is_directory(path):
            return ManifestReading((self._read_file(path),))
        paths = [os.path.join(path, name) for name in tree.names_in(path) if not name.startswith(".")]
        return ManifestReading(tuple(self._read_file(file) for file in paths if not tree.is_directory(file)))

    def _read_file(self, path: str) -> ManifestFile:
        if not self.tree.exists(path):
            return ManifestFile(path, None, "the link leads nowhere")
        content = self.tree.read(path, LIMIT_BYTES + 1)
        if len(content) > LIMIT_BYTES:
            return ManifestFile(path, None, f"it is larger than {LIMIT_BYTES // 1024 // 1024} MiB")
        return ManifestFile(path, content)


class SimulatedManifestStore(OnTree):
    """`runtime.manifests.store.ManifestStore`."""

    @gated
    def prepare(self, directory: str) -> None:
        self.tree.make_directories(directory)

    @gated
    def write(self, path: str, content: bytes) -> None:
        self.tree.write(path, content, 0o600)

    @gated
    def remove(self, path: str) -> None:
        self.tree.remove_all(path)


class SimulatedManifestWatch(OnTree):
    """`runtime.manifests.files.ManifestWatch`: watches from the first `renew` until closed."""

    def __init__(self, tree: FileTree, path: str, on_change: Callable[[str], None]) -> None:
        super().__init__(tree)
        self._path = path
        self._on_change = on_change
        self._end: Callable[[], None] | None = None
        self._names: frozenset[str] = frozenset()
        self._closed = False

    def renew(self) -> str:
        if self._closed:
            return "the watch is closed"
        if self._end is None:
            self._names = self._names_now()
            self._end = self.tree.watch(self._path, self._changed)
        return ""

    def _changed(self) -> None:
        before, now = self._names, self._names_now()
        self._names = now
        removed = () if now - before else sorted(before - now)  # a file that has another name now is not removed
        for name in removed or ("",):
            self._on_change(name)

    def _names_now(self) -> frozenset[str]:
        tree, path = self.tree, self._path
        if tree.is_directory(path):
            return frozenset(tree.names_in(path))
        return frozenset({os.path.basename(path)} if tree.exists(path) else ())

    def close(self) -> None:
        self._closed = True
        if self._end is not None:
            self._end()
