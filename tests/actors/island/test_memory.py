"""What an island node keeps of the API server's word, and its file."""

from __future__ import annotations

import msgspec
import pytest

from actors.cluster.service_variables import link_of
from actors.island.memory import Memory, encoded, kept, memory_in
from actors.messages.island import Remembered
from config.objects import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    CSIDriver,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    RuntimeClass,
    Secret,
    SecretVolumeSource,
    Service,
    ServicePort,
    ServiceSpec,
    Volume,
)
from config.objects.node import AttachedVolume
from config.objects.volumes import PersistentVolumeClaimSpec

VOLUMES = (
    Volume(name="files", config_map=ConfigMapVolumeSource(name="settings")),
    Volume(name="hidden", secret=SecretVolumeSource(secret_name="hidden")),
    Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="claim")),
)


def meta(name: str, namespace: str = "shop") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}")


def service(name: str, namespace: str) -> Service:
    spec = ServiceSpec(cluster_ip="10.0.0.9", ports=(ServicePort(port=80, protocol="TCP"),), selector={"app": "web"})
    return Service(metadata=meta(name, namespace), spec=spec)


WEB = Pod(metadata=meta("web"), spec=PodSpec(containers=(Container(name="app"),), volumes=VOLUMES))
BATCH = Pod(metadata=meta("batch"), spec=PodSpec(restart_policy="Never"))
CLAIM = PersistentVolumeClaim(metadata=meta("claim"), spec=PersistentVolumeClaimSpec(volume_name="disk"))
NEEDED: tuple[Remembered, ...] = (
    WEB,
    CLAIM,
    ConfigMap(metadata=meta("settings"), data={"key": "value"}),
    PersistentVolume(metadata=meta("disk", "")),
    RuntimeClass(metadata=meta("gvisor", ""), handler="runsc"),
    CSIDriver(metadata=meta("disks", "")),
)
OTHERS: tuple[Remembered, ...] = (
    BATCH,
    ConfigMap(metadata=meta("settings", "elsewhere")),
    ConfigMap(metadata=meta("unused")),
    PersistentVolume(metadata=meta("disk-of-others", "")),
    PersistentVolumeClaim(metadata=meta("unused")),
)
HIDDEN = Secret(metadata=meta("hidden"), data={"key": "c2VjcmV0"})


def named(memory: Memory) -> set[tuple[str, str, str]]:
    return {(type(each).__name__, each.metadata.namespace, each.metadata.name) for each in memory.objects}


def test_pods_that_may_be_started_are_kept_with_what_they_name_and_nothing_else() -> None:
    found = kept(Memory(objects=(*OTHERS, *NEEDED, HIDDEN)), keep_secrets=False)
    assert named(found) == named(Memory(objects=NEEDED))


def test_secrets_are_kept_only_on_demand_and_only_those_of_pods() -> None:
    other = Secret(metadata=meta("other"))
    found = kept(Memory(objects=(*NEEDED, HIDDEN, other)), keep_secrets=True)
    assert named(found) == named(Memory(objects=(*NEEDED, HIDDEN)))


def test_services_of_the_namespaces_of_pods_are_kept_as_far_as_variables_show_them() -> None:
    ours, others, master = service("front", "shop"), service("front", "other"), service("kubernetes", "default")
    found = kept(Memory(objects=(WEB, ours, others, master)), keep_secrets=False).of("Service")
    services = [each for each in found if isinstance(each, Service)]
    assert [link_of(each) for each in services] == [link_of(ours), link_of(master)]
    assert not any(each.spec is not None and each.spec.selector for each in services)


def test_of_the_node_its_labels_and_taints_are_kept_and_not_which_volumes_are_attached() -> None:
    status = NodeStatus(
        allocatable={"pods": "110"},
        conditions=(NodeCondition(type="Ready", status="True"),),
        volumes_attached=(AttachedVolume(name="disk"),),
    )
    node = Node(metadata=ObjectMeta(name="n", labels={"kind": "edge"}), spec=NodeSpec(pod_cidr="10.1.0.0/24"))
    found = kept(Memory(node=msgspec.structs.replace(node, status=status)), keep_secrets=False).node
    assert found is not None
    assert (found.metadata.labels, found.spec.pod_cidr) == ({"kind": "edge"}, "10.1.0.0/24")
    assert found.status is not None
    assert (found.status.allocatable, found.status.conditions, found.status.volumes_attached) == (
        {"pods": "110"},
        (),
        (),
    )


def test_a_file_has_all_that_was_kept() -> None:
    memory = kept(Memory(7, "boot", (*NEEDED, HIDDEN), Node(metadata=ObjectMeta(name="n"))), keep_secrets=True)
    assert memory_in(encoded(memory)) == memory


def test_an_agent_before_this_one_reads_a_file_of_a_later_one() -> None:
    later = {"version": 1, "agreed": 7, "new": True, "objects": [{"kind": "Later", "object": {}, "more": 1}]}
    assert memory_in(msgspec.json.encode(later)) == Memory(7)


@pytest.mark.parametrize("content", [b"[]", b'{"objects": [{"kind": "Pod", "object": {"spec": 7}}]}', b"{"])
def test_a_file_that_makes_no_sense_is_refused_with_a_reason(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        memory_in(content)
