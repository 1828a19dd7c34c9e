"""Volumes of storage drivers, with the test driver at its socket.

Shared and inline, files and devices, failures.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from config.objects import CSIVolumeSource, ObjectMeta, Pod, PodSecurityContext, PodSpec, Volume
from runtime.csi.capability import Ability, DriverVolumeStats, Usage
from runtime.csi.client import GrpcCsiDrivers
from runtime.metrics.kubelet import CSI_OPERATIONS
from runtime.metrics.measured_volumes import drivers_asked
from runtime.metrics.meters import Meters
from runtime.volumes.capability import VolumeCondition, VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.csi import CsiPlugin
from runtime.volumes.csi_material import CsiMaterial, Expansion
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.pod_directories import PodDirectories
from tests.csi_driver.process import NAME, DriverProcess

DEVICE = f"{NAME}^vol-1"
Events = list[tuple[str, str, str]]


class Node:
    """The volumes of one node, and the driver that serves them. `forget` is a restart of the agent."""

    def __init__(self, root: Path, driver: DriverProcess) -> None:
        self.root = root
        self.driver = driver
        self.mounts = KernelMounts()
        self.events: Events = []
        self.meters = Meters()
        self.expansions: list[Expansion] = []
        self.forget()

    def forget(self, timeout_s: float = 10) -> None:
        self.drivers = GrpcCsiDrivers(int(timeout_s * 10**9), drivers_asked(self.meters))
        self.drivers.register(NAME, self.driver.endpoint)
        self.plugin = CsiPlugin(str(self.root), self.drivers, self.mounts)
        self.directories = PodDirectories(str(self.root), self.mounts)

    def make(self, pod: Pod, spec: VolumeSpec) -> Path:
        uid = pod.metadata.uid
        self.directories.make(uid)
        if self.plugin.device_of(spec):
            self.plugin.stage(pod, spec, self._say)
        place = self.directories.place(uid, self.plugin.name, spec.name, block=spec.block)
        return Path(self.plugin.prepare(pod, spec, place, self._say))

    def _say(self, kind: str, reason: str, message: str) -> None:
        self.events.append((kind, reason, message))

    def places(self, uid: str) -> tuple[VolumePlace, ...]:
        return self.directories.volumes(uid)

    def devices_of(self, uid: str) -> list[str]:
        return [self.plugin.device_at(place) for place in self.places(uid)]

    def take_down(self, uid: str) -> None:
        for place in self.places(uid):
            self.plugin.release(place)
            self.directories.remove_volume(place)
        self.directories.remove(uid)

    def left(self) -> list[str]:
        """Every file and mount below the agent's directory but for what a driver leaves for good."""
        files = [os.path.join(top, name) for top, _, names in os.walk(self.root) for name in names]
        return files + list(self.mounts.below(str(self.root)))


@pytest.fixture(scope="module")
def driver() -> Iterator[DriverProcess]:
    with tempfile.TemporaryDirectory(prefix="csi-") as directory:
        driver = DriverProcess(Path(directory))
        try:
            yield driver
        finally:
            driver.take_down()


@pytest.fixture
def node(driver: DriverProcess) -> Iterator[Node]:
    driver.renew()
    with tempfile.TemporaryDirectory(prefix="csi-") as directory:
        node = Node(Path(directory), driver)
        try:
            yield node
        finally:
            driver.order()
            for point in node.mounts.below(directory):
                node.mounts.unmount(point)


def pod(uid: str = "pod-1", group: int | None = None) -> Pod:
    context = None if group is None else PodSecurityContext(fs_group=group)
    return Pod(metadata=ObjectMeta(name=uid, namespace="ns", uid=uid), spec=PodSpec(security_context=context))


def spec(name: str = "pv-1", *, block: bool = False, read_only: bool = False, **material: Any) -> VolumeSpec:
    return VolumeSpec(
        name=name,
        volume=Volume(name="data"),
        source="csi",
        block=block,
        read_only=read_only,
        access_modes=("ReadWriteOnce",),
        material=CsiMaterial(**{"driver": NAME, "handle": "vol-1", **material}),
    )


def inline(pod_name: str = "pod-1", **material: Any) -> VolumeSpec:
    return VolumeSpec(
        name="scratch",
        volume=Volume(name="scratch", csi=CSIVolumeSource(driver=NAME)),
        source="csi",
        material=CsiMaterial(
            driver=NAME,
            handle=f"csi-of-{pod_name}",
            ephemeral=True,
            pod_attributes={"csi.storage.k8s.io/ephemeral": "true", "csi.storage.k8s.io/pod.name": pod_name},
            **material,
        ),
    )


