"""How containers are ended: grace and order (spec 3.10)."""

from __future__ import annotations

import msgspec
import pytest

from actors.model.observed import ObservedContainer, ObservedSandbox
from actors.pod_rules.termination import (
    Ending,
    GraceCause,
    grace_seconds,
    left_of,
    may_stop,
    overdue_after_ns,
    plan_ending,
    plan_orphan_ending,
    pre_stop_deadline_ns,
    remaining_seconds,
    sandboxes_to_stop,
)
from config.objects import ExecAction, Lifecycle, LifecycleHandler, Pod, Probe
from runtime.cri.identity import PRE_STOP_HANDLER, TERMINATION_GRACE_PERIOD
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    SECOND_NS,
    UNKNOWN,
    container,
    picture,
    pod,
    sandbox,
    seen,
    sidecar,
)

HOOK = LifecycleHandler(exec=ExecAction(command=("drain",)))
PROBED = container(
    "a",
    liveness_probe=Probe(termination_grace_period_seconds=3),
    startup_probe=Probe(termination_grace_period_seconds=4),
)
DELETED = {"deletion_grace_period_seconds": 9}


@pytest.mark.parametrize(
    ("the_pod", "cause", "override", "expected"),
    [
        # (spec 3.10.4)
        pytest.param(pod(PROBED), GraceCause.OTHER, None, 2, id="nothing said: the minimum"),
        # (spec 3.10.2)
        pytest.param(pod(PROBED, termination_grace_period_seconds=30), GraceCause.OTHER, None, 30, id="the spec's"),
        # (spec 3.10.3)
        pytest.param(pod(PROBED, termination_grace_period_seconds=30), GraceCause.LIVENESS, None, 3, id="the probe's"),
        # (spec 3.10.3)
        pytest.param(
            pod(PROBED, termination_grace_period_seconds=30), GraceCause.STARTUP, None, 4, id="startup probe's"
        ),
        pytest.param(pod(PROBED, meta=DELETED), GraceCause.LIVENESS, None, 9, id="a deletion's beats the probe's"),
        # (spec 3.10.6)
        pytest.param(pod(PROBED, meta=DELETED), GraceCause.OTHER, 0, 0, id="an override beats all"),
    ],
)
def test_spec_3_10_grace(the_pod: Pod, cause: GraceCause, override: int | None, expected: int) -> None:
    assert grace_seconds(the_pod, PROBED, cause, override) == expected


@pytest.mark.parametrize(("elapsed_s", "left"), [(0, 30), (0.9, 30), (10, 20), (29, 2), (100, 2)])
# (spec 3.10.9)
def test_spec_3_10_only_whole_seconds_are_taken_off_down_to_a_floor(elapsed_s: float, left: int) -> None:
    assert remaining_seconds(30, int(elapsed_s * SECOND_NS)) == left


# (spec 3.10.8)
def test_spec_3_10_a_hook_has_what_is_left_of_the_grace() -> None:
    assert pre_stop_deadline_ns(5, 2 * SECOND_NS) == 3 * SECOND_NS
    assert pre_stop_deadline_ns(5, 9 * SECOND_NS) == 0


# (spec 3.10.11)
def test_spec_3_10_without_sidecars_all_are_stopped_at_once() -> None:
    plan = plan_ending(
        pod("a", "b", "c", "d"), picture(seen("a"), seen("b", EXITED), seen("c", UNKNOWN), seen("d", CREATED))
    )
    assert [(each.name, each.after) for each in plan] == [("a", ()), ("c", ())]


# (spec 3.10.12)
def test_spec_3_10_sidecars_wait_for_all_regular_ones_and_for_those_started_after_them() -> None:
    the_pod = pod("a", "b", init=(sidecar("s"), container("i"), sidecar("t")))
    plan = plan_ending(the_pod, picture(seen("a"), seen("b"), seen("s"), seen("t"), seen("i")))
    assert {each.name: each.after for each in plan} == {"a": (), "b": (), "i": (), "t": ("a", "b"), "s": ("t",)}
    assert [each.name for each in plan][-2:] == ["t", "s"]
    assert stopped_first(the_pod, "a", "b", "s", "t", "i") == ["a", "b", "i"]
    assert stopped_first(the_pod, "s", "t") == ["t"]
    assert stopped_first(the_pod, "b", "s") == ["b"]
    assert stopped_first(the_pod, "s") == ["s"]


