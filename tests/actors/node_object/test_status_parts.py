"""Images, ids, features and the lease: the smaller rules of the Node object (spec 9.5, 9.6, 10.19)."""

from __future__ import annotations

import pytest

from actors.node_object.features import (
    ON_HOST_NETWORK,
    declared_features,
    features_known,
    node_features,
    runtime_handlers,
)
from actors.node_object.images import status_images
from actors.node_object.lease import micro_time, next_lease, renew_interval_ns
from actors.node_object.node_info import has_rebooted, plain_version, system_info
from config.kubelet.feature_gates import FeatureGates
from config.objects import (
    ContainerImage,
    Lease,
    LeaseSpec,
    Node,
    NodeFeatures,
    NodeRuntimeHandler,
    NodeRuntimeHandlerFeatures,
    NodeSystemInfo,
    ObjectMeta,
    OwnerReference,
)
from runtime.cri.messages import Image, RuntimeFeatures, RuntimeHandler, RuntimeHandlerFeatures
from runtime.host.machine import MachineFacts

SECOND_NS = 10**9


# (spec 9.5.4)
def test_the_largest_images_are_named_digests_first_and_no_more_than_five_names() -> None:
    many = tuple(f"example.com/a:{index}" for index in range(6))
    images = [
        Image(id="1", repo_tags=("small:1",), size=1),
        Image(id="2", repo_tags=many, repo_digests=("example.com/a@sha256:1",), size=30),
        Image(id="3", size=100),
        Image(id="4", repo_tags=("b:2",), size=20),
    ]
    assert status_images(images, 2) == (
        ContainerImage(names=("example.com/a@sha256:1", *many[:4]), size_bytes=30),
        ContainerImage(names=("b:2",), size_bytes=20),
    )
    assert len(status_images(images, -1)) == 3
    assert status_images(images, 0) == ()


def test_equal_sizes_keep_one_order_however_the_runtime_lists_them() -> None:
    one, two = Image(id="1", repo_tags=("a",), size=1), Image(id="2", repo_tags=("b",), size=1)
    assert status_images([one, two], 5) == status_images([two, one], 5)


# (spec 9.5.3)
def test_a_node_says_who_it_is() -> None:
    machine = MachineFacts(
        "host", 1, 1, swap_bytes=5, machine_id="m", system_uuid="s", boot_id="b", kernel_version="6.1"
    )
    info = system_info(machine, "containerd", "2.0.0", "v1.36.2")
    assert (info.machine_id, info.system_uuid, info.boot_id, info.kernel_version) == ("m", "s", "b", "6.1")
    assert (info.container_runtime_version, info.kubelet_version) == ("containerd://2.0.0", "v1.36.2")
    assert (info.operating_system, info.architecture, info.kube_proxy_version) == ("linux", "amd64", "")
    assert info.swap is not None
    assert info.swap.capacity == 5
    assert system_info(MachineFacts("host", 1, 1), "", "", "v").container_runtime_version == "unknown://Unknown"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("1.7.24~ds1", "1.7.24"),
        ("v2.1.4", "2.1.4"),
        ("2.1.0-rc.1", "2.1.0-rc.1"),
        ("1.33.0+dev.5", "1.33.0+dev.5"),
        ("1.2.3-01", "1.2.3"),
        ("20.10.05-ce", "20.10.5"),
        ("1.7", "1.7"),
        ("1.7.24 (Debian)", "1.7.24"),
        ("dev", "dev"),
        ("", ""),
    ],
)
def test_the_version_of_a_runtime_has_no_suffix_of_a_package_as_with_a_kubelet(said: str, shown: str) -> None:
    assert plain_version(said) == shown


def test_a_reboot_is_another_boot_id_than_the_one_published() -> None:
    machine = MachineFacts("host", 1, 1, boot_id="new")
    assert has_rebooted(NodeSystemInfo(boot_id="old"), machine)
    assert not has_rebooted(NodeSystemInfo(boot_id="new"), machine)
    assert not has_rebooted(NodeSystemInfo(), machine)
    assert not has_rebooted(None, machine)


# (spec 9.5.5)
def test_handlers_are_told_by_name_with_what_they_are_able_to_do() -> None:
    able = RuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
    told = runtime_handlers((RuntimeHandler(name="runc", features=able), RuntimeHandler(name="")))
    assert told == (
        NodeRuntimeHandler(
            name="", features=NodeRuntimeHandlerFeatures(recursive_read_only_mounts=False, user_namespaces=False)
        ),
        NodeRuntimeHandler(
            name="runc", features=NodeRuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
        ),
    )
    assert node_features(None) is None
    assert node_features(RuntimeFeatures(supplemental_groups_policy=True)) == NodeFeatures(
        supplemental_groups_policy=True
    )


