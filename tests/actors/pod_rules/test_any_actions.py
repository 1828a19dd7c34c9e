"""What to do next to a pod: what holds whatever the picture (spec 3.1 to 3.5)."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.model.observed import ObservedPod
from actors.pod_rules.action_types import InFlight
from actors.pod_rules.actions import PodActions, all_started
from tests.actors.pod_pictures import (
    EXITED,
    RUNNING,
    pod,
    sandbox,
    seen,
)
from tests.actors.pod_rules.any_pictures import pictures
from tests.actors.pod_rules.pod_decisions import FIRST, SECOND, SIDE, act

_POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
_BUSY = st.builds(InFlight, containers=st.frozensets(st.sampled_from(["i", "s", "j", "a", "b"]), max_size=2))


@settings(max_examples=400)  # the rare pictures are those with two of one name alive
@given(_POLICIES, pictures(), _BUSY)
def test_spec_3_2_never_two_of_one_name(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    started = [each.container.name for each in (*actions.start_init, *actions.start)]
    assert len(started) == len(set(started))
    killed = {each.id for each in actions.kill}
    for name in started:
        assert name not in busy.containers
        if not actions.kill_pod:
            assert not [each for each in observed.by_name.get(name, ()) if each.may_run and each.id not in killed]


@given(_POLICIES, pictures(), _BUSY)
# (spec 3.2.10)
def test_spec_3_3_init_order_holds(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    """No container starts before every regular init container has succeeded.

    Or the pod was initialized before.
    """
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    assert not (actions.create_sandbox and actions.start)
    if not actions.start:
        return
    here = [each for each in observed.containers() if each.sandbox_attempt == actions.sandbox_attempt or each.may_run]
    initialized_before = any(each.name in ("a", "b") for each in here)
    last_init_done = any(each.name == "j" and each.exited and not each.failed for each in here)
    assert initialized_before or last_init_done


@given(pictures())
def test_spec_3_2_a_container_of_a_never_pod_is_never_restarted(observed: ObservedPod) -> None:
    actions = act(pod("a", "b", policy="Never"), observed)
    for start in actions.start:
        last = observed.newest(start.container.name)
        assert last is None or not last.exited


@given(_POLICIES, pictures())
def test_actions_in_flight_are_not_decided_again(policy: str, observed: ObservedPod) -> None:
    """While all decided actions are in flight, none is decided for the same names."""
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    first = act(the_pod, observed)
    names = {each.container.name for each in (*first.start_init, *first.start)} | {each.name for each in first.kill}
    again = act(the_pod, observed, in_flight=InFlight(containers=frozenset(names)))
    more = {each.container.name for each in (*again.start_init, *again.start)} | {each.name for each in again.kill}
    assert not names & more


@given(_POLICIES, pictures())
def test_the_same_picture_gives_the_same_answer(policy: str, observed: ObservedPod) -> None:
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    assert act(the_pod, observed) == act(the_pod, msgspec.structs.replace(observed))


def _after(observed: ObservedPod, actions: PodActions, states: dict[str, bool], ip: str) -> ObservedPod:
    """The next look at the pod: the sandbox is made, and each start ran or has ended."""
    boxes = observed.sandboxes
    if actions.create_sandbox:
        over = (msgspec.structs.replace(each, ready=False) for each in boxes)
        boxes = (sandbox(actions.sandbox_attempt, ip=ip), *over)
    by_name = dict(observed.by_name)
    for start in actions.start:
        name = start.container.name
        attempt = 7 if start.attempt is None else start.attempt
        state = RUNNING if states[name] else EXITED
        new = seen(name, state, attempt, id=f"new-{name}", sandbox_attempt=actions.sandbox_attempt)
        by_name[name] = (new, *by_name.get(name, ()))
    return msgspec.structs.replace(observed, sandboxes=boxes, by_name=by_name)


@settings(max_examples=400)  # the pictures that ask for both are not many
@given(_POLICIES, pictures(), st.booleans(), st.booleans(), st.sampled_from(["10.0.0.7", ""]))
def test_a_pod_with_all_containers_running_needs_no_action(
    policy: str, observed: ObservedPod, a_runs: bool, b_runs: bool, ip: str
) -> None:
    the_pod = pod("a", "b", policy=policy)
    actions = act(the_pod, observed)
    after = _after(observed, actions, {"a": a_runs, "b": b_runs}, ip)
    if all_started(the_pod, after, actions):
        assert act(the_pod, after).idle
    begun = {each.container.name for each in actions.start}
    fails = not (a_runs and b_runs) or begun != {"a", "b"} or bool(actions.kill) or actions.kill_pod
    assert not (fails and all_started(the_pod, after, actions))


def test_all_is_started_in_a_sandbox_with_an_address_only() -> None:
    the_pod, nothing = pod("a", "b"), ObservedPod("uid-1")
    actions = act(the_pod, nothing)
    runs = {"a": True, "b": True}
    assert all_started(the_pod, _after(nothing, actions, runs, "10.0.0.7"), actions)
    assert not all_started(the_pod, _after(nothing, actions, runs, ""), actions)
    assert not all_started(the_pod, _after(nothing, actions, {"a": True, "b": False}, "10.0.0.7"), actions)
