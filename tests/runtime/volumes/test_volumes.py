"""Volumes on a real disk, with real mounts of memory."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.objects import (
    Container,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    NFSVolumeSource,
    ObjectMeta,
    Pod,
    PodSecurityContext,
    PodSpec,
    ResourceRequirements,
    Volume,
    VolumeMount,
)
from runtime.volumes.capability import VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.empty_dir import EmptyDirPlugin, memory_limit_bytes, memory_size_bytes
from runtime.volumes.host_path import HostPathPlugin
from runtime.volumes.mounts import KernelMounts, parse_mount_points
from runtime.volumes.pod_directories import PodDirectories
from tests.runtime.files.trees import make_deep
from tests.runtime.volumes.whole_pods import WholePods

MIB = 1024 * 1024
DISK = EmptyDirVolumeSource()
MEMORY = EmptyDirVolumeSource(medium="Memory", size_limit="1Mi")


class Node:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.mounts = KernelMounts()
        self.directories = PodDirectories(str(root), self.mounts)
        plugins = (EmptyDirPlugin(self.mounts, 64 * MIB), HostPathPlugin())
        self.volumes = WholePods(self.directories, plugins)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "a root")
    yield node
    for uid in node.volumes.list_uids():
        node.volumes.release(uid)


def pod(*volumes: Volume, fs_group: int | None = None, uid: str = "u") -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path="/x") for volume in volumes)
    context = PodSecurityContext(fs_group=fs_group)
    spec = PodSpec(containers=(Container(name="c", volume_mounts=mounts),), volumes=volumes, security_context=context)
    return Pod(metadata=ObjectMeta(name="p", uid=uid), spec=spec)


def limited(*limits: str | None) -> tuple[Container, ...]:
    return tuple(
        Container(name=f"c{n}", resources=ResourceRequirements(limits={"memory": text} if text else {}))
        for n, text in enumerate(limits)
    )


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


# --- emptyDir ---------------------------------------------------------------------------------------------------------


# (spec 8.7.1)
def test_an_empty_dir_is_open_to_all_and_keeps_its_files_when_asked_for_again(node: Node):
    desired = pod(Volume(name="data", empty_dir=DISK), Volume(name="bare"))
    paths = node.volumes.prepare(desired).host_paths
    assert paths["data"] == f"{node.root}/pods/u/volumes/kubernetes.io~empty-dir/data"
    assert mode(paths["data"]) == mode(paths["bare"]) == 0o777
    assert mode(node.root / "pods" / "u") == 0o750
    Path(paths["data"], "file").write_text("x")
    assert node.volumes.prepare(desired).host_paths == paths
    assert Path(paths["data"], "file").read_text() == "x"
    assert node.volumes.list_uids() == ("u",)
    node.volumes.release("u")
    assert node.volumes.list_uids() == ()


def test_an_empty_dir_belongs_to_the_fs_group(node: Node):
    path = node.volumes.prepare(pod(Volume(name="data", empty_dir=DISK), fs_group=1234)).host_paths["data"]
    assert os.stat(path).st_gid == 1234
    assert mode(path) == 0o2777


def test_an_empty_dir_in_memory_stays_sticky_with_an_fs_group(node: Node):
    desired = pod(Volume(name="data", empty_dir=MEMORY), fs_group=1234)
    path = node.volumes.prepare(desired).host_paths["data"]
    assert (os.stat(path).st_gid, mode(path)) == (1234, 0o3777)


# (spec 8.7.2)
def test_an_empty_dir_in_memory_is_mounted_once_with_its_size_and_unmounted(node: Node):
    desired = pod(Volume(name="data", empty_dir=MEMORY))
    path = node.volumes.prepare(desired).host_paths["data"]
    Path(path, "file").write_text("x")
    node.volumes.prepare(desired)
    assert Path(path, "file").exists()
    assert node.mounts.below(path) == (path,)
    info = os.statvfs(path)
    assert info.f_blocks * info.f_frsize == MIB
    assert mode(path) == 0o1777
    node.volumes.release("u")
    assert node.mounts.below(str(node.root)) == ()
    assert node.volumes.list_uids() == ()


@pytest.mark.parametrize(
    ("limits", "pod_limit", "size_limit", "node_bytes", "expected"),
    [
        (("1Mi", "2Mi"), None, None, 64 * MIB, 3 * MIB),
        (("1Mi", None), None, None, 64 * MIB, 64 * MIB),
        (("1Mi", None), "5Mi", None, 64 * MIB, 5 * MIB),
        (("100Mi",), None, None, 64 * MIB, 64 * MIB),
        ((None,), None, "10Mi", 64 * MIB, 10 * MIB),
        ((None,), None, None, 0, 0),
    ],
)
# (spec 8.7.2)
def test_memory_is_as_large_as_the_smallest_of_its_limits(
    limits: tuple[str | None, ...], pod_limit: str | None, size_limit: str | None, node_bytes: int, expected: int
):
    resources = ResourceRequirements(limits={"memory": pod_limit}) if pod_limit else None
    spec = PodSpec(containers=limited(*limits), resources=resources)
    volume = Volume(name="v", empty_dir=EmptyDirVolumeSource(medium="Memory", size_limit=size_limit))
    assert memory_size_bytes(Pod(spec=spec), volume, node_bytes) == expected


def test_init_containers_count_by_their_largest_and_sidecars_like_the_others():
    sidecar = Container(name="s", restart_policy="Always", resources=ResourceRequirements(limits={"memory": "1Mi"}))
    spec = PodSpec(containers=limited("1Mi", "1Mi"), init_containers=(*limited("8Mi"), sidecar))
    assert memory_limit_bytes(Pod(spec=spec)) == 8 * MIB
    spec = PodSpec(containers=limited("1Mi", "1Mi"), init_containers=(*limited("2Mi"), sidecar))
    assert memory_limit_bytes(Pod(spec=spec)) == 3 * MIB


# --- hostPath ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "path", "error"),
    [
        (None, "nothing", None),
        ("", "nothing", None),
        ("Directory", "dir", None),
        ("Directory", "file", "is not a directory"),
        ("Directory", "nothing", "is not a directory; there is nothing at that path"),
        ("File", "file/below", "is not a file; there is nothing at that path"),
        ("DirectoryOrCreate", "new/deep", None),
        ("DirectoryOrCreate", "file", "is not a directory"),
        ("File", "file", None),
        ("File", "dir", "is not a file"),
        ("FileOrCreate", "new file", None),
        ("FileOrCreate", "missing/file", "No such file"),
        ("Socket", "socket", None),
        ("Socket", "file", "is not a socket file"),
        ("CharDevice", "/dev/null", None),
        ("CharDevice", "file", "is not a character device"),
        ("BlockDevice", "/dev/null", "is not a block device"),
        ("Odd", "dir", "not a type of a hostPath"),
    ],
)
# (spec 8.7.5)
def test_a_host_path_is_checked_or_made_as_its_type_says(
    node: Node, tmp_path: Path, kind: str | None, path: str, error: str | None
):
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    where = os.path.join(tmp_path, path)
    volume = Volume(name="v", host_path=HostPathVolumeSource(path=where, type=kind))
    prepared = node.volumes.prepare(pod(volume))
    if error is None:
        assert prepared.host_paths == {"v": where}
        if kind in ("DirectoryOrCreate", "FileOrCreate"):
            assert mode(where) == (0o755 if kind == "DirectoryOrCreate" else 0o644)
    else:
        (fault,) = prepared.faults
        assert error in fault.reason
        assert fault.field_path == "spec.volumes[0].hostPath"
    node.volumes.release("u")
    assert (tmp_path / "file").exists(), "what the host owns stays"


class Swapper:
    """A pod that may write in the directory: it puts a link in the very moment the path is to be made.

    It hears of that moment by the calls of the system, whoever makes them.
    """

    def __init__(self, path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path, self._target = path, target
        for name in ("open", "mkdir", "makedirs"):
            monkeypatch.setattr(os, name, self._before(getattr(os, name)))

    def _before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def heard(path: Any, *words: Any, **more: Any) -> Any:
            makes = call.__name__ != "open" or (words and words[0] & os.O_CREAT)
            if makes and os.path.basename(os.fspath(path)) == self._path.name and not os.path.lexists(self._path):
                self._path.symlink_to(self._target)
            return call(path, *words, **more)

        return heard


@pytest.mark.parametrize("kind", ["FileOrCreate", "DirectoryOrCreate"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_host_path_that_is_made_follows_no_link_that_is_swapped_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_there: bool
):
    victim, path = tmp_path / "victim", tmp_path / "shared" / "wanted"
    path.parent.mkdir()
    if is_there:
        victim.mkdir() if kind == "DirectoryOrCreate" else victim.touch()
        victim.chmod(0o600)
    volume = Volume(name="v", host_path=HostPathVolumeSource(path=str(path), type=kind))
    spec = VolumeSpec(name="v", volume=volume, source="host_path")
    plugin = HostPathPlugin()
    place = VolumePlace("u", plugin.name, "v", False, str(tmp_path / "place"))
    with monkeypatch.context() as patched:
        Swapper(path, victim, patched)
        with pytest.raises((VolumeFailedError, OSError)):
            plugin.prepare(pod(volume), spec, place, lambda *words: None)
    assert path.is_symlink(), "the attack came in time"
    assert victim.exists() == is_there, "nothing was made through the link"
    assert not is_there or mode(victim) == 0o600


# (spec 16.2)
def test_the_directory_of_all_pods_is_closed_to_others(node: Node):
    node.directories.make("u")
    pods = node.root / "pods"
    assert [mode(each) for each in (pods, pods / "u", pods / "u/volumes", pods / "u/plugins")] == [0o750] * 4


def test_the_directory_of_all_pods_that_an_older_agent_has_made_is_closed(node: Node):
    (node.root / "pods").mkdir(mode=0o755, parents=True, exist_ok=True)
    (node.root / "pods").chmod(0o755)
    node.directories.make("u")
    assert mode(node.root / "pods") == 0o750


# --- together ---------------------------------------------------------------------------------------------------------


def test_a_kind_that_is_not_known_is_named_and_the_others_are_made(node: Node):
    nfs = Volume(name="share", nfs=NFSVolumeSource(server="s", path="/"))
    prepared = node.volumes.prepare(pod(Volume(name="data", empty_dir=DISK), nfs))
    assert list(prepared.host_paths) == ["data"]
    (fault,) = prepared.faults
    assert (fault.field_path, fault.reason) == ("spec.volumes[1].nfs", "volumes of type nfs are not supported yet")


# (spec 8.3.1)
def test_a_volume_that_nobody_mounts_is_not_made(node: Node):
    spec = PodSpec(containers=(Container(name="c"),), volumes=(Volume(name="data", nfs=NFSVolumeSource()),))
    prepared = node.volumes.prepare(Pod(metadata=ObjectMeta(uid="u"), spec=spec))
    assert prepared.host_paths == {}
    assert prepared.faults == ()


@pytest.mark.parametrize("uid", ["", "..", "a/b"])
def test_a_uid_that_leads_elsewhere_is_refused(node: Node, uid: str):
    with pytest.raises(VolumeFailedError):
        node.volumes.release(uid)


def test_a_release_unmounts_everything_in_it_and_may_be_repeated(node: Node):
    node.volumes.prepare(pod())
    outer = node.root / "pods" / "u" / "volume-subpaths" / "outer"
    outer.mkdir(parents=True)
    node.mounts.mount_tmpfs(str(outer), MIB)
    (outer / "inner").mkdir()
    node.mounts.mount_tmpfs(str(outer / "inner"), MIB)
    node.mounts.mount_tmpfs(str(outer / "inner"), MIB)
    node.volumes.release("u")
    node.volumes.release("u")
    assert not (node.root / "pods" / "u").exists()


class DeafMounts(KernelMounts):
    """Mounts that are in use: nothing can be unmounted, and the table may even hide them."""

    hides = False

    def unmount(self, path: str, *, detach: bool = False, force: bool = False) -> None:
        pass

    def below(self, path: str) -> tuple[str, ...]:
        return () if self.hides else super().below(path)


@pytest.mark.parametrize("hides", [False, True])
# (spec 8.6.1)
def test_data_of_a_mount_that_stays_is_never_removed(node: Node, hides: bool):
    path = Path(node.volumes.prepare(pod(Volume(name="data", empty_dir=MEMORY))).host_paths["data"])
    (path / "precious").write_text("x")
    mounts = DeafMounts()
    mounts.hides = hides
    with pytest.raises(VolumeFailedError, match="another file system" if hides else "still mounted"):
        PodDirectories(str(node.root), mounts).remove("u")
    assert (path / "precious").read_text() == "x"


@pytest.mark.parametrize("hides", [False, True])
def test_data_of_the_very_same_file_system_is_never_removed_through_a_mount(node: Node, tmp_path: Path, hides: bool):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    place = node.directories.place("u", "kubernetes.io/local-volume", "pv")
    os.makedirs(place.directory)
    subprocess.run(["mount", "--bind", str(precious), place.directory], check=True)
    mounts = DeafMounts()
    mounts.hides = hides
    try:
        for remove in (lambda d: d.remove("u"), lambda d: d.remove_volume(place)):
            with pytest.raises(VolumeFailedError):
                remove(PodDirectories(str(node.root), mounts))
    finally:
        node.mounts.unmount(place.directory)
    assert (precious / "file").exists()


def test_a_pod_goes_however_deep_the_directories_are_that_it_has_made(node: Node):
    path = Path(node.volumes.prepare(pod(Volume(name="data", empty_dir=DISK))).host_paths["data"])
    make_deep(path, 1500)
    node.volumes.release("u")
    assert node.volumes.list_uids() == ()


def test_a_removal_follows_no_link(node: Node, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    path = Path(node.volumes.prepare(pod(Volume(name="data", empty_dir=DISK))).host_paths["data"])
    (path / "link").symlink_to(tmp_path / "outside")
    node.volumes.release("u")
    assert (tmp_path / "outside" / "file").exists()


@pytest.mark.parametrize("name", ["plain", "a b", "back\\slash", "tab\tnew\nline", "number #1"])
def test_a_mount_below_a_directory_of_any_name_is_found(tmp_path: Path, name: str):
    mounts = KernelMounts()
    path = tmp_path / name / "below"
    path.mkdir(parents=True)
    assert mounts.below(str(tmp_path / name)) == ()
    assert not mounts.is_mount_point(str(path))
    mounts.mount_tmpfs(str(path), MIB)
    try:
        assert mounts.below(str(tmp_path / name)) == (str(path),)
        assert mounts.is_mount_point(str(path))
    finally:
        mounts.unmount(str(path))


def test_mount_points_with_blanks_are_read():
    line = rb"36 35 98:0 /mnt1 /mnt/a\040b\134c rw,noatime master:1 - ext3 /dev/root rw"
    assert parse_mount_points(line + b"\n") == ["/mnt/a b\\c"]
