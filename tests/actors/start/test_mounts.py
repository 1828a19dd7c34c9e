"""What of the host a container sees: mounts, parts of volumes, images, devices (spec 3.8, 8.7)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.messages.pods import RuntimeStateObserved
from actors.messages.volumes import WantedSubPath
from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.start.mounts import (
    MountAbilities,
    VolumesInside,
    agent_volumes,
    container_devices,
    container_mounts,
    image_volumes,
    is_recursive,
    mount_abilities,
    wanted_sub_paths,
)
from config.objects import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    ImageVolumeSource,
    PersistentVolumeClaimVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
    SecurityContext,
    Volume,
    VolumeDevice,
    VolumeMount,
)
from runtime.cri.messages import Device, IDMapping, ImageSpec, Mount, MountPropagation
from tests.actors.pod_pictures import container, pod

DATA = VolumesInside(
    paths={"data": "/pods/data"},
    sub_paths={0: "/parts/0", 1: "/parts/1"},
    images={"pictures": ImageSpec(image="sha256:1", user_specified_image="pictures:1")},
)
OF_AGENT = VolumesInside(paths={"data": "/pods/data"}, of_agent=frozenset({"data"}), sub_paths={0: "/parts/0"})


def mounts(*volume_mounts: VolumeMount, volumes: VolumesInside = DATA, **fields: Any) -> tuple[Mount, ...]:
    inside = fields.pop("termination_message_path", None)
    privileged = SecurityContext(privileged=True) if fields.pop("privileged", False) else None
    web = container("web", volume_mounts=volume_mounts, termination_message_path=inside, security_context=privileged)
    return container_mounts(web, "$.c", volumes, **fields)


def data(**fields: Any) -> VolumeMount:
    return VolumeMount(name="data", mount_path="/d", **fields)


# (spec 8.7.16)
def test_a_mount_says_where_and_how() -> None:
    [made] = mounts(data(read_only=True, mount_propagation="HostToContainer"))
    assert (made.container_path, made.host_path, made.readonly) == ("/d", "/pods/data", True)
    assert made.propagation == MountPropagation.PROPAGATION_HOST_TO_CONTAINER


@pytest.mark.parametrize(("foreign", "relabelled"), [((), True), (("data",), False)])
def test_files_that_are_not_the_pods_keep_their_labels(foreign: tuple[str, ...], relabelled: bool) -> None:
    volumes = msgspec.structs.replace(DATA, foreign=frozenset(foreign))
    assert [made.selinux_relabel for made in mounts(data(), data(sub_path="a"), volumes=volumes)] == [relabelled] * 2


def test_mounts_of_a_privileged_container_may_reach_the_host() -> None:
    [made] = mounts(data(mount_propagation="Bidirectional"), privileged=True)
    assert made.propagation == MountPropagation.PROPAGATION_BIDIRECTIONAL


def test_the_files_of_the_agent_come_last_and_give_way_to_the_user() -> None:
    more: dict[str, Any] = {
        "termination_file": "/t",
        "hosts_file": "/h",
        "termination_message_path": "/dev/termination-log",
    }
    assert [each.container_path for each in mounts(**more)] == ["/etc/hosts", "/dev/termination-log"]
    [own] = mounts(VolumeMount(name="data", mount_path="/etc/hosts/"), hosts_file="/h")
    assert own.host_path == "/pods/data"


@pytest.mark.parametrize(
    ("mount", "path"),
    [
        pytest.param(data(sub_path="../x"), "subPath", id="out of it"),
        pytest.param(data(sub_path="/x"), "subPath", id="absolute"),
        pytest.param(VolumeMount(name="none", mount_path="/d"), "name", id="a volume that is not there"),
        pytest.param(data(mount_propagation="Up"), "mountPropagation", id="odd"),
        pytest.param(data(mount_propagation="Bidirectional"), "mountPropagation", id="no privileges"),
        pytest.param(
            data(read_only=True, recursive_read_only="Enabled"), "recursiveReadOnly", id="a promise not to be kept"
        ),
    ],
)
def test_a_mount_that_cannot_be_made_is_refused_by_path(mount: VolumeMount, path: str) -> None:
    with pytest.raises(ContainerRefusedError) as refused:
        mounts(mount)
    assert refused.value.path == f"$.c.volumeMounts[0].{path}"


@pytest.mark.parametrize(("sub_path", "host_path"), [(None, "/pods/data"), ("app.conf", "/parts/0")])
def test_volumes_that_the_agent_writes_are_mounted_read_only(sub_path: str | None, host_path: str) -> None:
    [made] = mounts(data(read_only=False, sub_path=sub_path), volumes=OF_AGENT)
    assert (made.host_path, made.readonly) == (host_path, True)


# (spec 17.6.4)
def test_17_6_mounts_of_a_pod_with_its_own_users_keep_the_owners_of_files() -> None:
    made = mounts(data(), hosts_file="/h", ids=IdRange(65536, 65536))
    mapping = (IDMapping(host_id=65536, container_id=0, length=65536),)
    assert [(each.uidMappings, each.gidMappings) for each in made] == [(mapping, mapping)] * 2


# (spec 8.7.13)
def test_an_image_is_mounted_by_name_and_read_only() -> None:
    [made] = mounts(VolumeMount(name="pictures", mount_path="/p", sub_path="usr/share"))
    assert made.image is not None
    assert made.image.image == "sha256:1"
    assert (made.host_path, made.image_sub_path, made.readonly) == ("", "usr/share", True)


RUNTIME = RuntimeStateObserved("", "", recursive_read_only_handlers=("", "kata"))


@pytest.mark.parametrize(
    ("name", "version", "sub_path", "said"),
    [
        ("containerd", "1.6.20~ds1", "", "containerd 1.6.20~ds1 does not know volumes of images, containerd 2.1 does"),
        ("containerd", "v2.1.9+unknown", "", ""),
        ("containerd", "v2.1.9+unknown", "a", r"does not know parts \(subPath\) of volumes of images"),
        ("containerd", "2.2.0", "a", ""),
        ("cri-o", "1.30.1", "", "cri-o 1.31 does"),
        ("cri-o", "1.33.0", "a", ""),
        ("another", "0.1", "a", ""),
        ("containerd", "main", "a", ""),
    ],
)
def test_kep_4639_a_runtime_that_would_mount_something_else_is_not_asked(
    name: str, version: str, sub_path: str, said: str
) -> None:
    runtime = msgspec.structs.replace(RUNTIME, runtime_name=name, runtime_version=version)
    volumes = msgspec.structs.replace(DATA, able=mount_abilities(runtime, ""))
    mount = VolumeMount(name="pictures", mount_path="/p", sub_path=sub_path or None)
    if said:
        with pytest.raises(ContainerRefusedError, match=said):
            mounts(mount, volumes=volumes)
    else:
        assert mounts(mount, volumes=volumes)[0].image_sub_path == sub_path


@pytest.mark.parametrize(("handler", "able"), [("", True), ("kata", True), ("runsc", False)])
# (spec 8.7.17)
def test_kep_3857_each_handler_of_a_runtime_says_whether_it_can(handler: str, able: bool) -> None:
    assert mount_abilities(RUNTIME, handler).recursive_read_only is able


# --- read only with all below -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "able", "recursive"),
    [
        (None, True, False),
        ("Disabled", True, False),
        ("IfPossible", True, True),
        ("IfPossible", False, False),
        ("Enabled", True, True),
    ],
)
# (spec 8.7.17)
def test_kep_3857_a_mount_is_read_only_with_all_below_where_the_runtime_can(
    asked: str | None, able: bool, recursive: bool
) -> None:
    mount = data(read_only=True, recursive_read_only=asked)
    assert is_recursive(mount, "$", able) is recursive
    volumes = VolumesInside(paths={"data": "/pods/data"}, able=MountAbilities(recursive_read_only=able))
    assert mounts(mount, volumes=volumes)[0].recursive_read_only is recursive


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        (data(recursive_read_only="IfPossible"), "needs readOnly: true"),
        (
            data(read_only=True, recursive_read_only="Enabled", mount_propagation="HostToContainer"),
            "cannot stand beside mountPropagation HostToContainer",
        ),
    ],
)
def test_kep_3857_a_contradictory_read_only_mount_is_refused(mount: VolumeMount, said: str) -> None:
    with pytest.raises(ContainerRefusedError, match=said):
        is_recursive(mount, "$", True)


# --- parts of volumes -------------------------------------------------------------------------------------------------

VOLUMES = (
    Volume(name="data", empty_dir=EmptyDirVolumeSource()),
    Volume(name="conf", config_map=ConfigMapVolumeSource(name="c")),
    Volume(name="pictures", image=ImageVolumeSource(reference="pictures:1")),
)


def wanted(*volume_mounts: VolumeMount, **variables: str) -> tuple[WantedSubPath, ...]:
    web = container("web", volume_mounts=volume_mounts)
    return wanted_sub_paths(pod("a", volumes=VOLUMES), web, "$.c", variables)


def test_parts_are_wanted_by_the_index_of_their_mount_and_nothing_is_made_in_what_the_agent_writes() -> None:
    found = wanted(
        VolumeMount(name="data", mount_path="/all"),
        data(sub_path="a/b"),
        VolumeMount(name="conf", mount_path="/c", sub_path="key"),
        VolumeMount(name="pictures", mount_path="/p", sub_path="x"),
    )
    assert found == (WantedSubPath(1, "data", "a/b", True), WantedSubPath(2, "conf", "key", False))


@pytest.mark.parametrize(
    ("expression", "path", "said"),
    [
        pytest.param("$(DIR)/x", "logs/x", "", id="expanded"),
        pytest.param("$$(DIR)", "$(DIR)", "", id="a dollar that begins nothing"),
        pytest.param("$(NONE)", "", "missing value for NONE", id="13.4 a missing name is an error"),
        pytest.param("$(UP)", "", "must not contain '..'", id="what it comes to is checked"),
        pytest.param("$(TOP)", "", "must be relative", id="an absolute path is refused"),
    ],
)
# (spec 8.7.15, 13.4.2)
def test_13_4_sub_path_expressions(expression: str, path: str, said: str) -> None:
    mount = data(sub_path_expr=expression)
    if said:
        with pytest.raises(ContainerRefusedError, match=said) as refused:
            wanted(mount, DIR="logs", UP="../x", TOP="/x")
        assert refused.value.path == "$.c.volumeMounts[0].subPathExpr"
    else:
        assert [each.path for each in wanted(mount, DIR="logs")] == [path]


def test_an_expression_that_comes_to_nothing_mounts_the_whole_volume() -> None:
    assert wanted(data(sub_path_expr="$(EMPTY)"), EMPTY="") == ()


def test_four_kinds_of_volumes_are_written_by_the_agent_and_one_by_the_runtime() -> None:
    volumes = (
        Volume(name="a", config_map=ConfigMapVolumeSource()),
        Volume(name="b", secret=SecretVolumeSource()),
        Volume(name="c", downward_api=DownwardAPIVolumeSource()),
        Volume(name="d", projected=ProjectedVolumeSource()),
        Volume(name="e", empty_dir=EmptyDirVolumeSource()),
        Volume(name="f"),
        Volume(name="g", image=ImageVolumeSource(reference="x")),
    )
    assert agent_volumes(pod("a", volumes=volumes)) == {"a", "b", "c", "d"}
    assert image_volumes(pod("a", volumes=volumes)) == {"g"}


# --- devices ----------------------------------------------------------------------------------------------------------


def test_block_volumes_become_devices_that_may_be_written_unless_the_claim_is_read_only() -> None:
    volumes = (
        Volume(name="disk", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="a")),
        Volume(name="seen", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="b", read_only=True)),
    )
    wants = (VolumeDevice(name="disk", device_path="/dev/x"), VolumeDevice(name="seen", device_path="/dev/y"))
    web = container("web", volume_devices=wants)
    devices = container_devices(pod("a", volumes=volumes), web, "$.c", {"disk": "/maps/disk", "seen": "/maps/seen"})
    assert devices == (
        Device(container_path="/dev/x", host_path="/maps/disk", permissions="mrw"),
        Device(container_path="/dev/y", host_path="/maps/seen", permissions="r"),
    )


def test_a_device_that_is_not_there_is_refused_by_path() -> None:
    web = container("web", volume_devices=(VolumeDevice(name="disk", device_path="/dev/x"),))
    with pytest.raises(ContainerRefusedError, match="volume 'disk' is not there yet") as refused:
        container_devices(pod("a"), web, "$.c", {})
    assert refused.value.path == "$.c.volumeDevices[0].name"
