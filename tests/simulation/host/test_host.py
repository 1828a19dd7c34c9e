"""The simulated host answers the same calls as a real disk does.

Its disks fail, hang and fill.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.logs.pod_files import LocalPodFiles, PodFiles, StartFiles
from runtime.logs.pod_logs import LocalPodLogs, PodLogs
from runtime.manifests.files import ManifestReading
from runtime.manifests.local import LocalManifests
from simulation.host.file_tree import FileTree
from simulation.host.host import SimulatedHost
from tests.simulation.cri.pods import Pods

APP = StartFiles("/logs/app", lambda _: "/pods/message")


class Disk:
    """A real or a simulated disk for the same operations. `at`: a path on it."""

    def __init__(self, root: str, host: SimulatedHost | None) -> None:
        self.root = root
        self.host = host
        self.files: PodFiles = host.pod_files if host else LocalPodFiles()
        logs, links = self.at("pods"), self.at("containers")
        self.logs: PodLogs = host.pod_logs if host else LocalPodLogs(logs, links)

    def at(self, path: str) -> str:
        return f"{self.root}/{path}"

    def write(self, path: str, data: bytes) -> None:
        if self.host:
            self.host.put_manifest(self.at(path), data)
        else:
            Path(self.at(path)).parent.mkdir(parents=True, exist_ok=True)
            Path(self.at(path)).write_bytes(data)

    def manifests(self, path: str) -> ManifestReading:
        reading = (self.host.manifests if self.host else LocalManifests()).read(self.at(path))
        files = tuple((os.path.basename(file.path), file.content, file.problem) for file in reading.files)
        return ManifestReading(files, reading.missing, reading.problem)  # type: ignore[arg-type]


def on_both(tmp_path: Path, operation: Callable[[Disk], Any]) -> Any:
    """What `operation` gives, which must be the same on a real and on a simulated disk."""
    real = operation(Disk(str(tmp_path), None))
    host = SimulatedHost(pod_logs="/node/pods", container_logs="/node/containers")
    assert operation(Disk("/node", host)) == real
    return real


def test_termination_messages_are_read_alike(tmp_path: Path) -> None:
    def operation(disk: Disk) -> list[str]:
        path = disk.at("uid/web/message")
        disk.files.prepare_container(StartFiles(disk.at("logs/web"), lambda _: path))
        before = disk.files.read_termination_message(path, 10)
        disk.write("uid/web/message", b"more than ten b\xffytes")
        disk.files.prepare_container(StartFiles(disk.at("logs/web"), lambda _: path))
        disk.files.link_log(disk.at("link"), path)
        paths = (path, disk.at("link"), disk.at("nothing"))
        return [before, *(disk.files.read_termination_message(each, 10) for each in paths)]

    assert on_both(tmp_path, operation) == ["", "ten b�ytes", "", ""]


def test_log_attempts_and_tails_are_read_alike(tmp_path: Path) -> None:
    def operation(disk: Disk) -> list[Any]:
        for name in ("0.log", "2.log", "11.log.20260101-000000.gz", "x.log", "3.txt"):
            disk.write(f"logs/{name}", b"")
        lines = b"".join(b"2026-01-01T00:00:00.0Z stdout F line %d\n" % n for n in range(100))
        disk.write("logs/12.log", lines + b"t stderr P half \nt stderr F done\n")
        hosts = (disk.at("uid/etc-hosts"), "127.0.0.1 here\n")
        return [
            disk.files.prepare_container(StartFiles(disk.at("logs"), lambda n: disk.at(f"{n}"))),
            disk.files.prepare_container(StartFiles(disk.at("new"), lambda n: disk.at(f"{n}"), hosts=hosts)),
            *(disk.files.read_node_file(path, 100) for path in (disk.at("13"), disk.at("0"), hosts[0])),
            disk.files.read_log_tail(disk.at("logs/12.log"), "id", 3, 2048),
            disk.files.read_log_tail(disk.at("logs/12.log"), "id", 80, 10),
            disk.files.read_log_tail(disk.at("missing"), "id", 80, 10),
        ]

    assert on_both(tmp_path, operation) == [
        13,
        0,
        "",
        "",
        "127.0.0.1 here\n",
        "line 99\nhalf done\n",
        "half done\n",
        "",
    ]


def test_pod_logs_are_listed_and_taken_away_alike(tmp_path: Path) -> None:
    def operation(disk: Disk) -> list[Any]:
        disk.write("pods/ns_pod_uid/web/0.log", b"x")
        disk.write("pods/ns_pod_uid/web/0.log.20260101-000000", b"x")
        disk.write("pods/ns_pod_uid/web/1.log", b"x")
        for attempt in (0, 1):
            target = disk.at(f"pods/ns_pod_uid/web/{attempt}.log")
            disk.files.link_log(disk.at(f"containers/pod_ns_web-id{attempt}.log"), target)
        found: list[Any] = [disk.logs.list_pods(), disk.logs.dead_links()]
        disk.logs.remove_container(disk.at("pods/ns_pod_uid/web"), 0, (disk.at("containers/pod_ns_web-id0.log"),))
        found.append(disk.files.prepare_container(StartFiles(disk.at("pods/ns_pod_uid/web"), lambda _: "")))
        disk.files.link_log(disk.at("containers/pod_ns_other-id2.log"), disk.at("pods/ns_pod_uid/other/0.log"))
        disk.files.link_log(disk.at("containers/of_another_agent-id3.log"), disk.at("elsewhere/0.log"))
        for _ in range(2):
            disk.logs.remove_pod(disk.at("pods/ns_pod_uid"), (disk.at("containers/pod_ns_other-id2.log"),))
        found += [disk.logs.list_pods(), [link.container_id for link in disk.logs.dead_links()]]
        with pytest.raises(PermissionError):
            disk.logs.remove_pod(disk.at("elsewhere"))
        found[0] = [os.path.basename(path) for path in found[0]]
        return found

    assert on_both(tmp_path, operation) == [["ns_pod_uid"], (), 2, (), ["id1"]]


def test_manifests_are_read_alike(tmp_path: Path) -> None:
    def operation(disk: Disk) -> list[ManifestReading]:
        for name in ("b.yaml", "a.json", ".hidden", "sub/c.yaml"):
            disk.write(f"manifests/{name}", name.encode())
        disk.files.link_log(disk.at("manifests/dangling"), disk.at("nowhere"))
        return [disk.manifests(path) for path in ("manifests", "manifests/b.yaml", "missing")]

    directory, one, missing = on_both(tmp_path, operation)
    assert [name for name, _, _ in directory.files] == ["a.json", "b.yaml", "dangling"]
    assert [content for _, content, _ in one.files] == [b"b.yaml"]
    assert missing.missing


def test_a_watch_tells_of_changes_from_its_first_renewal_until_it_is_closed() -> None:
    host = SimulatedHost()
    told: list[str] = []
    watch = host.manifests.watch("/etc/manifests", told.append)
    host.put_manifest("/etc/manifests/a.yaml", "a")
    assert told == []
    watch.renew()
    host.put_manifest("/etc/manifests/a.yaml", "b")
    host.tree.rename("/etc/manifests/a.yaml", "/etc/manifests/b.yaml")
    host.tree.remove("/etc/manifests/b.yaml")
    host.put_manifest("/elsewhere/c.yaml", "c")
    assert told == ["", "", "", "b.yaml"], "the one that was removed is named"
    watch.close()
    host.put_manifest("/etc/manifests/d.yaml", "d")
    assert len(told) == 4
    assert watch.renew() == "the watch is closed"


def test_the_agent_reads_the_output_of_a_simulated_container() -> None:
    host = SimulatedHost()
    host.pod_files.prepare_container(APP)
    pods = Pods(files=host.container_files)
    annotations = {"output": "hello", "termination-message": "bye", "run-for": "1s"}
    config = pods.sandbox_config(annotations=annotations, log_directory="/logs")
    sandbox = pods.ask(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).pod_sandbox_id
    mounts = (m.Mount(container_path="/dev/termination-log", host_path="/pods/message"),)
    container = pods.create(sandbox, log_path="app/0.log", mounts=mounts)
    pods.start(container).result()
    pods.advance(10**9)
    assert host.pod_files.read_log_tail("/logs/app/0.log", "id", 80, 2048) == "hello\n"
    assert host.pod_files.read_termination_message("/pods/message", 4096) == "bye"
    assert host.pod_files.prepare_container(APP) == 1


def test_a_disk_that_fails_says_so_until_it_is_healed() -> None:
    host = SimulatedHost()
    host.tree.fail("/logs", errno.EROFS)
    with pytest.raises(OSError) as caught:
        host.pod_files.prepare_container(APP)
    assert caught.value.errno == errno.EROFS
    host.tree.heal("/logs")
    host.pod_files.prepare_container(APP)


def test_a_disk_that_hangs_holds_a_lane_until_it_is_healed() -> None:
    dispatcher = SimulatedDispatcher(1)
    lane = dispatcher.lane("disk", size=4, per_key=2)
    host = SimulatedHost()
    host.tree.hang("/pods")
    preparing = lane.submit("pod", host.pod_files.prepare_container, APP)
    other = lane.submit("pod", host.pod_files.read_log_tail, "/logs/app/0.log", 80, 2048)
    dispatcher.run_for(3600 * 10**9)
    assert other.done()
    assert not preparing.done()
    host.tree.heal("/pods")
    dispatcher.run_until_idle()
    assert preparing.exception() is None
    assert host.tree.mode("/pods/message") == 0o666


def test_a_full_disk_takes_no_more_until_something_is_removed() -> None:
    tree = FileTree(capacity_bytes=100)
    tree.write("/a", b"x" * 60)
    with pytest.raises(OSError) as caught:
        tree.write("/b", b"x" * 60)
    assert caught.value.errno == errno.ENOSPC
    tree.remove("/a")
    tree.write("/b", b"x" * 60)
    assert tree.used_bytes == 60
    tree.rename("/b", "/c")
    tree.remove_all("/c")
    assert tree.used_bytes == 0


@pytest.mark.parametrize(
    ("operation", "number"),
    [
        (lambda tree: tree.read("/missing"), errno.ENOENT),
        (lambda tree: tree.read("/dir"), errno.EISDIR),
        (lambda tree: tree.names_in("/dir/file"), errno.ENOTDIR),
        (lambda tree: tree.write("/dir/file/x", b""), errno.ENOTDIR),
        (lambda tree: tree.write("/missing/x", b""), errno.ENOENT),
        (lambda tree: tree.remove("/dir"), errno.ENOTEMPTY),
        (lambda tree: tree.read("/loop"), errno.ELOOP),
        (lambda tree: tree.read_link("/dir"), errno.EINVAL),
        (lambda tree: tree.make_directories("/dir/file"), errno.EEXIST),
        (lambda tree: tree.rename("/missing", "/x"), errno.ENOENT),
    ],
)
def test_errors_are_those_of_a_real_file_system(operation: Callable[[FileTree], object], number: int) -> None:
    tree = FileTree()
    tree.make_directories("/dir")
    tree.write("/dir/file", b"")
    tree.link("/loop", "/loop")
    with pytest.raises(OSError) as caught:
        operation(tree)
    assert caught.value.errno == number


def test_files_of_volumes_are_read_alike(tmp_path: Path) -> None:
    def operation(disk: Disk) -> list[str | None]:
        disk.write("volume/made/env", b"A='1'\n")
        disk.write("volume/large", b"x" * 11)
        found: list[str | None] = []
        for path in ("made/env", "none", "made/none", "large", "made"):
            try:
                found.append(disk.files.read_volume_file(disk.at("volume"), path, 10))
            except OSError:
                found.append("refused")
        return found

    assert on_both(tmp_path, operation) == ["A='1'\n", None, None, "refused", "refused"]