def stopped_first(the_pod: Pod, *running: str) -> list[str]:
    plan = plan_ending(the_pod, picture(*(seen(name) for name in running)))
    return [each.name for each in plan if may_stop(each, running, 0)]


# (spec 3.10.12)
def test_spec_3_10_a_sidecar_waits_only_for_what_still_runs() -> None:
    plan = plan_ending(pod("a", init=(sidecar("s"),)), picture(seen("a", EXITED), seen("s")))
    assert [(each.name, each.after) for each in plan] == [("s", ())]


# (spec 3.10.13)
def test_spec_3_10_a_sidecar_goes_when_its_grace_is_used_up() -> None:
    ending = Ending("x", "s", 10, after=("a",))
    assert not may_stop(ending, ["a", "s"], 9 * SECOND_NS)
    assert may_stop(ending, ["s"], 0)
    assert may_stop(ending, ["a", "s"], 10 * SECOND_NS)


# (spec 3.10.7)
def test_spec_3_10_the_pre_stop_hook_runs_unless_there_is_no_grace() -> None:
    hooked = pod(container("a", lifecycle=Lifecycle(pre_stop=HOOK)))
    assert plan_ending(hooked, picture(seen("a")), 5)[0].pre_stop == HOOK
    assert plan_ending(hooked, picture(seen("a")), 0)[0].pre_stop is None


def test_a_container_the_spec_does_not_name_is_ended_too() -> None:
    assert [each.name for each in plan_ending(pod("a"), picture(seen("stranger")))] == ["stranger"]


# (spec 3.10.17)
def test_spec_3_10_an_orphan_is_ended_by_what_it_carries() -> None:
    notes = {TERMINATION_GRACE_PERIOD: "12", PRE_STOP_HANDLER: msgspec.json.encode(HOOK).decode()}
    [ending] = plan_orphan_ending(picture(seen("a", notes=notes)))
    assert (ending.grace_seconds, ending.pre_stop) == (12, HOOK)
    [ending] = plan_orphan_ending(picture(seen("a", notes=notes)), 1)
    assert ending.grace_seconds == 1


@pytest.mark.parametrize("notes", [{}, {TERMINATION_GRACE_PERIOD: "soon", PRE_STOP_HANDLER: "{"}])
# (spec 2.8.4, 3.10.17)
def test_spec_3_10_an_orphan_that_carries_nothing_sensible_gets_the_minimum(notes: dict[str, str]) -> None:
    [ending] = plan_orphan_ending(picture(seen("a", notes=notes)))
    assert (ending.grace_seconds, ending.pre_stop) == (2, None)


# (spec 3.10.15)
def test_spec_3_10_every_sandbox_is_stopped_ready_or_not() -> None:
    assert sandboxes_to_stop(picture(boxes=(sandbox(1), sandbox(0, ready=False)))) == ("box-1", "box-0")


@pytest.mark.parametrize(
    ("the_pod", "cause", "expected"),
    [
        # (spec 3.10.2)
        pytest.param(
            pod(PROBED, termination_grace_period_seconds=0), GraceCause.OTHER, 0, id="3.10: a grace of 0 is one"
        ),
        # (spec 3.10.3)
        pytest.param(
            pod(PROBED, termination_grace_period_seconds=30), GraceCause.POD_ENDS, 30, id="3.10: not the probe's"
        ),
        # (spec 3.10.3)
        pytest.param(
            pod("a", termination_grace_period_seconds=30), GraceCause.LIVENESS, 30, id="3.10: a probe that names none"
        ),
        # (spec 3.10.1)
        pytest.param(
            pod(PROBED, meta={"deletion_grace_period_seconds": 0}), GraceCause.OTHER, 0, id="3.10: deleted now"
        ),
        # (spec 3.10.1)
        pytest.param(
            pod(PROBED, meta=DELETED, termination_grace_period_seconds=30), GraceCause.OTHER, 9, id="3.10: a deletion's"
        ),
    ],
)
def test_spec_3_10_which_grace_counts(the_pod: Pod, cause: GraceCause, expected: int) -> None:
    container_ = next(each for each in the_pod.spec.containers)
    assert grace_seconds(the_pod, container_, cause) == expected


