"""emptyDir: once made it is left alone, and in huge pages it takes those that its pod requests."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.objects import Container, EmptyDirVolumeSource, ObjectMeta, Pod, PodSpec, ResourceRequirements, Volume
from runtime.volumes.capability import VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.empty_dir import EmptyDirPlugin
from runtime.volumes.empty_dir_pages import mount_options, page_bytes
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.pod_directories import PodDirectories

MIB = 1024 * 1024


class World:
    def __init__(self, root: Path) -> None:
        self.mounts = KernelMounts()
        self.directories = PodDirectories(str(root), self.mounts)
        self.directories.make("u")
        self.plugin = EmptyDirPlugin(self.mounts, 64 * MIB)
        self.place: VolumePlace = self.directories.place("u", self.plugin.name, "data")
        self.ready = root / "pods/u/plugins/kubernetes.io~empty-dir/data/ready"

    def prepare(self, source: EmptyDirVolumeSource, pod: Pod | None = None) -> Path:
        volume = Volume(name="data", empty_dir=source)
        spec = VolumeSpec(name="data", volume=volume, source="empty_dir")
        return Path(self.plugin.prepare(pod or requesting(), spec, self.place, lambda *words: None))


def requesting(*sizes: str, limits: bool = False, whole: str = "") -> Pod:
    """`whole`: the size that the pod as a whole requests."""
    amounts = {f"hugepages-{size}": "4Mi" for size in sizes}
    resources = ResourceRequirements(limits=amounts) if limits else ResourceRequirements(requests=amounts)
    of_pod = ResourceRequirements(requests={f"hugepages-{whole}": "4Mi"}) if whole else None
    spec = PodSpec(containers=(Container(name="c", resources=resources),), resources=of_pod)
    return Pod(metadata=ObjectMeta(name="p", uid="u"), spec=spec)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.directories.remove("u")


@pytest.mark.parametrize("medium", [None, "Memory"])
def test_a_made_empty_dir_keeps_the_mode_its_containers_set(world: World, medium: str | None):
    path = world.prepare(EmptyDirVolumeSource(medium=medium))
    assert world.ready.exists()
    path.chmod(0o700)
    (path / "file").write_text("x")
    assert world.prepare(EmptyDirVolumeSource(medium=medium)) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (path / "file").exists()


@pytest.mark.parametrize("medium", [None, "Memory"])
def test_a_half_made_empty_dir_is_completed(world: World, medium: str | None):
    path = world.prepare(EmptyDirVolumeSource(medium=medium))
    world.ready.unlink()
    path.chmod(0o700)
    world.prepare(EmptyDirVolumeSource(medium=medium))
    assert stat.S_IMODE(path.stat().st_mode) == (0o1777 if medium else 0o777)
    assert world.ready.exists()


def test_an_empty_dir_whose_memory_mount_is_gone_is_made_again(world: World):
    path = world.prepare(EmptyDirVolumeSource(medium="Memory"))
    world.mounts.unmount(str(path))
    world.prepare(EmptyDirVolumeSource(medium="Memory"))
    assert os.path.ismount(path)


def test_releasing_an_empty_dir_removes_its_ready_mark(world: World):
    world.prepare(EmptyDirVolumeSource())
    world.plugin.release(world.place)
    world.plugin.release(world.place)
    assert not world.ready.parent.exists()


def test_partial_files_of_a_dead_agent_are_removed(world: World):
    world.prepare(EmptyDirVolumeSource())
    partial = world.ready.with_name(f".actorlet-{'0' * 32}.new")
    partial.touch()
    world.plugin.release(world.place)
    assert not world.ready.parent.exists()


# (spec 8.7.4)
def test_huge_pages_are_mounted_with_their_size_and_limit(world: World):
    path = world.prepare(EmptyDirVolumeSource(medium="HugePages-2Mi", size_limit="8Mi"), requesting("2Mi"))
    world.prepare(EmptyDirVolumeSource(medium="HugePages-2Mi", size_limit="8Mi"), requesting("2Mi"))
    info = os.statvfs(path)
    assert (info.f_bsize, info.f_blocks) == (2 * MIB, 4)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777
    assert world.mounts.below(str(path)) == (str(path),)


@pytest.mark.parametrize(
    ("medium", "pod", "found"),
    [
        ("HugePages", requesting("2Mi"), 2 * MIB),
        ("HugePages", requesting("1Gi", limits=True), 1024 * MIB),
        ("HugePages-2Mi", requesting("1Gi", "2Mi"), 2 * MIB),
        ("HugePages-2048Ki", requesting("2Mi"), 2 * MIB),
        ("HugePages", requesting(whole="2Mi"), 2 * MIB),
        ("HugePages-2Mi", requesting("1Gi", whole="2Mi"), 2 * MIB),
    ],
)
# (spec 8.7.4)
def test_huge_pages_have_the_size_that_the_pod_or_its_containers_request(medium: str, pod: Pod, found: int):
    assert page_bytes(pod, medium) == found


@pytest.mark.parametrize(
    ("medium", "pod", "said"),
    [
        ("HugePages", requesting(), "needs huge pages that the pod or a container requests"),
        ("HugePages", requesting("2Mi", "1Gi"), "does not say which pages, as the pod requests 1Gi, 2Mi"),
        ("HugePages-1Gi", requesting("2Mi"), "needs hugepages-1Gi, which neither pod nor container requests"),
        ("HugePages-much", requesting("2Mi"), "names no size of pages"),
    ],
)
def test_huge_pages_that_no_container_requests_are_refused(medium: str, pod: Pod, said: str):
    with pytest.raises(VolumeFailedError, match=said):
        page_bytes(pod, medium)


def test_huge_pages_without_a_limit_are_unlimited():
    assert mount_options(2 * MIB, 0) == "pagesize=2097152"


def test_another_medium_is_refused(world: World):
    with pytest.raises(
        VolumeFailedError, match="Tape is not a medium of an emptyDir; use Memory, HugePages, or none for disk"
    ):
        world.prepare(EmptyDirVolumeSource(medium="Tape"))
