"""The order of admission, and what a node under pressure takes (spec 10.14, 7.7)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.allocation import Allocation, Book, KeptBook, allocation_of
from actors.resources.abilities import Abilities
from actors.resources.admission import (
    ADMITTED,
    NodeIsStale,
    NodePressure,
    Preempts,
    Snapshot,
    Verdict,
    admit,
    pressure_rejection,
)
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import (
    AppArmorProfile,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodOS,
    PodSecurityContext,
    ResourceRequirements,
    Sysctl,
    Toleration,
)
from tests.actors.pod_pictures import container, pod

NODE = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(allocatable={"pods": "2", "cpu": "1", "memory": "1Gi"}))
ALL = NodePressure(memory=True, disk=True, pid=True)
MEMORY = NodePressure(memory=True)
CRITICAL: dict[str, Any] = {"priority": 2_000_000_000}
BURSTABLE = ResourceRequirements(requests={"memory": "1"})
TOLERANT = (Toleration(key="node.kubernetes.io/memory-pressure", operator="Exists", effect="NoSchedule"),)


def verdict(desired: Pod, *others: Allocation, **node: Any) -> Verdict:
    snapshot = Snapshot(NODE, Book(KeptBook(others)), node.pop("abilities", Abilities()), **node)
    return admit(desired, allocation_of(desired), snapshot)


# (spec 10.14.1)
def test_10_14_the_first_rule_that_says_no_is_the_reason() -> None:
    """Each step removes the reason that the step before gave."""
    bad: dict[str, Any] = {
        "security_context": PodSecurityContext(
            sysctls=(Sysctl(name="kernel.panic", value="1"),),
            supplemental_groups_policy="Strict",
            app_armor_profile=AppArmorProfile(type="RuntimeDefault"),
        ),
        "os": PodOS(name="windows"),
        "node_selector": {"disk": "ssd"},
    }
    large = container("app", resources=ResourceRequirements(requests={"cpu": "2"}))
    node: dict[str, Any] = {
        "pressure": ALL,
        "groups_policy": False,
        "shutting_down": True,
        "abilities": Abilities(apparmor=False),
    }
    seen = []

    def look(*containers: Any) -> None:
        found = verdict(pod(*containers, **bad), **node)
        assert isinstance(found, Rejected)
        seen.append(found.reason)

    look(large)
    node["pressure"] = NodePressure()
    look(large)
    bad["security_context"] = PodSecurityContext(
        supplemental_groups_policy="Strict", app_armor_profile=AppArmorProfile(type="RuntimeDefault")
    )
    look(large)
    del bad["os"]
    look(large)
    bad["security_context"] = PodSecurityContext(app_armor_profile=AppArmorProfile(type="RuntimeDefault"))
    look(large)
    del bad["node_selector"]
    look("app")
    del bad["security_context"]
    look("app")
    assert seen == [
        "Evicted",
        "SysctlForbidden",
        "PodOSNotSupported",
        "SupplementalGroupsPolicyNotSupported",
        "OutOfcpu",
        "AppArmor",
        "NodeShutdown",
    ]


# (spec 10.14.1)
@pytest.mark.parametrize(
    ("desired", "node", "reason"),
    [
        (pod("app"), {"pressure": ALL}, "Evicted"),
        (pod("app", os=PodOS(name="windows")), {}, "PodOSNotSupported"),
        (pod(container("app", resources=ResourceRequirements(requests={"cpu": "2"}))), {}, "TopologyAffinityError"),
        (pod("app"), {"shutting_down": True}, "TopologyAffinityError"),
    ],
)
def test_10_14_what_a_pod_wants_for_itself_is_looked_for_before_room(
    desired: Pod, node: dict[str, Any], reason: str
) -> None:
    snapshot = Snapshot(NODE, Book(KeptBook()), Abilities(), **node)
    own = Rejected("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    found = admit(desired, allocation_of(desired), snapshot, lambda: own)
    assert isinstance(found, Rejected)
    assert found.reason == reason


# (spec 10.14.5)
def test_10_14_labels_alone_may_be_stale() -> None:
    found = verdict(pod("app", node_selector={"disk": "ssd"}))
    assert isinstance(found, NodeIsStale)
    assert found.otherwise.reason == "NodeAffinity"


# (spec 10.15.1)
def test_10_15_a_critical_pod_that_lacks_room_alone_preempts() -> None:
    other = Allocation("other", "shop", "other", FrozenMap({"cpu": 10**9}))
    large = container("app", resources=ResourceRequirements(requests={"cpu": "1"}))
    assert verdict(pod(large, **CRITICAL), other) == Preempts((other,), "cpu")
    elsewhere = verdict(pod(large, node_name="n2", **CRITICAL), other)
    assert isinstance(elsewhere, Rejected)
    assert elsewhere.reason == "NodeName"
    assert isinstance(verdict(pod(large), other), Rejected)


def test_10_15_a_critical_pod_that_cannot_get_room_is_told_so() -> None:
    found = verdict(pod(container("app", resources=ResourceRequirements(requests={"cpu": "2"})), **CRITICAL))
    assert isinstance(found, Rejected)
    assert found.reason == "UnexpectedAdmissionError"
    assert "cpu by 1000m" in found.message


@pytest.mark.parametrize(
    ("desired", "pressure", "taken"),
    [
        (pod("app"), NodePressure(), True),
        (pod("app"), MEMORY, False),
        (pod("app", tolerations=TOLERANT), MEMORY, True),
        (pod(container("app", resources=BURSTABLE)), MEMORY, True),
        (pod(container("app", resources=BURSTABLE)), NodePressure(disk=True), False),
        (pod(container("app", resources=BURSTABLE)), NodePressure(memory=True, pid=True), False),
        (pod("app", tolerations=TOLERANT), NodePressure(pid=True), False),
        (pod("app", **CRITICAL), ALL, True),
    ],
)
# (spec 7.7.1)
def test_7_7_pressure_decides_which_pods_are_admitted(desired: Pod, pressure: NodePressure, taken: bool) -> None:
    found = pressure_rejection(desired, allocation_of(desired).critical, pressure)
    assert (found is None) is taken
    if found is not None:
        assert found.reason == "Evicted"
        assert " ".join(pressure.names()) in found.message


def test_a_pod_that_fits_is_taken() -> None:
    assert verdict(pod("app")) == ADMITTED