# (spec 8.8.5)
def test_a_volume_is_staged_published_and_given_back_without_a_trace(node: Node):
    path = node.make(pod(), spec())
    assert path == node.root / "pods/pod-1/volumes/kubernetes.io~csi/pv-1/mount"
    (path / "hello").write_text("from the pod")
    assert (node.driver.files("vol-1") / "hello").read_text() == "from the pod"
    assert node.plugin.staged() == (DEVICE,)
    assert node.devices_of("pod-1") == [DEVICE]
    node.take_down("pod-1")
    node.plugin.unstage(DEVICE)
    assert node.driver.methods() == [
        "NodeStageVolume",
        "NodePublishVolume",
        "NodeUnpublishVolume",
        "NodeUnstageVolume",
    ]
    assert node.left() == []
    assert node.plugin.staged() == ()


# (spec 8.8.5)
def test_the_staging_path_is_that_of_kubelets(node: Node):
    node.make(pod(), spec())
    (call,) = node.driver.calls("NodeStageVolume")
    top = f"{node.root}/plugins/kubernetes.io/csi/{NAME}/"
    assert call["staging_target_path"] == f"{top}{hashlib.sha256(b'vol-1').hexdigest()}/globalmount"
    note = msgspec.json.decode((Path(call["staging_target_path"]).parent / "vol_data.json").read_bytes())
    assert (note["driverName"], note["volumeHandle"], note["volumeLifecycleMode"]) == (NAME, "vol-1", "Persistent")


# (spec 8.8.7)
def test_a_csi_driver_gets_the_volume_attributes_and_secrets(node: Node):
    made = msgspec.structs.replace(
        spec(
            fs_type="ext4",
            attributes={"tier": "fast"},
            pod_attributes={"csi.storage.k8s.io/pod.name": "pod-1"},
            publish_context={"device": "/dev/x"},
            stage_secrets={"user": "stage"},
            publish_secrets={"user": "publish"},
        ),
        mount_options=("noatime",),
    )
    node.make(pod(), made)
    (stage,), (publish,) = node.driver.calls("NodeStageVolume"), node.driver.calls("NodePublishVolume")
    assert stage["volume_capability"]["mount"] == {"fs_type": "ext4", "mount_flags": ["noatime"]}
    assert stage["volume_capability"]["access_mode"] == {"mode": 7}, "single node, multi writer"
    assert (stage["volume_context"], stage["secrets"]) == ({"tier": "fast"}, {"user": "stage"})
    assert publish["volume_context"] == {"tier": "fast", "csi.storage.k8s.io/pod.name": "pod-1"}
    assert (publish["secrets"], publish["publish_context"]) == ({"user": "publish"}, {"device": "/dev/x"})
    assert publish["staging_target_path"] == stage["staging_target_path"]


def test_two_pods_share_what_is_staged(node: Node):
    first, second = node.make(pod("pod-1"), spec()), node.make(pod("pod-2"), spec())
    (first / "file").write_text("shared")
    assert (second / "file").read_text() == "shared"
    node.take_down("pod-1")
    assert (second / "file").read_text() == "shared"
    assert node.devices_of("pod-2") == [DEVICE]


def test_a_read_only_volume_takes_no_changes(node: Node):
    path = node.make(pod(), spec(read_only=True))
    with pytest.raises(OSError, match="Read-only"):
        (path / "x").write_text("")


# (spec 8.8.8)
def test_a_volume_that_is_there_is_not_published_again_unless_the_driver_wants_it(node: Node):
    node.make(pod(), spec())
    node.forget()
    node.make(pod(), spec())
    assert node.driver.methods().count("NodePublishVolume") == 1
    node.make(pod(), spec(republish=True))
    assert node.driver.methods().count("NodePublishVolume") == 2


def test_after_a_reboot_an_empty_directory_is_not_taken_for_the_volume(node: Node):
    path = node.make(pod(), spec())
    for point in node.mounts.below(str(node.root)):
        node.mounts.unmount(point)
    node.forget()
    (node.driver.files("vol-1") / "hello").write_text("real")
    assert not node.plugin.is_usable(node.places("pod-1")[0])
    assert (node.make(pod(), spec()) / "hello").read_text() == "real"
    assert path.is_dir()


