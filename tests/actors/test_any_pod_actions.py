"""What to do next to a pod: what holds whatever the picture (spec 3.1 to 3.5)."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.observed import ObservedContainer, ObservedPod
from actors.pod_action_types import InFlight
from tests.actors.pod_decisions import FIRST, SECOND, SIDE, act
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    RUNNING,
    SECOND_NS,
    UNKNOWN,
    picture,
    pod,
    sandbox,
    seen,
)

_STATES = st.sampled_from([CREATED, RUNNING, EXITED, UNKNOWN])


@st.composite
def _containers(draw: st.DrawFn) -> ObservedPod:
    everything: list[ObservedContainer] = []
    for name in draw(st.sets(st.sampled_from(["i", "s", "j", "a", "b"]))):
        for attempt in range(draw(st.integers(1, 2))):
            state = draw(_STATES)
            exit_code = draw(st.sampled_from([0, 0, 1]))
            box = draw(st.integers(0, 1))
            back_off_ns = draw(st.sampled_from([0, 10 * SECOND_NS, 300 * SECOND_NS]))
            everything.append(
                seen(
                    name,
                    state,
                    attempt,
                    exit_code,
                    sandbox_attempt=box,
                    back_off_ns=back_off_ns,
                    ended_ns=NOW_NS - draw(st.integers(0, 400)) * SECOND_NS,
                )
            )
    ready = draw(st.booleans())
    boxes = draw(st.sampled_from([(), (sandbox(0, ready),), (sandbox(1, ready), sandbox(0, False))]))
    return picture(*everything, boxes=boxes)


_POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
_BUSY = st.builds(InFlight, containers=st.frozensets(st.sampled_from(["i", "s", "j", "a", "b"]), max_size=2))


@settings(max_examples=400)  # the rare pictures are those with two of one name alive
@given(_POLICIES, _containers(), _BUSY)
def test_spec_3_2_never_two_of_one_name(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    started = [each.container.name for each in (*actions.start_init, *actions.start)]
    assert len(started) == len(set(started))
    killed = {each.id for each in actions.kill}
    for name in started:
        assert name not in busy.containers
        if not actions.kill_pod:
            assert not [each for each in observed.by_name.get(name, ()) if each.may_run and each.id not in killed]


@given(_POLICIES, _containers(), _BUSY)
def test_spec_3_3_init_order_holds(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    """No container begins before every regular init container has ended well, or the pod was initialized before."""
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    assert not (actions.create_sandbox and actions.start)
    if not actions.start:
        return
    here = [each for each in observed.containers() if each.sandbox_attempt == actions.sandbox_attempt or each.may_run]
    initialized_before = any(each.name in ("a", "b") for each in here)
    last_init_done = any(each.name == "j" and each.exited and not each.failed for each in here)
    assert initialized_before or last_init_done


@given(_containers())
def test_spec_3_2_a_container_of_a_never_pod_is_never_restarted(observed: ObservedPod) -> None:
    actions = act(pod("a", "b", policy="Never"), observed)
    for start in actions.start:
        last = observed.newest(start.container.name)
        assert last is None or not last.exited


@given(_POLICIES, _containers())
def test_what_is_done_is_not_asked_for_again(policy: str, observed: ObservedPod) -> None:
    """With everything asked for now in flight, nothing more of the same names is asked for."""
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    first = act(the_pod, observed)
    names = {each.container.name for each in (*first.start_init, *first.start)} | {each.name for each in first.kill}
    again = act(the_pod, observed, in_flight=InFlight(containers=frozenset(names)))
    more = {each.container.name for each in (*again.start_init, *again.start)} | {each.name for each in again.kill}
    assert not names & more


@given(_POLICIES, _containers())
def test_the_same_picture_gives_the_same_answer(policy: str, observed: ObservedPod) -> None:
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    assert act(the_pod, observed) == act(the_pod, msgspec.structs.replace(observed))
