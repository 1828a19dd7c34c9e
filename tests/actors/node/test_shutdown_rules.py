"""Who ends when a machine goes down, and with how much time (spec 9.7)."""

from __future__ import annotations

import pytest

from actors.node.shutdown_rules import (
    NO_SHUTDOWN,
    Group,
    Shutdown,
    fitted,
    grace_seconds,
    group_of,
    groups_of,
    shutdown_in,
    text_of,
    whole_ns,
)
from config.kubelet import KubeletConfiguration, ShutdownGracePeriodByPodPriority
from config.objects import Pod, PodSpec, PodStatus
from config.pods.identity import has_ended

SECOND_NS = 1_000_000_000
CRITICAL = 2_000_000_000
NODE_CRITICAL = 2_000_001_000


def by_priority(*entries: tuple[int, int]) -> KubeletConfiguration:
    listed = tuple(
        ShutdownGracePeriodByPodPriority(priority=priority, shutdown_grace_period_seconds=seconds)
        for priority, seconds in entries
    )
    return KubeletConfiguration(shutdown_grace_period_by_pod_priority=listed)


def whole(seconds: int, critical: int) -> KubeletConfiguration:
    return KubeletConfiguration(
        shutdown_grace_period=seconds * SECOND_NS, shutdown_grace_period_critical_pods=critical * SECOND_NS
    )


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        (KubeletConfiguration(), []),
        (whole(30, 10), [(0, 20), (CRITICAL, 10)]),
        (whole(30, 0), [(0, 30), (CRITICAL, 0)]),
        (whole(30, 30), [(0, 0), (CRITICAL, 30)]),
        (by_priority((100, 5), (0, 60), (CRITICAL, 20)), [(0, 60), (100, 5), (CRITICAL, 20)]),
        (by_priority((7, 0)), [(7, 0)]),
    ],
)
# (spec 9.7.1)
def test_the_groups_of_a_configuration(configuration, expected):
    groups = groups_of(configuration)
    assert [(group.priority, group.period_ns // SECOND_NS) for group in groups] == expected
    assert whole_ns(groups) == sum(seconds for _, seconds in expected) * SECOND_NS


@pytest.mark.parametrize(
    ("available", "expected"),
    [(100, [20, 10, 5]), (35, [20, 10, 5]), (30, [15, 10, 5]), (12, [0, 7, 5]), (3, [0, 0, 3]), (0, [0, 0, 0])],
)
def test_a_shortened_shutdown_takes_time_from_the_first_groups(available, expected):
    groups = groups_of(by_priority((0, 20), (100, 10), (CRITICAL, 5)))
    found = fitted(groups, available * SECOND_NS)
    assert [group.period_ns // SECOND_NS for group in found] == expected
    assert [group.priority for group in found] == [0, 100, CRITICAL]


def pod(priority: int | None = None, name: str | None = None, grace: int | None = None) -> Pod:
    return Pod(spec=PodSpec(priority=priority, priority_class_name=name, termination_grace_period_seconds=grace))


GROUPS = (Group(10, 5), Group(100, 5), Group(CRITICAL, 5))


@pytest.mark.parametrize(
    ("priority", "name", "expected"),
    [
        (None, None, 0),
        (-5, None, 0),
        (9, None, 0),
        (10, None, 0),
        (99, None, 0),
        (100, None, 1),
        (CRITICAL - 1, None, 1),
        (CRITICAL, None, 2),
        (NODE_CRITICAL, None, 2),
        # A manifest of a node of its own may name a class, and nobody has given it a number.
        (None, "system-node-critical", 2),
        (None, "system-cluster-critical", 2),
        (None, "gold", 0),
        # The number counts, where there is one.
        (50, "system-node-critical", 0),
    ],
)
# (spec 9.7.2)
def test_the_group_of_a_pod(priority, name, expected):
    assert group_of(GROUPS, pod(priority, name)) == expected


@pytest.mark.parametrize(
    ("own", "left_ns", "expected"),
    [
        (30, 20 * SECOND_NS, 20),
        (5, 20 * SECOND_NS, 5),
        (None, 20 * SECOND_NS, 20),
        (30, 2_900_000_000, 2),
        (30, 0, 0),
        (30, -SECOND_NS, 0),
    ],
)
def test_a_pod_has_its_own_grace_and_no_more_than_is_left_for_its_group(own, left_ns, expected):
    assert grace_seconds(pod(grace=own), left_ns) == expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True), (None, False)],
)
def test_a_completed_pod_keeps_its_status(phase, expected):
    assert has_ended(Pod(status=PodStatus(phase=phase))) is expected


# (spec 9.7.5)
def test_a_saved_shutdown_reads_back_in_the_kubelets_format():
    began = 1_700_000_000 * SECOND_NS + 123_456_000
    assert text_of(Shutdown(began)) == '{"startTime":"2023-11-14T22:13:20.123456Z","endTime":"0001-01-01T00:00:00Z"}'
    for shutdown in (NO_SHUTDOWN, Shutdown(began), Shutdown(began, began + 5 * SECOND_NS)):
        assert shutdown_in(text_of(shutdown).encode()) == shutdown
    assert shutdown_in(b'{"startTime": "yesterday"}') == NO_SHUTDOWN


@pytest.mark.parametrize(
    ("shutdown", "at_s", "expected"),
    [
        (NO_SHUTDOWN, 0, False),
        (Shutdown(100 * SECOND_NS), 110, True),
        (Shutdown(100 * SECOND_NS), 131, False),  # the machine has gone down since, and come back
        (Shutdown(100 * SECOND_NS), 99, False),  # the clock was set back: nothing can be said
        (Shutdown(100 * SECOND_NS, 105 * SECOND_NS), 110, False),
    ],
)
def test_a_saved_shutdown_tells_whether_the_agent_started_during_it(shutdown, at_s, expected):
    assert shutdown.runs_at(at_s * SECOND_NS, 30 * SECOND_NS) is expected
