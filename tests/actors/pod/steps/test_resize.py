"""An agent that begins shows of a resize what was shown before, until the node has decided again."""

from __future__ import annotations

from actors.messages.admission import PodAdmitted, PodAllocated, ResizeDecided, ResizePod
from actors.model.kubelet_records import record_from
from actors.model.pod_resources import resources_of
from actors.pod.steps.resize import PodResize
from actors.pod_status.conditions import RESIZE_PENDING, ResizeCondition
from config.objects import Pod, PodCondition, PodStatus, ResourceRequirements
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, pod

WAITS = PodCondition(type=RESIZE_PENDING, status="True", reason="Deferred")


def asking_for(cpu: str, shown: PodStatus | None = None) -> Pod:
    return pod(container("app", resources=ResourceRequirements(requests={"cpu": cpu})), status=shown)


def restarted(bench: Bench, desired: Pod, given: Pod) -> None:
    """The worker is told its pod, and what the node gave it in an earlier life."""
    bench.passing(bench.parts.resize.given(desired))
    has = resources_of(given.spec)
    bench.tell(PodAllocated(record_from(has), record_from(has)), PodAdmitted())
    bench.outcome(bench.step_of(PodResize), desired)


# (spec 4.6.2)
def test_conditions_of_an_earlier_life_stay_until_the_node_has_decided():
    bench, desired = Bench(ResizePod), asking_for("100", PodStatus(conditions=(WAITS,)))
    restarted(bench, desired, asking_for("1"))
    assert (len(bench.asked), bench.parts.view.resizes) == (1, None)
    bench.tell(ResizeDecided(resources_of(asking_for("1").spec), 1, "Deferred", "too big"))
    assert bench.parts.view.resizes == (ResizeCondition(RESIZE_PENDING, 1, "Deferred", "too big"),)


def test_a_pod_that_has_what_it_asks_for_shows_no_resize():
    bench, desired = Bench(ResizePod), asking_for("1", PodStatus(conditions=(WAITS,)))
    restarted(bench, desired, desired)
    assert (bench.asked, bench.parts.view.resizes) == ([], ())