# (spec 10.19.1)
def test_node_features_are_declared_only_where_the_agent_honours_them() -> None:
    """The scheduler binds a pod with the action RestartAllContainers only to nodes that declare it."""
    resizes = ("InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers")
    all_of_them = ("ExtendWebSocketsToKubelet", *resizes, "RestartAllContainersOnContainerExits")
    assert declared_features(FeatureGates({}), RuntimeFeatures()) == all_of_them  # as a kubelet 1.36 declares them
    off = FeatureGates({"RestartAllContainersOnContainerExits": False})
    assert declared_features(off, RuntimeFeatures()) == ("ExtendWebSocketsToKubelet", *resizes)


# (spec 10.19.1)
def test_resizes_that_the_agent_does_not_do_are_not_declared() -> None:
    """An API server refuses such a resize if the node does not declare its feature."""
    off = FeatureGates({"InPlacePodLevelResourcesVerticalScaling": False})
    assert "InPlacePodLevelResourcesVerticalScaling" not in declared_features(off, RuntimeFeatures())
    assert "InPlacePodVerticalScalingInitContainers" in declared_features(off, RuntimeFeatures())


# (spec 10.19.1)
def test_features_are_declared_sorted_and_only_with_their_gate() -> None:
    honoured = ("RestartAllContainersOnContainerExits", "ExtendWebSocketsToKubelet", "UserNamespacesHostNetworkSupport")
    assert declared_features(FeatureGates({}), RuntimeFeatures(), honoured) == (
        "ExtendWebSocketsToKubelet",
        "RestartAllContainersOnContainerExits",
    )
    assert declared_features(FeatureGates({"NodeDeclaredFeatures": False}), RuntimeFeatures(), honoured) == ()


@pytest.mark.parametrize(
    ("gate", "runtime", "before", "declared"),
    [
        (True, RuntimeFeatures(user_namespaces_host_network=True), (), True),
        (False, RuntimeFeatures(user_namespaces_host_network=True), (), False),
        (True, RuntimeFeatures(), (ON_HOST_NETWORK,), False),
        (True, None, (ON_HOST_NETWORK,), True),
        (True, None, (), False),
        (False, None, (ON_HOST_NETWORK,), False),
    ],
)
# (spec 10.19.1)
def test_user_namespaces_on_the_host_network_need_a_runtime_that_can_do_it(
    gate: bool, runtime: RuntimeFeatures | None, before: tuple[str, ...], declared: bool
) -> None:
    """A runtime that is away keeps what it said: the scheduler goes by it."""
    known = features_known(runtime, before)
    gates = FeatureGates({ON_HOST_NETWORK: gate})
    assert (ON_HOST_NETWORK in declared_features(gates, known)) is declared


NODE = Node(metadata=ObjectMeta(name="n", uid="u2"))


# (spec 2.1.8, 9.6.1)
def test_a_lease_is_renewed_four_times_in_its_duration() -> None:
    assert renew_interval_ns(40) == 10 * SECOND_NS


def test_a_new_lease_belongs_to_nobody_until_the_node_is_known() -> None:
    lease = next_lease(None, "n", 40, 1_500_000_000, None)
    assert lease.metadata == ObjectMeta(name="n", namespace="kube-node-lease")
    assert lease.spec == LeaseSpec(
        holder_identity="n", lease_duration_seconds=40, renew_time="1970-01-01T00:00:01.500000Z"
    )
    owned = next_lease(lease, "n", 40, 2 * SECOND_NS, NODE)
    assert owned.metadata.owner_references == (OwnerReference(api_version="v1", kind="Node", name="n", uid="u2"),)
    assert owned.spec.renew_time == "1970-01-01T00:00:02.000000Z"


# (spec 9.6.2)
def test_the_owner_is_the_node_of_today_and_other_owners_stay() -> None:
    old = OwnerReference(api_version="v1", kind="Node", name="n", uid="u1")
    other = OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="u9")
    base = Lease(metadata=ObjectMeta(name="n", resource_version="7", owner_references=(old, other)))
    lease = next_lease(base, "n", 40, 0, NODE)
    assert [owner.uid for owner in lease.metadata.owner_references] == ["u9", "u2"]
    assert lease.metadata.resource_version == "7"


def test_micro_times_have_six_digits() -> None:
    assert micro_time(1_000_001_999) == "1970-01-01T00:00:01.000001Z"
