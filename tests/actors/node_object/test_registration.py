"""The Node at its registration, and what is corrected in an existing one (spec 9.1)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.node_object.registration import initial_node, reconciled
from actors.node_object.settings import NodeSettings, Registration, agent_version
from config.kubelet import KubeletConfiguration, RegisteredTaint
from config.objects import Node, NodeSpec, NodeStatus, NodeSystemInfo, ObjectMeta, Taint
from runtime.host.machine import MachineFacts

EMPTY = NodeStatus()
MACHINE = MachineFacts(host_name="host", cpus=2, memory_bytes=2**30, architecture="arm64")
OWN_LABELS = {
    "kubernetes.io/hostname": "node-1",
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "arm64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "arm64",
}
ATTACHER = "volumes.kubernetes.io/controller-managed-attach-detach"


def settings(registration: Registration | None = None, **fields: Any) -> NodeSettings:
    return NodeSettings("node-1", "/var/lib/kubelet", KubeletConfiguration(**fields), registration or Registration())


def born(which: NodeSettings, status: NodeStatus = EMPTY) -> Node:
    return initial_node(which, MACHINE, status)


# (spec 9.1.3)
def test_a_node_says_what_machine_it_is_and_who_attaches_volumes() -> None:
    node = born(settings())
    assert node.metadata.name == "node-1"
    assert node.metadata.labels == OWN_LABELS
    assert node.metadata.annotations == {ATTACHER: "true"}
    assert node.spec == NodeSpec()


# (spec 9.1.4)
def test_flags_and_configuration_say_the_rest() -> None:
    taints = (RegisteredTaint(key="a", value="b", effect="NoSchedule"), RegisteredTaint(key="c", effect="NoExecute"))
    registration = Registration(labels={"disk": "ssd", "kubernetes.io/arch": "mine"}, host_name="other")
    which = settings(
        registration, register_with_taints=taints, provider_id="cloud://1", enable_controller_attach_detach=False
    )
    node = born(which)
    assert node.metadata.labels == {
        **OWN_LABELS,
        "kubernetes.io/hostname": "other",
        "disk": "ssd",
        "kubernetes.io/arch": "mine",
    }
    assert node.metadata.annotations == {}
    assert node.spec == NodeSpec(
        provider_id="cloud://1",
        taints=(Taint(key="a", value="b", effect="NoSchedule"), Taint(key="c", effect="NoExecute")),
    )


# (spec 9.1.4, 9.4.3)
def test_an_external_cloud_finds_the_address_asked_for_and_a_taint_to_take_away() -> None:
    registration = Registration(external_cloud=True, node_ips=("192.0.2.1", "2001:db8::1"))
    node = born(settings(registration))
    assert node.metadata.annotations["alpha.kubernetes.io/provided-node-ip"] == "192.0.2.1,2001:db8::1"
    assert node.spec.taints == (
        Taint(key="node.cloudprovider.kubernetes.io/uninitialized", value="true", effect="NoSchedule"),
    )


def existing() -> Node:
    return Node(
        metadata=ObjectMeta(
            name="node-1",
            uid="1",
            labels={"kubernetes.io/arch": "amd64", "mine": "x", "topology.kubernetes.io/zone": "a"},
            annotations={"note": "keep"},
        ),
        spec=NodeSpec(taints=(Taint(key="mine", effect="NoSchedule"),), unschedulable=True),
        status=NodeStatus(
            capacity={"cpu": "8", "example.com/gpu": "2", "hugepages-16Mi": "0"},
            allocatable={"cpu": "7", "example.com/gpu": "2", "hugepages-16Mi": "0"},
        ),
    )


def test_a_node_that_is_there_keeps_what_others_gave_it() -> None:
    new = born(settings(), NodeStatus(capacity={"hugepages-2Mi": "1Gi"}, allocatable={"hugepages-2Mi": "1Gi"}))
    mended = reconciled(existing(), new)
    assert mended.spec == existing().spec
    assert mended.metadata.uid == "1"
    assert mended.metadata.labels == {
        "mine": "x",
        "topology.kubernetes.io/zone": "a",
        "kubernetes.io/hostname": "node-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
    }
    assert mended.metadata.annotations == {"note": "keep", ATTACHER: "true"}
    assert mended.status is not None
    assert mended.status.capacity == {"cpu": "8", "example.com/gpu": "0", "hugepages-2Mi": "1Gi"}
    assert mended.status.allocatable == {"cpu": "7", "example.com/gpu": "0", "hugepages-2Mi": "1Gi"}
    assert reconciled(mended, new) == mended


@pytest.mark.parametrize(
    ("version", "machine_id", "left"),
    [
        ("v1.36.2+actorlet.0.1.0", "m-1", "2"),  # an agent of ours on this machine: people have given it since
        ("v1.36.2", "m-1", "0"),  # a kubelet, whose devices nobody serves here
        ("v1.36.2+actorlet.0.1.0", "m-2", "0"),  # a machine that had this name before
        ("", "m-1", "0"),
    ],
)
# (spec 9.1.2)
def test_resources_that_another_agent_or_machine_has_left_are_zero(version: str, machine_id: str, left: str) -> None:
    def informed(status: NodeStatus, version: str, machine_id: str) -> NodeStatus:
        return msgspec.structs.replace(status, node_info=NodeSystemInfo(machine_id=machine_id, kubelet_version=version))

    there = existing()
    assert there.status is not None
    before = msgspec.structs.replace(there, status=informed(there.status, version, machine_id))
    mended = reconciled(before, born(settings(), informed(NodeStatus(), agent_version(), "m-1")))
    assert mended.status is not None
    assert mended.status.capacity["example.com/gpu"] == left
    assert mended.status.allocatable["example.com/gpu"] == left


# (spec 9.1.3)
def test_labels_of_flags_are_given_at_birth_only_but_for_those_that_describe_the_machine() -> None:
    registration = Registration(labels={"disk": "ssd", "topology.kubernetes.io/zone": "b"})
    labels = reconciled(existing(), born(settings(registration))).metadata.labels
    assert labels["topology.kubernetes.io/zone"] == "b"
    assert "disk" not in labels


# (spec 9.1.2)
def test_a_node_whose_volumes_the_agent_attaches_itself_loses_the_annotation() -> None:
    own = settings(enable_controller_attach_detach=False)
    with_it = msgspec.structs.replace(existing(), metadata=ObjectMeta(name="node-1", annotations={ATTACHER: "true"}))
    assert reconciled(with_it, born(own)).metadata.annotations == {}


def test_the_version_is_one_that_clusters_can_compare() -> None:
    assert agent_version("0.1.0") == "v1.36.2+actorlet.0.1.0"
