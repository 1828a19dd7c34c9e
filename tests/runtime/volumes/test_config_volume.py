"""configMap, secret, downwardAPI and projected volumes on a real disk and in real mounts of memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.objects import (
    ConfigMapVolumeSource,
    Container,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    ObjectMeta,
    Pod,
    PodSecurityContext,
    PodSpec,
    ProjectedVolumeSource,
    SecretVolumeSource,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from runtime.volumes.capability import Contents, Payload, VolumeFile, VolumePlugin
from runtime.volumes.config_volume import SOURCE_BYTES, config_volume_plugins, nested_mount_points
from runtime.volumes.empty_dir import EmptyDirPlugin
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.pod_directories import PodDirectories
from tests.runtime.volumes.whole_pods import WholePods

FOUR = (
    (Volume(name="cfg", config_map=ConfigMapVolumeSource(name="x")), "configmap", False),
    (Volume(name="sec", secret=SecretVolumeSource(secret_name="x")), "secret", True),
    (Volume(name="down", downward_api=DownwardAPIVolumeSource()), "downward-api", True),
    (Volume(name="all", projected=ProjectedVolumeSource(sources=(VolumeProjection(),) * 3)), "projected", True),
)
CFG = FOUR[0][0]
SEC = FOUR[1][0]


class CountedMounts(KernelMounts):
    """How often something was mounted."""

    def __init__(self) -> None:
        super().__init__()
        self.mounted: list[str] = []

    def mount_tmpfs(self, path: str, size_bytes: int) -> None:
        self.mounted.append(path)
        super().mount_tmpfs(path, size_bytes)


class Node:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.mounts = CountedMounts()
        self.volumes = self.agent()

    def agent(self) -> WholePods:
        """As after a restart."""
        plugins: tuple[VolumePlugin, ...] = (EmptyDirPlugin(self.mounts, 0), *config_volume_plugins(self.mounts))
        return WholePods(PodDirectories(str(self.root), self.mounts), plugins)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path / "a root")
    yield node
    for uid in node.volumes.list_uids():
        node.volumes.release(uid)


def pod(*volumes: Volume, fs_group: int | None = None, mounts: tuple[VolumeMount, ...] = ()) -> Pod:
    mounts = mounts or tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in volumes)
    context = PodSecurityContext(fs_group=fs_group)
    spec = PodSpec(containers=(Container(name="c", volume_mounts=mounts),), volumes=volumes, security_context=context)
    return Pod(metadata=ObjectMeta(name="p", uid="u"), spec=spec)


def files(**named: str) -> Payload:
    return {name: VolumeFile(text.encode()) for name, text in named.items()}


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(("volume", "plugin", "in_memory"), FOUR)
# (spec 8.7.8, 17.7.2)
def test_a_config_volume_holds_its_files_on_disk_or_in_memory(node: Node, volume: Volume, plugin: str, in_memory: bool):
    contents = Contents({volume.name: files(a="x")})
    prepared = node.volumes.prepare(pod(volume), contents)
    path = f"{node.root}/pods/u/volumes/kubernetes.io~{plugin}/{volume.name}"
    assert prepared.host_paths == {volume.name: path}
    assert prepared.faults == ()
    assert Path(path, "a").read_text() == "x"
    assert node.mounts.mounted == [path] * in_memory
    assert mode(path) == (0o1777 if in_memory else 0o777)
    if in_memory:
        info = os.statvfs(path)
        sources = len(volume.projected.sources) if volume.projected is not None else 1
        assert info.f_blocks * info.f_frsize == SOURCE_BYTES * sources
    node.volumes.release("u")
    assert node.mounts.below(str(node.root)) == ()
    assert node.volumes.list_uids() == ()


def test_new_contents_replace_the_old_and_nothing_is_mounted_twice(node: Node):
    desired = pod(*(volume for volume, _, _ in FOUR))
    names = [volume.name for volume in desired.spec.volumes]
    paths = node.volumes.prepare(desired, Contents({name: files(a="old") for name in names})).host_paths
    again = node.volumes.prepare(desired, Contents({name: files(b="new") for name in names}))
    assert again.host_paths == paths
    for path in paths.values():
        assert not Path(path, "a").exists()
        assert Path(path, "b").read_text() == "new"
    assert len(node.mounts.mounted) == 3


def test_a_restarted_agent_touches_nothing_that_is_as_it_should_be(node: Node):
    desired = pod(CFG, SEC)
    contents = Contents({"cfg": files(a="x"), "sec": files(b="y")})
    paths = node.volumes.prepare(desired, contents).host_paths
    versions = {name: os.readlink(f"{path}/..data") for name, path in paths.items()}
    marks = {name: os.stat(path).st_ctime_ns for name, path in paths.items()}
    assert node.agent().prepare(desired, contents).host_paths == paths
    assert {name: os.readlink(f"{path}/..data") for name, path in paths.items()} == versions
    assert {name: os.stat(path).st_ctime_ns for name, path in paths.items()} == marks
    assert len(node.mounts.mounted) == 1


def test_a_volume_that_is_refused_keeps_what_it_held(node: Node):
    desired = pod(CFG, SEC)
    refused = Contents({"sec": files(b="y")}, {"cfg": 'configmap "x" not found'})
    prepared = node.volumes.prepare(desired, refused)
    assert list(prepared.host_paths) == ["sec"]
    (fault,) = prepared.faults
    assert (fault.volume, fault.field_path) == ("cfg", "spec.volumes[0].configMap")
    assert fault.reason == 'configmap "x" not found'
    node.volumes.prepare(desired, Contents({"sec": files(b="y"), "cfg": files(a="x")}))
    prepared = node.volumes.prepare(desired, refused)
    assert Path(prepared.host_paths["cfg"], "a").read_text() == "x"
    assert [fault.volume for fault in prepared.faults] == ["cfg"]


def test_contents_that_nobody_has_named_empty_no_volume(node: Node):
    node.volumes.prepare(pod(CFG), Contents({"cfg": files(a="x")}))
    (fault,) = node.volumes.prepare(pod(CFG)).faults
    assert fault.reason == "its content is not known yet"
    path = node.root / "pods/u/volumes/kubernetes.io~configmap/cfg"
    assert (path / "a").read_text() == "x"


def test_the_fs_group_owns_volume_and_files(node: Node):
    contents = Contents({"sec": {"token": VolumeFile(b"t", 0o600, 1234)}})
    path = node.volumes.prepare(pod(SEC, fs_group=777), contents).host_paths["sec"]
    assert mode(path) == 0o3777
    info = os.stat(f"{path}/token")
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (1234, 777, 0o640)


def test_a_volume_that_is_too_small_says_so_and_keeps_what_it_held(node: Node):
    path = node.volumes.prepare(pod(SEC), Contents({"sec": files(a="x")})).host_paths["sec"]
    (fault,) = node.volumes.prepare(pod(SEC), Contents({"sec": {"a": VolumeFile(b"x" * (SOURCE_BYTES + 1))}})).faults
    assert "No space left" in fault.reason
    assert Path(path, "a").read_text() == "x"
    assert node.volumes.prepare(pod(SEC), Contents({"sec": files(a="y")})).faults == ()
    assert Path(path, "a").read_text() == "y"


def test_mount_points_of_other_volumes_are_made_in_it(node: Node):
    mounts = (
        VolumeMount(name="cfg", mount_path="/etc/app/"),
        VolumeMount(name="data", mount_path="/etc/app/data/deep"),
        VolumeMount(name="data", mount_path="/etc/app/a", sub_path="x"),
    )
    desired = pod(CFG, Volume(name="data", empty_dir=EmptyDirVolumeSource()), mounts=mounts)
    prepared = node.volumes.prepare(desired, Contents({"cfg": files(a="x")}))
    assert prepared.faults == ()
    path = Path(prepared.host_paths["cfg"])
    assert mode(path / "data") == mode(path / "data/deep") == 0o755
    assert (path / "a").read_text() == "x"
    assert node.volumes.prepare(desired, Contents({"cfg": files(a="y")})).faults == ()
    assert (path / "data/deep").is_dir()
    assert node.volumes.prepare(desired, Contents({"cfg": files(b="y")})).faults == ()
    assert (path / "a").is_dir(), "what is mounted there was over a file that is gone"
    (fault,) = node.volumes.prepare(desired, Contents({"cfg": files(data="x")})).faults
    assert "taken by a mount point" in fault.reason


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ((("cfg", "/a"),), ()),
        ((("cfg", "/a"), ("x", "/a/b"), ("y", "/a/b/c"), ("z", "/ab")), ("b",)),
        ((("cfg", "/a/"), ("x", "/a//b/"), ("y", "/a/b-c")), ("b", "b-c")),
        ((("cfg", "a"), ("x", "/a/../../a/d")), ("d",)),
        ((("cfg", "/"), ("x", "/b/c")), ("b/c",)),
        ((("cfg", "/a"), ("cfg", "/a/b")), ("b",)),
        ((("x", "/a"), ("cfg", "/a/b")), ()),
        ((("cfg", "/a"), ("x", "/a/b"), ("y", "/a/b-c"), ("z", "/a/b/d")), ("b", "b-c")),
        ((("cfg", "/a"), ("x", "/a/b"), ("cfg", "/a/b/c"), ("y", "/a/b/c/d")), ("b", "d")),
    ],
)
def test_only_the_outermost_places_inside_the_volume_are_made(
    mounts: tuple[tuple[str, str], ...], expected: tuple[str, ...]
):
    places = tuple(VolumeMount(name=name, mount_path=path) for name, path in mounts)
    assert nested_mount_points(pod(mounts=places), "cfg") == expected


def test_the_places_in_thousands_of_volumes_are_found_in_one_walk():
    places = tuple(VolumeMount(name=f"v{number}", mount_path=f"/a/{number}") for number in range(3000))
    desired = pod(mounts=(VolumeMount(name="cfg", mount_path="/a"), *places))
    assert len(nested_mount_points(desired, "cfg")) == 3000
    assert [nested_mount_points(desired, f"v{number}") for number in range(3000)] == [()] * 3000


def test_a_volume_in_memory_has_room_for_two_versions_of_what_it_shows(node: Node):
    content = {f"f{number}": VolumeFile(b"x" * (SOURCE_BYTES // 4)) for number in range(5)}
    path = node.volumes.prepare(pod(SEC), Contents({"sec": content})).host_paths["sec"]
    renewed = {**content, "g": VolumeFile(b"y")}
    assert node.volumes.prepare(pod(SEC), Contents({"sec": renewed})).faults == ()
    assert Path(path, "g").read_text() == "y"