def test_without_its_driver_nothing_is_begun_and_a_pod_goes(node: Node):
    node.drivers.unregister(NAME)
    with pytest.raises(VolumeFailedError, match="not found in the list of registered CSI drivers"):
        node.make(pod(), spec())
    node.take_down("pod-1")
    assert node.left() == []


def test_a_csi_volume_is_taken_down_only_with_its_driver(node: Node):
    node.make(pod(), spec())
    node.drivers.unregister(NAME)
    with pytest.raises(VolumeFailedError, match="not found in the list"):
        node.take_down("pod-1")
    assert node.left() != []
    node.forget()
    node.take_down("pod-1")
    node.plugin.unstage(DEVICE)
    assert node.left() == []


@pytest.mark.parametrize("method", ["NodeStageVolume", "NodePublishVolume"])
# (spec 8.8.10)
def test_a_final_refusal_leaves_nothing_and_one_in_doubt_keeps_the_note(node: Node, method: str):
    node.driver.order(**{method: {"code": "INVALID_ARGUMENT", "message": "no such tier"}})
    with pytest.raises(VolumeFailedError, match=f"{method}: code = INVALID_ARGUMENT desc = no such tier"):
        node.make(pod(), spec())
    assert not [path for path in node.left() if "pods/" in path]
    assert (node.plugin.staged() == ()) is (method == "NodeStageVolume")
    node.driver.order(**{method: {"code": "UNAVAILABLE"}})
    with pytest.raises(VolumeFailedError, match="UNAVAILABLE"):
        node.make(pod(), spec())
    assert node.plugin.staged() == (DEVICE,)
    node.driver.order()
    assert node.make(pod(), spec()).is_dir()


# (spec 8.1.2)
def test_a_driver_that_hangs_costs_its_time_and_what_it_did_is_found(node: Node):
    node.forget(timeout_s=2.0)
    node.driver.order(NodePublishVolume={"late": True})
    with pytest.raises(VolumeFailedError, match="DEADLINE_EXCEEDED"):
        node.make(pod(), spec())
    node.forget()
    assert node.devices_of("pod-1") == [DEVICE]
    node.driver.order()
    node.take_down("pod-1")
    node.plugin.unstage(DEVICE)
    assert node.left() == []


def test_a_driver_that_restarts_is_found_again(node: Node):
    node.make(pod(), spec())
    node.driver.kill()
    with pytest.raises(VolumeFailedError, match="UNAVAILABLE"):
        node.take_down("pod-1")
    node.driver.start()
    node.take_down("pod-1")
    node.plugin.unstage(DEVICE)
    assert node.left() == []


def test_an_inline_volume_is_its_pods_alone(node: Node):
    path = node.make(pod(), inline(fs_type="ext4"))
    assert (path / "who").read_text() == "pod-1"
    assert node.devices_of("pod-1") == [""]
    node.take_down("pod-1")
    assert node.driver.methods() == ["NodePublishVolume", "NodeUnpublishVolume"]
    assert node.left() == []


# (spec 8.7.20)
def test_a_device_is_published_as_a_device_and_given_back(node: Node):
    made = spec(block=True)
    path = node.make(pod(), made)
    assert stat.S_ISBLK(path.stat().st_mode)
    path.write_bytes(b"on the device")
    assert path == node.root / "pods/pod-1/volumeDevices/kubernetes.io~csi/pv-1"
    top = node.root / "plugins/kubernetes.io/csi/volumeDevices"
    assert os.path.realpath(path) == os.path.realpath(top / "pv-1/dev/pod-1") == str(top / "publish/pv-1/pod-1")
    node.forget()
    second = node.make(pod("pod-2"), made)
    assert second.open("rb").read(13) == b"on the device"
    assert node.plugin.staged() == (DEVICE,)
    for uid in ("pod-1", "pod-2"):
        node.take_down(uid)
    node.plugin.unstage(DEVICE)
    assert node.left() == []
    assert node.plugin.staged() == ()


@pytest.mark.parametrize("block", [False, True])
# (spec 8.8.12)
def test_a_volume_grows_and_who_asked_is_told(node: Node, block: bool):
    node.make(pod(), spec(block=block))
    node.make(pod(), spec(block=block, expand_bytes=32 * 2**20, expanded=node.expansions.append, node="n"))
    assert node.expansions == [Expansion(size_bytes=32 * 2**20)]
    assert [each[:2] for each in node.events] == [("Normal", "FileSystemResizeSuccessful")]
    (call,) = node.driver.calls("NodeExpandVolume")
    assert call["capacity_range"] == {"required_bytes": 32 * 2**20}


