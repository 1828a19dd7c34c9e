"""The node's own conditions, and the events that tell their change (spec 9.3)."""

from __future__ import annotations

import pytest

from actors.messages.node import NodePressureObserved, RefusedOwner
from actors.messages.pods import RuntimeStateObserved
from actors.node_object.conditions import events_of_change, is_ready, next_conditions, verdicts
from actors.node_object.readiness import RuntimeHealth, look_again_ns, message_of, unready_reasons
from config.objects import NodeCondition

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
NO_PRESSURE = NodePressureObserved()
FINE = RuntimeStateObserved("", "", "containerd")


def said(pressures: NodePressureObserved = NO_PRESSURE, unready: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    return {one.type: (one.status, one.reason, one.message) for one in verdicts(pressures, unready)}


# (spec 9.3.1)
def test_the_words_of_a_node_that_is_well() -> None:
    assert said() == {
        "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
    }


# (spec 9.3.1)
def test_the_words_of_a_node_that_is_not() -> None:
    assert said(NodePressureObserved(memory=True, disk=True, pid=True), ("one", "two")) == {
        "MemoryPressure": ("True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        "DiskPressure": ("True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
        "PIDPressure": ("True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        "Ready": ("False", "KubeletNotReady", "[one, two]"),
    }


def refused(*names: str) -> tuple[RefusedOwner, ...]:
    return tuple(RefusedOwner("ReplicaSet", f"shop/{name}", 20, f"{name}-x", "OutOfcpu", "no CPU") for name in names)


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        (("a",), "ReplicaSet shop/a: at least 20 pods in a row, such as a-x: OutOfcpu: no CPU"),
        (("a", "b"), "ReplicaSet shop/b: at least 20 pods in a row, such as b-x: OutOfcpu: no CPU; ReplicaSet shop/a"),
        (("a", "b", "c", "d", "e"), "such as c-x: OutOfcpu: no CPU; and 2 other owners"),
    ],
)
def test_owners_with_refused_pods_are_named_the_newest_first_and_few_of_many(
    owners: tuple[str, ...], words: str
) -> None:
    *_, told = verdicts(NO_PRESSURE, (), refused(*owners))
    assert (told.type, told.status) == ("RepeatedPodRefusals", "True")
    assert words in told.message


def test_repeated_refusals_are_no_condition_before_the_first_and_a_false_one_after_the_last() -> None:
    quiet = next_conditions((), verdicts(NO_PRESSURE, ()), 0)
    assert "RepeatedPodRefusals" not in {one.type for one in quiet}
    loud = next_conditions(quiet, verdicts(NO_PRESSURE, (), refused("a")), SECOND_NS)
    over = next_conditions(loud, verdicts(NO_PRESSURE, ()), MINUTE_NS)
    assert [(one.status, one.last_transition_time) for one in (loud[-1], over[-1])] == [
        ("True", "1970-01-01T00:00:01Z"), ("False", "1970-01-01T00:01:00Z"),
    ]  # fmt: skip
    assert events_of_change(quiet, loud) == events_of_change(loud, over) == ()


# (spec 9.3.4)
def test_a_condition_keeps_its_transition_time_while_its_status_stays_and_those_of_others_stay_where_they_are() -> None:
    first = next_conditions((), verdicts(NodePressureObserved(), ("x",)), 1_000 * SECOND_NS)
    foreign = NodeCondition(type="NetworkUnavailable", status="False", last_heartbeat_time="2020-01-01T00:00:00Z")
    second = next_conditions(
        (first[3], foreign, *first[:3]), verdicts(NodePressureObserved(), ("y",)), 2_000 * SECOND_NS
    )
    assert [one.type for one in second] == [
        "Ready", "NetworkUnavailable", "MemoryPressure", "DiskPressure", "PIDPressure",
    ]  # fmt: skip
    assert second[1] == foreign
    ready = second[0]
    assert (ready.message, ready.last_transition_time, ready.last_heartbeat_time) == (
        "y", "1970-01-01T00:16:40Z", "1970-01-01T00:33:20Z",
    )  # fmt: skip
    third = next_conditions(second, verdicts(NodePressureObserved(), ()), 3_000 * SECOND_NS)
    assert third[0].last_transition_time == "1970-01-01T00:50:00Z"
    assert is_ready(third)
    assert not is_ready(second)


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        ({}, {"MemoryPressure": "False", "Ready": "False"}, ["NodeHasSufficientMemory"]),
        ({"Ready": "False"}, {"Ready": "True"}, ["NodeReady"]),
        ({"Ready": "True"}, {"Ready": "False"}, ["NodeNotReady"]),
        ({"Ready": "Unknown"}, {"Ready": "True"}, ["NodeReady"]),
        ({"Ready": "True"}, {"Ready": "True"}, []),
        ({"MemoryPressure": "False"}, {"MemoryPressure": "True"}, ["NodeHasInsufficientMemory"]),
        ({"DiskPressure": "True"}, {"DiskPressure": "False"}, ["NodeHasNoDiskPressure"]),
        ({"DiskPressure": "False"}, {"DiskPressure": "True"}, ["NodeHasDiskPressure"]),
        ({"PIDPressure": "Unknown"}, {"PIDPressure": "False"}, ["NodeHasSufficientPID"]),
        ({"PIDPressure": "False"}, {"PIDPressure": "True"}, ["NodeHasInsufficientPID"]),
        ({}, {"NetworkUnavailable": "True"}, []),
    ],
)
# (spec 9.3.3)
def test_a_change_is_an_event(before: dict[str, str], after: dict[str, str], events: list[str]) -> None:
    def conditions(of: dict[str, str]) -> tuple[NodeCondition, ...]:
        return tuple(NodeCondition(type=kind, status=status) for kind, status in of.items())

    assert list(events_of_change(conditions(before), conditions(after))) == events


