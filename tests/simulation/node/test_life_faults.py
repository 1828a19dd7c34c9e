"""Every property of a pod's life can fail.

For each there is a faulty agent, and random lives find the fault.

A fault is a patch of one decision of the agent. The same search as in `test_life_properties` goes over lives of the
faulty agent until the property complains; the sound agent then lives the very same life without complaint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, find, settings

from actors.pod import end as pod_end
from actors.pod import worker as pod_worker
from actors.pod.worker import PodWorker
from actors.pod_rules import actions as pod_actions
from actors.pod_rules import init_actions, lifecycle
from actors.pod_rules.init_actions import INITIALIZED
from actors.pod_rules.lifecycle import Event, KillRequested
from actors.pod_rules.termination import plan_ending
from actors.pod_status import api_status, conditions
from actors.status import published
from tests.simulation.node import life_properties as properties
from tests.simulation.node.random_lives import Life, Plan, plans, play

Fault = Callable[[pytest.MonkeyPatch], None]
Property = Callable[[Life], None]
Bent = Callable[[Plan], Plan]
SEARCH = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def restarts_whatever_the_policy(patch: pytest.MonkeyPatch) -> None:
    """The policy of a container, and its rules, are not asked."""
    patch.setattr(pod_actions, "should_restart", lambda pod, container, last: last is None or not last.running)
    patch.setattr(conditions, "restarts_after_exit", lambda pod, container, exit_code: True)


def ignores_init_order(patch: pytest.MonkeyPatch) -> None:
    """Regular containers begin beside the first init container."""
    patch.setattr(pod_actions, "init_actions", lambda view: INITIALIZED)


def passes_init_containers_that_run(patch: pytest.MonkeyPatch) -> None:
    """An init container that was begun counts as done."""
    patch.setattr(init_actions, "regular", lambda plan, container, here: True)


def forgets_the_phase(patch: pytest.MonkeyPatch) -> None:
    """The phase is computed from what exists now, without memory, and shown like that."""
    patch.setattr(api_status, "TERMINAL", ())
    patch.setattr(published, "TERMINAL", ())


def gives_twice_the_grace(patch: pytest.MonkeyPatch) -> None:
    def plan(pod: Any, observed: Any, override: int | None = None) -> Any:
        return plan_ending(pod, observed, None if override is None else 2 * override)

    patch.setattr(pod_end, "plan_ending", plan)


def keeps_the_first_grace(patch: pytest.MonkeyPatch) -> None:
    """A second order hurries nobody."""
    advance = lifecycle.advance

    def deaf(life: Any, event: Event, now_ns: int) -> Any:
        step = advance(life, event, now_ns)
        if life.grace_seconds is None:
            return step
        return msgspec.structs.replace(step, life=msgspec.structs.replace(step.life, grace_seconds=life.grace_seconds))

    patch.setattr(pod_worker, "advance", deaf)


def forgets_the_deletion(patch: pytest.MonkeyPatch) -> None:
    """The worker does not hear that its pod is to end."""
    meet = PodWorker.meet

    def deaf(self: PodWorker, event: Event) -> None:
        if not isinstance(event, KillRequested):
            meet(self, event)

    patch.setattr(PodWorker, "meet", deaf)


# --- where a fault is likely to show: rare lives are made less rare, and are random otherwise -----------------------


def any_life(plan: Plan) -> Plan:
    return plan


def past_its_deadline(plan: Plan) -> Plan:
    """Its active deadline ends it, and then another agent comes."""
    spec = {**plan.spec, "activeDeadlineSeconds": 6}
    return msgspec.structs.replace(plan, spec=spec, joined=True, operations=(*plan.operations, (20_000, "agent")))


def stubborn(plan: Plan) -> Plan:
    """Its containers do not listen to the stop signal, and nothing else disturbs its end."""
    behaviour = {key: value for key, value in plan.behaviour.items() if not key.startswith("run-for.main")}
    behaviour |= {f"ignore-stop-signal.{each.name}": "true" for each in plan.regular}
    return msgspec.structs.replace(plan, behaviour=behaviour, faults=False, ending_operations=())


def hurried(plan: Plan) -> Plan:
    """The same, with a long grace and a second order that leaves little of it."""
    long = {**plan.spec, "terminationGracePeriodSeconds": 30}
    return msgspec.structs.replace(stubborn(plan), spec=long, grace_s=30, joined=True, again_s=((1, 2),))


FAULTS: tuple[tuple[Fault, Property, Bent], ...] = (
    (forgets_the_phase, properties.the_phase_never_goes_back, past_its_deadline),
    (restarts_whatever_the_policy, properties.what_shall_run_once_runs_once, any_life),
    (ignores_init_order, properties.init_order_holds, any_life),
    (passes_init_containers_that_run, properties.init_order_holds, any_life),
    (gives_twice_the_grace, properties.no_grace_is_exceeded, stubborn),
    (keeps_the_first_grace, properties.no_grace_is_exceeded, hurried),
    (forgets_the_deletion, properties.a_deleted_pod_ends, any_life),
)


@pytest.mark.parametrize(("fault", "complains", "bent"), FAULTS, ids=lambda each: each.__name__)
def test_an_agent_with_a_fault_is_found_out_by_its_property(
    fault: Fault, complains: Property, bent: Bent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_found_out(plan: Plan) -> bool:
        with monkeypatch.context() as patch:
            fault(patch)
            return not holds(complains, plan)

    plan = find(plans().map(bent), is_found_out, settings=SEARCH)
    assert holds(complains, plan), "the sound agent lives the same life"


def holds(complains: Property, plan: Plan) -> bool:
    life = play(plan, seed=1)
    try:
        complains(life)
    except AssertionError:
        return False
    return True


def test_every_property_has_a_fault() -> None:
    assert {complains for _, complains, _ in FAULTS} == set(properties.PROPERTIES)
