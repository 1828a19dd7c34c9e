"""The resources that the status of a pod shows: of its containers, and of the pod as a whole."""

from __future__ import annotations

import msgspec
import pytest

from actors.pod_status.conditions import RESIZE_IN_PROGRESS, ResizeCondition
from actors.pod_status.whole_resources import MEMORY_UNLIMITED_V1
from config.objects import ResourceRequirements
from tests.actors.pod_pictures import EXITED, container, picture, pod, seen
from tests.actors.pod_status.shown_status import FULL, NODE, show


def test_resources_are_shown_of_containers_that_exist_and_of_no_others() -> None:
    asks = ResourceRequirements(requests={"cpu": "100m"})
    the_pod = pod(container("a", resources=asks), container("b", resources=asks), "c")
    a, b, c = show(the_pod, picture(seen("a"), seen("c"))).container_statuses
    assert (a.resources, a.allocated_resources) == (asks, {"cpu": "100m"})
    assert (b.resources, b.allocated_resources) == (None, {}), "it has not been made"
    assert (c.resources, c.allocated_resources) == (ResourceRequirements(), {}), "as a kubelet writes it: {}"


BOTH = ResourceRequirements(limits={"cpu": "2", "memory": "128Mi"}, requests={"cpu": "200m", "memory": "64Mi"})
DISK = ResourceRequirements(limits={"memory": "1Gi"}, requests={"ephemeral-storage": "1Gi"})


@pytest.mark.parametrize(
    ("containers", "whole", "allocated", "pending", "running"),
    [
        ((None,), None, {}, ResourceRequirements(), ResourceRequirements()),
        (
            (FULL, FULL),
            None,
            {"cpu": "200m", "memory": "64Mi"},
            BOTH,
            BOTH,
        ),
        (
            (FULL, DISK),
            None,
            {"cpu": "100m", "memory": "32Mi", "ephemeral-storage": "1Gi"},
            ResourceRequirements(limits={"cpu": "1", "memory": "1088Mi"}, requests={**FULL.requests, **DISK.requests}),
            ResourceRequirements(limits={"memory": "1088Mi"}, requests=FULL.requests),
        ),
        ((FULL, None), FULL, FULL.requests, FULL, FULL),
    ],
)
def test_a_pod_shows_what_it_was_given_as_a_whole(
    containers: tuple[ResourceRequirements | None, ...],
    whole: ResourceRequirements | None,
    allocated: dict[str, str],
    pending: ResourceRequirements,
    running: ResourceRequirements,
) -> None:
    """As a kubelet: sums until it runs, and then what its cgroup enforces."""
    named = [container(name, resources=each) for name, each in zip("ab", containers, strict=False)]
    the_pod = pod(*named, resources=whole)
    waits = show(the_pod, picture())
    assert (waits.allocated_resources, waits.resources) == (allocated, pending)
    runs = show(the_pod, picture(*(seen(each.name) for each in named)))
    assert (runs.allocated_resources, runs.resources) == (allocated, running)


def test_while_a_resize_is_carried_out_the_pod_shows_what_it_had() -> None:
    before = show(pod(container("a", resources=FULL)), picture(seen("a")))
    more = pod(container("a", resources=msgspec.structs.replace(FULL, requests={"cpu": "200m", "memory": "32Mi"})))
    under_way = (ResizeCondition(RESIZE_IN_PROGRESS, 2),)
    while_it_lasts = show(more, picture(seen("a")), previous=before, resizes=under_way)
    assert (while_it_lasts.allocated_resources["cpu"], while_it_lasts.resources) == ("200m", before.resources)
    unsaid = show(more, picture(seen("a")), previous=while_it_lasts, resizes=None)
    assert unsaid.resources == before.resources
    done = show(more, picture(seen("a")), previous=while_it_lasts).resources
    assert done is not None
    assert done.requests["cpu"] == "200m"


def test_a_pod_that_runs_goes_on_to_show_its_first_memory_request_as_no_cgroup_has_it() -> None:
    before = show(pod(container("a", resources=FULL)), picture(seen("a")))
    larger = ResourceRequirements(limits={"cpu": "2", "memory": "256Mi"}, requests={"cpu": "200m", "memory": "48Mi"})
    resized = show(pod(container("a", resources=larger)), picture(seen("a")), previous=before)
    assert resized.allocated_resources == larger.requests
    assert resized.resources == ResourceRequirements(
        limits=larger.limits, requests={"cpu": "200m", "memory": FULL.requests["memory"]}
    )
    again = show(pod(container("a", resources=larger)), picture(seen("a", EXITED)), previous=resized)
    assert again.phase != "Running" or again.resources == resized.resources


@pytest.mark.parametrize(("asked", "shown"), [(None, MEMORY_UNLIMITED_V1), (FULL, FULL.limits["memory"])])
def test_with_cgroup_v1_a_running_pod_without_a_memory_limit_shows_what_the_kernel_reports(
    asked: ResourceRequirements | None, shown: str
) -> None:
    node = msgspec.structs.replace(NODE, memory_unlimited=MEMORY_UNLIMITED_V1)
    runs = show(pod(container("a", resources=asked)), picture(seen("a")), node=node)
    assert runs.resources is not None
    assert runs.resources.limits["memory"] == shown
    assert show(pod(container("a")), picture(), node=node).resources == ResourceRequirements()
