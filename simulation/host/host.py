"""The host of a simulated node: files and logs of pods and containers, in a `FileTree` in memory.

Each class stands in for the `Local...` class of the same capability in `runtime/`, and behaves like it. It passes every
operation through the gate of the tree, where disks fail, hang and fill. Containers of the simulated runtime write into
the same tree (`SimulatedContainerFiles`), so what they write is what the agent finds. The agent's own files are in
`state_files.py`, and the manifests of static pods in `manifests.py`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TypeVar

from runtime.logs.pod_files import PodFiles, StartFiles, attempt_after, content_of
from runtime.logs.pod_logs import DeadLink, PodLogs
from runtime.manifests.files import ManifestDirectory
from runtime.manifests.store import ManifestStore
from simulation.cri.files import ContainerFiles
from simulation.host.file_nodes import File
from simulation.host.file_paths import directory_of
from simulation.host.file_tree import FileTree, OnTree, gated, opened
from simulation.host.log_files import SimulatedLogFiles
from simulation.host.manifests import SimulatedManifests, SimulatedManifestStore
from simulation.host.state_files import read_state

T = TypeVar("T")

HOSTS = "/etc/hosts"
RESOLV_CONF = "/etc/resolv.conf"
HOST_ADDRESS = "192.0.2.1"
_LOG = ".log"


class SimulatedPodFiles(OnTree):
    """`runtime.logs.pod_files.PodFiles`."""

    def prepare_container(self, wanted: StartFiles) -> int:
        tree, logs = self.tree, wanted.log_directory
        hosts, text = wanted.hosts or ("", "")

        def prepare() -> int:
            tree.make_directories(logs)
            attempt = wanted.attempt
            if attempt is None:
                attempt = attempt_after(tree.names_in(logs))
            if path := wanted.message(attempt):
                tree.make_directories(directory_of(path))
                tree.open(path).mode = 0o666
            if hosts:
                tree.make_directories(directory_of(hosts))
                tree.write(hosts, text.encode(), 0o644)
            return attempt

        return tree.gate_all(filter(None, (logs, wanted.message(wanted.attempt or 0), hosts)), prepare)

    def read_termination_message(self, path: str, limit_bytes: int) -> str:
        def read() -> str:
            if self.tree.is_link(path):
                return ""
            return self.tree.read(path)[-limit_bytes:].decode("utf-8", "replace")

        return self._readable(path, read)

    def read_log_tail(self, path: str, container_id: str, limit_lines: int, limit_bytes: int) -> str:
        def tail() -> str:
            lines = self.tree.read(path).removesuffix(b"\n").split(b"\n")[-limit_lines:]
            return b"".join(map(content_of, lines))[-limit_bytes:].decode("utf-8", "replace")

        return self._readable(path, tail)

    def _readable(self, path: str, operation: Callable[[], str]) -> str:
        """Reading never fails: a file or a disk that cannot be read shows nothing."""

        def read() -> str:
            try:
                return operation()
            except OSError:
                return ""

        try:
            return self.tree.gate(path, read)
        except OSError:
            return ""

    def read_volume_file(self, directory: str, path: str, limit_bytes: int) -> str | None:
        full = os.path.join(directory, path)

        def read() -> str | None:
            if self.tree.is_link(full):
                raise OSError(errno.ELOOP, "it is a link", full)
            return self._read_whole(full, limit_bytes) if self.tree.exists(full) else None

        return self.tree.gate(full, read)

    @gated
    def read_node_file(self, path: str, limit_bytes: int) -> str:
        return self._read_whole(path, limit_bytes)

    def _read_whole(self, path: str, limit_bytes: int) -> str:
        data = self.tree.read(path, limit_bytes + 1)
        if len(data) > limit_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {limit_bytes} bytes", path)
        return data.decode("utf-8", "replace")

    @gated
    def link_log(self, link: str, target: str) -> None:
        self.tree.make_directories(directory_of(link))
        self.tree.link(link, target)

    @gated
    def read_record(self, path: str, decode: Callable[[bytes], T], limit_bytes: int) -> T | None:
        return read_state(self.tree, path, decode, limit_bytes)

    @gated
    def write_record(self, path: str, text: str) -> None:
        if not self.tree.is_directory(directory_of(path)):
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", path)
        self.tree.write(path, text.encode(), 0o600)


class SimulatedPodLogs(OnTree):
    """`runtime.logs.pod_logs.PodLogs`."""

    def __init__(self, tree: FileTree, pod_logs: str, container_logs: str) -> None:
        super().__init__(tree)
        self._pod_logs = pod_logs
        self._container_logs = container_logs
        self._pods: tuple[int, tuple[str, ...]] = (-1, ())
        self._links: tuple[int, tuple[DeadLink, ...]] = (-1, ())
        """What was found, and at which version of the tree."""

    def list_pods(self) -> tuple[str, ...]:
        tree, root = self.tree, self._pod_logs

        def find() -> tuple[str, ...]:
            if self._pods[0] != tree.version:
                self._pods = (tree.version, tuple(os.path.join(root, name) for name in tree.names_if_any(root)))
            return self._pods[1]

        return tree.gate(root, find)

    def dead_links(self) -> tuple[DeadLink, ...]:
        tree, root = self.tree, self._container_logs

        def find() -> tuple[DeadLink, ...]:
            if self._links[0] != tree.version:
                names = tree.dead_links_in(root, f"{self._pod_logs.rstrip('/')}/")
                links = tuple(
                    DeadLink(os.path.join(root, name), name[: -len(_LOG)].rpartition("-")[2])
                    for name in names
                    if name.endswith(_LOG)
                )
                self._links = (tree.version, links)
            return self._links[1]

        return tree.gate(root, find)

    def remove_pod(self, directory: str, links: tuple[str, ...] = ()) -> None:
        if directory_of(os.path.normpath(directory)) != os.path.normpath(self._pod_logs):
            raise PermissionError(f"{directory} is not a pod log directory in {self._pod_logs}")
        return self._remove(directory, links)

    @gated
    def _remove(self, directory: str, links: tuple[str, ...]) -> None:
        for path in (directory, *links):
            self.tree.remove_all(path)

    @gated
    def remove_container(self, directory: str, attempt: int, others: tuple[str, ...] = ()) -> None:
        log = f"{attempt}{_LOG}"
        for name in self.tree.names_if_any(directory):
            if name == log or name.startswith(f"{log}."):
                self.tree.remove_all(os.path.join(directory, name))
        for path in others:
            self.tree.remove_all(path)

    @gated
    def remove_link(self, path: str) -> None:
        self.tree.remove_all(path)


class SimulatedContainerFiles(OnTree):
    """`simulation.cri.files.ContainerFiles`.

    Containers have no lane to hang on: where the disk hangs, they fail.
    """

    def open_log(self, path: str) -> File:
        return opened(path, self._make(path))

    @gated
    def _make(self, path: str) -> File:
        self.tree.make_directories(directory_of(path))
        return self.tree.open(path)

    def write_message(self, path: str, data: bytes) -> None:
        opened(path, self._overwrite(path, data))

    @gated
    def _overwrite(self, path: str, data: bytes) -> File:
        if not self.tree.exists(path):
            raise FileNotFoundError(errno.ENOENT, "there is no termination file", path)
        self.tree.write(path, data)
        return self.tree.open(path)


class SimulatedHost:
    """One simulated machine: its tree, and every capability made of it."""

    def __init__(
        self,
        *,
        disk_bytes: int | None = None,
        pod_logs: str = "/var/log/pods",
        container_logs: str = "/var/log/containers",
    ) -> None:
        self.tree = FileTree(disk_bytes)
        self._add_directories()
        self.pod_files: PodFiles = SimulatedPodFiles(self.tree)
        self.pod_logs: PodLogs = SimulatedPodLogs(self.tree, pod_logs, container_logs)
        self.log_files = SimulatedLogFiles(self.tree)
        self.manifests: ManifestDirectory = SimulatedManifests(self.tree)
        self.manifest_store: ManifestStore = SimulatedManifestStore(self.tree)
        self.container_files: ContainerFiles = SimulatedContainerFiles(self.tree)

    def _add_directories(self) -> None:
        """Add `/etc` with the files of every machine."""
        self.tree.make_directories("/etc")
        self.tree.write(HOSTS, f"127.0.0.1\tlocalhost\n{HOST_ADDRESS}\tsimulated\n".encode())
        self.tree.write(RESOLV_CONF, f"nameserver {HOST_ADDRESS}\nsearch example.test\n".encode())

    def put_manifest(self, path: str, content: str | bytes) -> None:
        """Write a manifest as a person would, making its directory."""
        self.tree.make_directories(directory_of(path))
        self.tree.write(path, content.encode() if isinstance(content, str) else content)