@pytest.mark.parametrize("method", ["NodeStageVolume", "NodePublishVolume"])
def test_a_driver_that_repeats_its_secrets_tells_nobody_else(node: Node, method: str):
    tokens = '{"vault": {"token": "s3cr3t-token"}}'
    told = f"cannot log in with s3cr3t-key or s3cr3t-token of {tokens}"
    node.driver.order(**{method: {"code": "INTERNAL", "message": told}})
    secrets = {"key": "s3cr3t-key"}
    attributes = {"csi.storage.k8s.io/serviceAccount.tokens": tokens}
    with pytest.raises(VolumeFailedError) as refused:
        node.make(pod(), spec(stage_secrets=secrets, publish_secrets=secrets, attributes=attributes))
    assert "cannot log in with *** or *** of ***" in str(refused.value)
    assert "s3cr3t" not in f"{refused.value!r}{node.events}"


def test_growing_that_fails_costs_the_pod_nothing(node: Node):
    node.driver.order(NodeExpandVolume={"code": "OUT_OF_RANGE", "message": "too large"})
    path = node.make(pod(), spec(expand_bytes=2**60, expanded=node.expansions.append))
    assert path.is_dir()
    ((kind, reason, message),) = node.events
    assert (kind, reason) == ("Warning", "VolumeResizeFailed")
    assert "too large" in message
    assert node.expansions[0].infeasible


@pytest.mark.parametrize(
    ("made", "owned"),
    [
        (spec(fs_type="ext4"), True),
        (spec(), False),
        (spec(fs_group_policy="File"), True),
        (spec(fs_type="ext4", fs_group_policy="None"), False),
        (spec(fs_type="ext4", read_only=True), False),
        (msgspec.structs.replace(spec(fs_type="ext4"), access_modes=("ReadWriteMany",)), False),
    ],
)
# (spec 8.8.9)
def test_the_group_of_the_files_goes_by_the_drivers_policy(node: Node, made: VolumeSpec, owned: bool):
    path = node.make(pod(group=77), made)
    assert (path.stat().st_gid == 77) is owned


def test_files_that_a_republish_writes_get_the_group_of_the_pod(node: Node):
    """A driver rotates secrets, for example.

    The group of the old files is right, and that of the new ones is not.
    """
    made = spec(fs_group_policy="File", republish=True)
    path = node.make(pod(group=77), made)
    rotated = node.driver.files("vol-1") / "rotated"
    rotated.write_text("new")
    os.chown(rotated, 0, 0)  # as of one that was made elsewhere and moved here
    node.make(pod(group=77), made)
    assert (path / "rotated").stat().st_gid == 77


# (spec 8.8.9)
def test_a_driver_that_sees_to_the_group_itself_is_told_it(node: Node):
    node.driver.stop()
    node.driver.start("--ability", "STAGE_UNSTAGE_VOLUME", "--ability", "VOLUME_MOUNT_GROUP")
    path = node.make(pod(group=77), spec(fs_type="ext4"))
    (call,) = node.driver.calls("NodePublishVolume")
    assert call["volume_capability"]["mount"]["volume_mount_group"] == "77"
    assert call["volume_capability"]["access_mode"] == {"mode": 1}
    assert path.stat().st_gid != 77, "the agent leaves it alone"


# (spec 8.8.6)
def test_a_driver_that_stages_nothing_is_not_asked_to(node: Node):
    node.driver.stop()
    node.driver.start("--ability", "")
    node.make(pod(), spec())
    assert node.plugin.staged() == (DEVICE,), "it is in use all the same"
    node.take_down("pod-1")
    node.plugin.unstage(DEVICE)
    assert node.driver.methods() == ["NodePublishVolume", "NodeUnpublishVolume"]
    assert node.left() == []


# (spec 8.8.12)
def test_volume_statistics_come_from_the_driver(node: Node):
    node.make(pod(), spec())
    (place,) = node.places("pod-1")
    stats = node.plugin.measure(place)
    assert stats is not None
    assert (stats.capacity, stats.available, stats.used) == (1000, 990, 10)
    assert (stats.inodes, stats.inodes_used) == (100, 0)
    assert node.plugin.driver_of(place) == NAME