NOW_NS = 1_000 * SECOND_NS


@pytest.mark.parametrize(
    ("state", "listed_ns_ago", "reasons"),
    [
        (FINE, 0, []),
        (FINE, 2 * MINUTE_NS, []),
        (FINE, 3 * MINUTE_NS, ["PLEG is not healthy: the pods of the runtime have not been listed for more than 3m0s"]),
        (FINE, None, ["PLEG is not healthy: the pods of the runtime have yet to be listed"]),
        (None, 0, ["container runtime status check may not have completed yet"]),
        (RuntimeStateObserved("gone", "?", "", NOW_NS - 29 * SECOND_NS), 0, []),
        (RuntimeStateObserved("gone", "?", "", NOW_NS - 30 * SECOND_NS), 0, ["container runtime is down: gone"]),
        (
            RuntimeStateObserved("RuntimeReady=false reason:A message:b", ""),
            0,
            ["container runtime not ready: RuntimeReady=false reason:A message:b"],
        ),
        (
            RuntimeStateObserved("", "NetworkReady=false reason:C message:d"),
            0,
            ["container runtime network not ready: NetworkReady=false reason:C message:d"],
        ),
    ],
    ids=[
        "all is well", "a list takes its time", "no list for too long", "no list yet", "not asked yet",
        "silent for a while", "silent for too long", "not ready", "no network",
    ],
)  # fmt: skip
# (spec 2.12.1)
def test_the_runtime_state_decides_whether_the_node_is_ready(
    state: RuntimeStateObserved | None, listed_ns_ago: int | None, reasons: list[str]
) -> None:
    listed_ns = None if listed_ns_ago is None else NOW_NS - listed_ns_ago
    assert list(unready_reasons(RuntimeHealth(state, listed_ns), {}, (), NOW_NS)) == reasons


# (spec 9.3.2)
def test_others_have_reasons_too_and_all_are_said() -> None:
    health = RuntimeHealth(FINE, NOW_NS)
    others = {"shutdown": "node is shutting down", "storage": "", "csi": "no CSINode"}
    reasons = unready_reasons(health, others, ("cpu", "pods"), NOW_NS)
    assert message_of(reasons) == (
        "[no CSINode, node is shutting down, missing node capacity for resources: cpu, pods]"
    )


# (spec 2.1.1)
def test_the_status_is_checked_when_runtime_silence_starts_to_count() -> None:
    assert look_again_ns(RuntimeHealth(), NOW_NS) is None
    assert look_again_ns(RuntimeHealth(FINE, NOW_NS - MINUTE_NS), NOW_NS) == 2 * MINUTE_NS
    silent = RuntimeStateObserved("gone", "", "", NOW_NS - 10 * SECOND_NS)
    assert look_again_ns(RuntimeHealth(silent, NOW_NS), NOW_NS) == 20 * SECOND_NS
    assert look_again_ns(RuntimeHealth(silent, NOW_NS - 170 * SECOND_NS), NOW_NS) == 10 * SECOND_NS