@pytest.mark.parametrize(
    ("grace_s", "elapsed_s", "hook_s", "stop_s"),
    [
        # (spec 3.10.8)
        pytest.param(30, 0, 30, 30, id="3.10: the hook has all of it"),
        # (spec 3.10.9)
        pytest.param(30, 12, 18, 18, id="3.10: what was spent is taken off both"),
        # (spec 3.10.14)
        pytest.param(30, 29, 1, 2, id="3.10: the stop has 2 s at least"),
        # (spec 3.10.8)
        pytest.param(30, 40, 0, 2, id="3.10: no hook once the grace is over"),
        # (spec 3.10.14)
        pytest.param(1, 0, 1, 2, id="3.10: a grace of 1 s is 2 s for the container"),
        pytest.param(0, 0, 0, 2, id="3.10: no hook without a grace"),
    ],
)
def test_spec_3_10_hook_and_stop_share_one_grace(grace_s: int, elapsed_s: int, hook_s: int, stop_s: int) -> None:
    assert pre_stop_deadline_ns(grace_s, elapsed_s * SECOND_NS) == hook_s * SECOND_NS
    assert remaining_seconds(grace_s, elapsed_s * SECOND_NS) == stop_s


def test_spec_3_10_a_container_has_the_hook_of_its_own_definition_only() -> None:
    hooked = container("a", lifecycle=Lifecycle(pre_stop=HOOK))
    plan = plan_ending(pod(hooked, "b", init=(sidecar("s"),)), picture(seen("a"), seen("b"), seen("s")), 5)
    assert {each.name: each.pre_stop for each in plan} == {"a": HOOK, "b": None, "s": None}


@pytest.mark.parametrize(("grace_s", "overdue_s"), [(0, 10), (1, 10), (6, 10), (8, 12), (30, 45)])
# (spec 2.6.28)
def test_spec_2_6_an_end_takes_too_long_after_half_as_much_again_and_10_s_at_least(
    grace_s: int, overdue_s: int
) -> None:
    assert overdue_after_ns(grace_s) == overdue_s * SECOND_NS


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (Ending("x", "a", 5), "Stopping container a"),
        (Ending("x", "a", 5, why="Container a failed liveness probe"), "Container a failed liveness probe"),
    ],
)
# (spec 3.10.5)
def test_spec_3_10_words_of_the_killing(ending: Ending, message: str) -> None:
    assert ending.message == message


OVER = sandbox(ready=False)
GONE_WITH_IT = seen("a", EXITED, sandbox_attempt=0)


@pytest.mark.parametrize(
    ("containers", "boxes", "left"),
    [
        pytest.param((), (), [], id="nothing"),
        pytest.param((GONE_WITH_IT,), (OVER,), ["a-0"], id="a container in its sandbox"),
        pytest.param((seen("a", CREATED, sandbox_attempt=0),), (OVER,), ["a-0"], id="one that was never started"),
        pytest.param((GONE_WITH_IT,), (sandbox(1, ready=False), OVER), ["a-0"], id="two sandboxes"),
        pytest.param((GONE_WITH_IT,), (sandbox(),), None, id="the sandbox is up"),
        pytest.param((GONE_WITH_IT,), (OVER, OVER), None, id="two sandboxes of one attempt"),
        pytest.param((seen("a", sandbox_attempt=0),), (OVER,), None, id="it runs"),
        pytest.param((seen("a", UNKNOWN, sandbox_attempt=0),), (OVER,), None, id="it may run"),
        pytest.param((seen("a", EXITED, sandbox_attempt=1),), (OVER,), None, id="its sandbox has gone before it"),
        pytest.param((seen("a", EXITED),), (), None, id="nobody knows its sandbox"),
    ],
)
def test_the_remains_of_a_pod_are_its_sandboxes_and_their_containers(
    containers: tuple[ObservedContainer, ...], boxes: tuple[ObservedSandbox, ...], left: list[str] | None
) -> None:
    found = left_of(picture(*containers, boxes=boxes))
    assert (None if found is None else [each.id for each in found]) == left
