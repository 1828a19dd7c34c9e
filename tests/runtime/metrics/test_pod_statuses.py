"""What the statuses of a pod say when they are counted."""

from __future__ import annotations

import pytest

from config.objects import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
)
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from runtime.metrics.pod_statuses import Changes, EndedContainer, StatusMeasures, changes

SECOND_NS = 1_000_000_000
PENDING = PodStatus(phase="Pending")


def of(*containers: ContainerStatus, phase: str = "Running") -> PodStatus:
    return PodStatus(phase=phase, container_statuses=containers, start_time="1970-01-01T00:00:10Z")


def waits(reason: str) -> ContainerStatus:
    return ContainerStatus(name="c", state=ContainerState(waiting=ContainerStateWaiting(reason=reason)))


def runs(id_: str, last: ContainerState | None = None) -> ContainerStatus:
    return ContainerStatus(
        name="c", container_id=id_, state=ContainerState(running=ContainerStateRunning()), last_state=last
    )


def over(id_: str, code: int = 1, reason: str = "Error") -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(container_id=id_, exit_code=code, reason=reason))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PENDING, PENDING, Changes()),
        (PENDING, of(runs("a")), Changes(started=("container",))),
        (of(runs("a")), of(runs("a")), Changes()),
        (
            of(runs("a")),
            of(ContainerStatus(name="c", container_id="a", state=over("a"))),
            Changes(ended=(EndedContainer("container", 1, "Error"),)),
        ),
        (
            of(runs("a")),
            of(runs("b", over("a", 0, "Completed"))),
            Changes(started=("container",), ended=(EndedContainer("container", 0, "Completed"),)),
        ),
        (
            PENDING,
            of(runs("b", over("a"))),
            Changes(started=("container", "container"), ended=(EndedContainer("container", 1, "Error"),)),
        ),
        (
            of(waits("ContainerCreating"), phase="Pending"),
            of(waits("ErrImagePull"), phase="Pending"),
            Changes(failed=(("container", "ErrImagePull"),)),
        ),
        (of(waits("ErrImagePull"), phase="Pending"), of(waits("ImagePullBackOff"), phase="Pending"), Changes()),
    ],
)
def test_status_changes_are_found(before: PodStatus, after: PodStatus, expected: Changes) -> None:
    assert changes(before, after) == expected


# (spec 11.7.3)
def test_a_pod_s_start_is_timed_with_and_without_the_pull() -> None:
    meters = Meters()
    measures = StatusMeasures(meters)
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default", uid="u", creation_timestamp="1970-01-01T00:00:08Z"),
        spec=PodSpec(containers=(Container(name="c"),)),
    )
    measures.pulled("u", 0, 1 * SECOND_NS)
    measures.pulled("u", 1 * SECOND_NS, 3 * SECOND_NS)
    measures.came(pod)
    measures.changed(pod, PENDING, of(runs("a")), 14 * SECOND_NS)
    measures.changed(pod, of(runs("a")), of(runs("b")), 15 * SECOND_NS)
    sums = {
        family: next(row.value for row in meters.told(family)[0].rows if row.ending == "_sum")
        for family in (names.POD_START, names.POD_START_TOTAL, names.POD_START_SLI)
    }
    assert list(sums.values()) == [4.0, 6.0, 3.0]
    assert meters.value(names.FIRST_NETWORK_POD_START_SLI) == 3.0
    assert meters.value(names.CONTAINERS_PER_POD) == 1


def test_a_write_is_timed_from_the_first_difference_to_the_last() -> None:
    meters = Meters()
    measures = StatusMeasures(meters)
    measures.wanted("u", 1 * SECOND_NS)
    measures.wanted("u", 2 * SECOND_NS)
    measures.shown("u", 4 * SECOND_NS)
    measures.shown("u", 5 * SECOND_NS)
    (told,) = meters.told(names.STATUS_SYNC)
    assert [row.value for row in told.rows if row.ending in ("_count", "_sum")] == [1, 3.0]
