"""What is seen is published, and a pod whose phase is final goes no further."""

from __future__ import annotations

import pytest

from actors.kernel import Message
from actors.messages.admission import AdmissionWaits, PodAdmitted, PodRejected
from actors.pod.one_pass import CONTINUE, WAIT, Outcome
from actors.pod_status.conditions import TERMINAL
from config.objects import Pod, PodStatus
from runtime.cri import CriError
from simulation.host.host import SimulatedHost
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod


@pytest.mark.parametrize(
    ("web", "expected", "phase"),
    [
        pytest.param(pod("app"), CONTINUE, "Pending", id="nothing is there yet"),
        pytest.param(pod("app", status=PodStatus(phase="Failed")), WAIT, "Failed", id="a final phase stays"),
    ],
)
# (spec 2.7.1)
def test_a_look_publishes_what_it_shows(web: Pod, expected: Outcome, phase: str):
    bench = Bench()
    bench.tell(PodAdmitted())
    this = bench.passing(web)
    assert bench.take(bench.parts.look.step, this, seconds=5) == expected
    assert (this.phase, this.phase in TERMINAL) == (phase, expected is WAIT)


@pytest.mark.parametrize(
    ("answer", "is_shown"),
    [
        pytest.param(None, False, id="nobody has answered"),
        pytest.param(AdmissionWaits("others make way"), False, id="it may still be refused"),
        pytest.param(AdmissionWaits("its cgroup", taken=True), True, id="it is taken"),
        pytest.param(PodRejected("OutOfcpu", "too big"), True, id="it is refused"),
    ],
)
def test_a_pod_is_shown_as_this_node_sees_it_once_it_is_decided_whether_it_is_taken(
    answer: Message | None, is_shown: bool
):
    bench = Bench()
    bench.tell(*(() if answer is None else (answer,)))
    for _ in range(3):
        bench.take(bench.parts.look.step, bench.passing(pod("app")), seconds=5)
    assert (bench.parts.view.published is not None) is is_shown


def test_the_first_look_at_a_new_pod_reads_no_files():
    host = SimulatedHost()
    bench = Bench(files=host.pod_files)
    host.tree.hang("/")
    assert bench.take(bench.parts.look.step, bench.passing(pod("app")), seconds=5) is CONTINUE
    assert bench.parts.view.decided.recalled


def test_a_look_that_fails_publishes_no_guess():
    bench = Bench()
    bench.cri.go_down()
    this = bench.passing(pod("app"))
    with pytest.raises(CriError):
        bench.take(bench.parts.look.step, this, seconds=5)
    assert this.phase == ""
