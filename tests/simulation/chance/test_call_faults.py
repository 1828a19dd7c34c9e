"""Faults beyond the pods: what each does, that the seed decides them, and that they end."""

from __future__ import annotations

import pytest

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan, Faults
from simulation.chance.chance import Chance
from tests.simulation.cri.pods import SECOND, Pods
from tests.simulation.cri.test_simulated_cri import Events

KNOWN = [13818020354289909390, 17137345823786375324]


def with_faults(verb: str, **chances: object) -> Pods:
    return Pods(faults=Faults(FaultPlan({verb: CallFaults(**chances)}), 1))  # type: ignore[arg-type]


def test_a_failed_call_does_nothing() -> None:
    pods = with_faults("RunPodSandbox", fail=1.0, codes=(StatusCode.UNAVAILABLE,))
    error = pods.error(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=pods.sandbox_config()))
    assert error.code == StatusCode.UNAVAILABLE
    assert not pods.cri.state.sandboxes


def test_a_lost_answer_is_of_a_operation_done() -> None:
    pods = with_faults("RunPodSandbox", lose=1.0)
    answer = pods.cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=pods.sandbox_config()))
    pods.dispatcher.run_until_idle()
    error = answer.exception()
    assert isinstance(error, CriError)
    assert (error.code, error.outcome_unknown) == (StatusCode.UNAVAILABLE, True)
    assert len(pods.cri.state.sandboxes) == 1


def test_a_hanging_call_does_nothing_and_ends_by_its_deadline() -> None:
    pods = with_faults("RunPodSandbox", hang=1.0)
    request = m.RunPodSandboxRequest(config=pods.sandbox_config())
    answer = pods.cri.call(v.RUN_POD_SANDBOX, request, timeout_ns=SECOND)
    pods.advance(SECOND)
    error = answer.exception()
    assert isinstance(error, CriError)
    assert error.code == StatusCode.DEADLINE_EXCEEDED
    assert not pods.cri.state.sandboxes


def test_a_slow_call_does_its_operation_late_and_a_late_one_at_once() -> None:
    for name, done_at_once in (("slow", 0), ("late", 1)):
        pods = with_faults("RunPodSandbox", delay_ns=(SECOND, SECOND), **{name: 1.0})
        answer = pods.cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=pods.sandbox_config()))
        assert len(pods.cri.state.sandboxes) == done_at_once
        pods.advance(SECOND - 1)
        assert not answer.done()
        pods.advance(1)
        assert answer.exception() is None
        assert len(pods.cri.state.sandboxes) == 1


def test_a_slow_call_that_was_given_up_is_never_done() -> None:
    pods = with_faults("RunPodSandbox", slow=1.0)
    pods.cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=pods.sandbox_config())).cancel()
    pods.advance(60 * SECOND)
    assert not pods.cri.state.sandboxes


def test_a_slow_call_may_take_its_own_time_too() -> None:
    pods = with_faults("StartContainer", slow=1.0, delay_ns=(SECOND, SECOND))
    container = pods.create(pods.sandbox(start_delay="2s"))
    starting = pods.start(container)
    pods.advance(3 * SECOND - 1)
    assert not starting.done()
    pods.advance(1)
    assert starting.exception() is None
    assert pods.state(container) == "RUNNING"


def fates(seed: int) -> list[object]:
    faults = Faults(FaultPlan({"*": CallFaults(fail=0.2, lose=0.2, hang=0.2, slow=0.2, late=0.2)}), seed)
    return [faults.draw("StartContainer") for _ in range(200)]


def test_the_seed_decides_the_faults() -> None:
    assert fates(1) == fates(1)
    assert fates(1) != fates(2)


def test_all_kinds_of_faults_are_reached_and_counted_until_healed() -> None:
    faults = Faults(FaultPlan({"*": CallFaults(fail=0.2, lose=0.2, hang=0.2, slow=0.2, late=0.2)}), 3)
    for _ in range(200):
        faults.draw("Version")
    assert set(faults.counts) == {"fail", "lose", "hang", "slow_ns", "late_ns"}
    faults.heal()
    assert [faults.draw("Version") for _ in range(50)] == [None] * 50


def test_a_verb_that_is_named_has_faults_of_its_own() -> None:
    faults = Faults(FaultPlan({"*": CallFaults(fail=1.0), "Version": CallFaults()}), 1)
    assert faults.draw("Version") is None
    assert faults.draw("Status") is not None


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (EventFaultPlan(double=1.0), ["CREATED", "CREATED", "STARTED", "STARTED", "STOPPED", "STOPPED"]),
        (EventFaultPlan(lose=1.0), []),
        (EventFaultPlan(delay=1.0, delay_ns=(SECOND, SECOND)), []),
        (EventFaultPlan(cut=1.0), []),
    ],
)
def test_events_are_doubled_lost_delayed_or_cut(plan: EventFaultPlan, expected: list[str]) -> None:
    pods = Pods(faults=Faults(FaultPlan(events=plan), 1))
    events = Events(pods.cri)
    container = pods.run(pods.sandbox())
    pods.stop(container).result()
    assert events.kinds(container) == expected
    assert [end.code for end in events.ends if end] == ([StatusCode.UNAVAILABLE] if plan.cut else [])
    pods.advance(SECOND)
    if plan.delay:
        assert events.kinds(container) == ["CREATED", "STARTED", "STOPPED"]


def test_delayed_events_come_out_of_order() -> None:
    plan = EventFaultPlan(delay=0.5)
    pods = Pods(faults=Faults(FaultPlan(events=plan), 5))
    events = Events(pods.cri)
    sandbox = pods.sandbox()
    for number in range(20):
        pods.run(sandbox, name=f"c{number}")
    pods.advance(60 * SECOND)
    assert len(events.items) == 42
    names = [item.container_id for item in events.items]
    assert any(events.kinds(name) == ["STARTED", "CREATED"] for name in names)


@pytest.mark.parametrize("chances", [{"fail": 1.5}, {"hang": -0.1}, {"fail": 0.6, "lose": 0.6}, {"delay_ns": (2, 1)}])
def test_a_plan_that_cannot_be_is_refused(chances: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"chance|delays"):
        CallFaults(**chances)  # type: ignore[arg-type]


def test_a_stream_of_chance_is_the_same_on_every_machine() -> None:
    chance = Chance("known")
    assert [chance.bits() for _ in range(2)] == KNOWN
    shares = [chance.share() for _ in range(1000)]
    assert all(0 <= share < 1 for share in shares)
    assert 0.45 < sum(shares) / 1000 < 0.55
    assert {chance.between(1, 3) for _ in range(100)} == {1, 2, 3}
