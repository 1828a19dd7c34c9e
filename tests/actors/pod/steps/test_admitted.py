"""Nothing of a pod is made before the node has taken it."""

from __future__ import annotations

import pytest

from actors.kernel import Message
from actors.messages.admission import AdmissionWaits, AdmitPod, PodAdmitted, ResourceManagerStarted
from actors.model.observed import ObservedSandbox
from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import picture, pod, sandbox

ASKED = PassWait("the node is asked whether it takes the pod", "it starts then")


@pytest.mark.parametrize(
    ("boxes", "answers", "expected"),
    [
        pytest.param((), (), ASKED, id="no answer"),
        pytest.param((), (PodAdmitted(),), CONTINUE, id="taken"),
        pytest.param(
            (), (AdmissionWaits("others make way"),), PassWait("others make way", "it starts then"), id="not yet"
        ),
        pytest.param((sandbox(),), (), CONTINUE, id="a pod that has a sandbox was taken before"),
    ],
)
def test_a_pod_waits_for_the_node(boxes: tuple[ObservedSandbox, ...], answers: tuple[Message, ...], expected: Outcome):
    bench = Bench(AdmitPod)
    this = bench.passing(pod("app"), observed=picture(boxes=boxes))
    bench.take(bench.parts.admission.step, this)
    bench.tell(*answers)
    assert bench.take(bench.parts.admission.step, this) == expected
    assert [message.runs for message in bench.asked] == [bool(boxes)]


@pytest.mark.parametrize(("answers", "asked"), [((), 2), ((PodAdmitted(),), 1)])
def test_a_pod_without_an_answer_asks_a_new_manager_at_once(answers: tuple[Message, ...], asked: int):
    bench = Bench(AdmitPod)
    this = bench.passing(pod("app"), observed=picture())
    bench.take(bench.parts.admission.step, this)
    bench.tell(*answers, ResourceManagerStarted())
    bench.take(bench.parts.admission.step, this)
    assert len(bench.asked) == asked
