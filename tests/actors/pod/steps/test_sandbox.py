"""The sandbox: what it waits for, what it refuses, and where containers are started then."""

from __future__ import annotations

import pytest

from actors.kernel import Message
from actors.messages.admission import PodAdmitted
from actors.messages.ids import IdsAssigned
from actors.messages.references import ReadRuntimeClass, RuntimeClassRead
from actors.model.id_ranges import IdRange
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, Refuse
from actors.pod_rules.action_types import Start
from actors.pod_rules.actions import PodActions
from config.objects import Pod
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, pod

APP = container("app")
MAKE = PodActions(create_sandbox=True, start=(Start(APP, None),))
THEN = "its sandbox is made then"


def outcome(bench: Bench, web: Pod, *answers: Message) -> Outcome:
    bench.outcome(bench.parts.admission.step, web)
    bench.take(bench.parts.sandbox.step, bench.passing(web, actions=MAKE), seconds=30)
    bench.tell(*answers)
    return bench.take(bench.parts.sandbox.step, bench.passing(web, actions=MAKE), seconds=30)


@pytest.mark.parametrize(
    ("web", "answers", "expected"),
    [
        pytest.param(pod(APP), (PodAdmitted(),), CONTINUE, id="made"),
        pytest.param(
            pod(APP),
            (),
            PassWait("the node is asked whether it takes the pod", "it starts then"),
            id="no cgroup is known",
        ),
        pytest.param(
            pod(APP, host_users=False),
            (PodAdmitted(),),
            PassWait("the ids of its user namespace are being asked for", THEN),
            id="no ids yet",
        ),
        pytest.param(
            pod(APP, runtime_class_name="gvisor"),
            (PodAdmitted(),),
            PassWait("its RuntimeClass gvisor is being asked for", THEN),
            id="no handler is known yet",
        ),
    ],
)
def test_a_sandbox_waits_for_what_it_is_made_of(web: Pod, answers: tuple[Message, ...], expected: Outcome):
    assert outcome(Bench(), web, *answers) == expected


@pytest.mark.parametrize(
    ("web", "answer", "why"),
    [
        pytest.param(pod(APP, host_users=False), IdsAssigned(None, "all are taken"), "all are taken", id="no ids"),
        pytest.param(
            pod(APP, host_users=False),
            IdsAssigned(IdRange(65536, 65536)),
            "the default handler of the runtime does not support user namespaces",
            id="a handler without user namespaces",
        ),
    ],
)
# (spec 3.6.4)
def test_a_sandbox_that_cannot_be_made_is_refused_with_its_reason(web: Pod, answer: Message, why: str):
    found = outcome(Bench(), web, PodAdmitted(), answer)
    assert isinstance(found, Refuse)
    assert found.reason == "FailedCreatePodSandBox"
    assert why in found.message
    assert found.event == f"Failed to create pod sandbox: {found.message}"


# (spec 3.6.4)
def test_the_event_of_a_refused_sandbox_begins_with_upstreams_words_and_ends_with_the_field():
    long = pod(APP, hostname="n" * 60, subdomain="sub", set_hostname_as_fqdn=True)
    found = outcome(Bench(), long, PodAdmitted())
    assert isinstance(found, Refuse)
    words = "Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN nnn"
    assert found.event.startswith(words)
    assert found.event.endswith(" characters requested) ($.spec.setHostnameAsFQDN)")


def test_a_runtime_class_that_is_not_there_is_refused():
    bench, web = Bench(ReadRuntimeClass), pod(APP, runtime_class_name="gvisor")
    outcome(bench, web, PodAdmitted())
    [question] = bench.asked
    bench.tell(RuntimeClassRead(question.tag, "", "no such class"))
    found = bench.take(bench.parts.sandbox.step, bench.passing(web, actions=MAKE), seconds=30)
    assert isinstance(found, Refuse)
    assert found.message == "no such class"


def test_a_pass_that_starts_nothing_needs_no_sandbox():
    bench = Bench()
    this = bench.passing(pod(APP), actions=PodActions())
    assert bench.take(bench.parts.sandbox.step, this) is CONTINUE
    assert this.place is None