def test_csi_calls_are_measured_with_their_outcome(node: Node):
    node.driver.order(NodePublishVolume={"code": "INTERNAL", "times": 1})
    with pytest.raises(VolumeFailedError):
        node.make(pod(), spec())
    node.make(pod(), spec())
    for code in ("INTERNAL", "OK"):
        assert node.meters.value(CSI_OPERATIONS, NAME, "/csi.v1.Node/NodePublishVolume", code, "false") == 1


LABEL = "system_u:object_r:container_file_t:s0:c1,c2"


def labelled(label: str) -> VolumeSpec:
    return msgspec.structs.replace(spec(selinux_mount=True), access_modes=("ReadWriteOncePod",), context=label)


# (spec 8.8.11)
def test_a_driver_is_told_the_label_of_a_mount_and_the_note_keeps_it(node: Node):
    node.make(pod(), labelled(LABEL))
    for call in ("NodeStageVolume", "NodePublishVolume"):
        (told,) = node.driver.calls(call)
        assert told["volume_capability"]["mount"]["mount_flags"] == [f'context="{LABEL}"']
    notes = [path for path in node.root.rglob("vol_data.json") if "globalmount" not in str(path)]
    assert {msgspec.json.decode(note.read_bytes())["seLinuxMountContext"] for note in notes} == {LABEL}


def test_a_volume_staged_with_another_label_is_staged_again(node: Node):
    node.make(pod(), labelled(LABEL))
    node.take_down("pod-1")
    node.forget()
    node.make(pod("pod-2"), labelled("other:object_r:container_file_t:s0"))
    assert len(node.driver.calls("NodeUnstageVolume")) == 1
    flags = [call["volume_capability"]["mount"]["mount_flags"] for call in node.driver.calls("NodeStageVolume")]
    assert flags == [[f'context="{LABEL}"'], ['context="other:object_r:container_file_t:s0"']]


class TellingDrivers(GrpcCsiDrivers):
    """Its driver can do this, and says that of every volume."""

    def __init__(self, *abilities: Ability, stats: DriverVolumeStats) -> None:
        super().__init__()
        self.register(NAME, "unix:///nowhere")
        self._abilities, self._stats = frozenset(abilities), stats

    def find(self, name: str) -> Any:
        return self

    def abilities(self) -> frozenset[Ability]:
        return self._abilities

    def stats(self, handle: str, path: str, staging_path: str) -> DriverVolumeStats:
        return self._stats


@pytest.mark.parametrize(
    ("abilities", "stats", "condition"),
    [
        ((4, 2), DriverVolumeStats(abnormal=True, condition="worn out"), VolumeCondition(True, "worn out")),
        ((4, 2), DriverVolumeStats(abnormal=False), VolumeCondition(False)),
        ((4, 2), DriverVolumeStats(), None),
        ((2,), DriverVolumeStats(abnormal=True), None),
        ((4,), DriverVolumeStats(abnormal=True), None),
    ],
)
def test_a_driver_that_can_reports_the_volume_condition(
    node: Node, abilities: tuple[int, ...], stats: DriverVolumeStats, condition: VolumeCondition | None
):
    node.make(pod(), spec())
    (place,) = node.places("pod-1")
    drivers = TellingDrivers(*map(Ability, abilities), stats=stats)
    assert CsiPlugin(str(node.root), drivers, node.mounts).condition(place) == condition


@pytest.mark.parametrize(
    ("abilities", "stats", "used"),
    [
        ((2,), DriverVolumeStats(Usage(2, 5, 3)), 3),
        ((2,), DriverVolumeStats(Usage(total=5)), 0),
        ((1,), DriverVolumeStats(Usage(2, 5, 3)), None),
        ((), DriverVolumeStats(Usage(2, 5, 3)), None),
    ],
)
def test_what_a_volume_holds_says_a_driver_that_can(
    node: Node, abilities: tuple[int, ...], stats: DriverVolumeStats, used: int | None
):
    node.make(pod(), spec())
    drivers = TellingDrivers(*map(Ability, abilities), stats=stats)
    measured = CsiPlugin(str(node.root), drivers, node.mounts).measure(node.places("pod-1")[0])
    assert (None if measured is None else measured.used) == used


def test_a_driver_that_says_nothing_of_what_a_volume_holds_has_failed(node: Node):
    node.make(pod(), spec())
    drivers = TellingDrivers(Ability.GET_VOLUME_STATS, stats=DriverVolumeStats())
    with pytest.raises(VolumeFailedError, match="tells no usage"):
        CsiPlugin(str(node.root), drivers, node.mounts).measure(node.places("pod-1")[0])
