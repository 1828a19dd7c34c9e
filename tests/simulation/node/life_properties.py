"""What must hold of every pod's life, whatever it is made of and whatever happens to it.

See spec 2.6, 3.2 to 3.4, 3.10 and 4.1.

Each is a function of a `Life` that raises AssertionError. `test_life_properties` tries them on random lives, and on
agents with a fault of which exactly this property must complain.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tests.simulation.node.random_lives import AWAY_S, RESTART_CODE, Life, name_of
from tests.simulation.node.worlds import SECOND

ALLOWED = {
    "Pending": {"Running", "Succeeded", "Failed"},
    "Running": {"Pending", "Succeeded", "Failed"},
    "Succeeded": set[str](),
    "Failed": set[str](),
}
"""Running goes back to Pending only with a sandbox, or containers, made anew.

No end goes back to anything.
"""
STOP_FLOOR_S = 2
NOTICE_S = 3.5
"""Until a removed manifest is noticed, and until what the runtime did is."""
LOOK_AGAIN_S = 17
"""After a call that failed: the back-off of a pass, or of a stop."""


def the_phase_never_goes_back(life: Life) -> None:
    """A static pod is exempt if its containers were removed and its agent killed: nobody knows its phase."""
    plan = life.plan
    if not plan.joined and plan.what_happens >= {"agent", "lose"}:
        return
    for before, after in pairwise(life.phases):
        assert after in ALLOWED[before], life.phases
    made_anew = plan.restarts_all or plan.what_happens & {"sandbox", "agent", "lose"} or plan.faults
    if not made_anew and not plan.inits:
        assert ("Running", "Pending") not in list(pairwise(life.phases)), life.phases


def what_shall_run_once_runs_once(life: Life) -> None:
    """A container with the policy Never starts again only after an end that one of its rules matches.

    A container that somebody else removed counts as never run (spec 3.4: no status, so it is started).
    """
    plan = life.plan
    if plan.restarts_all:
        return
    for member in (*plan.inits, *plan.regular):
        if member.policy != "Never" or member.sidecar:
            continue
        for before, _ in pairwise(life.of(member.name)):
            excused = before.id in life.lost or (member.rule and before.exit_code == RESTART_CODE)
            assert excused, f"{member.name} began again after {before.exit_code}"


def init_order_holds(life: Life) -> None:
    """Within one sandbox nothing starts before the init containers ahead of it are done.

    Sidecars are done when they run.
    """
    plan, made = life.plan, life.world.made.values()
    for sandbox in {each.sandbox.id for each in made}:
        here = [each for each in made if each.sandbox.id == sandbox and each.started_at]
        names = (*(each.name for each in plan.inits), *(each.name for each in plan.regular))
        firsts = {name: min((e.started_at for e in here if name_of(e) == name), default=0) for name in names}
        for index, member in enumerate(plan.inits):
            later = [*plan.inits[index + 1 :], *plan.regular]
            begun = [firsts[each.name] for each in later if firsts[each.name]]
            if not begun:
                continue
            assert firsts[member.name], f"{member.name} was passed over"
            if member.sidecar:
                assert firsts[member.name] <= min(begun), f"{member.name} came late"
                continue
            good = [e.finished_at for e in here if name_of(e) == member.name and e.finished_at and e.exit_code == 0]
            assert good, f"{member.name} had not ended well"
            assert min(good) <= min(begun), f"{member.name} had not ended"


def no_grace_is_exceeded(life: Life) -> None:
    """By more than the runtime's own stop.

    Each order gives its own time from when it came; the shortest counts.

    An agent that is started meanwhile gives the whole once more; calls that fail are tried again.
    """
    plan = life.plan
    assert life.orders, "its end was asked for"
    due_ns = min(at_ns + grace_s * SECOND for at_ns, grace_s in life.orders)
    least_s = min(grace_s for _, grace_s in life.orders)
    due_ns = max([due_ns, *(at_ns + least_s * SECOND for at_ns in life.agents)])
    slack_s = STOP_FLOOR_S + NOTICE_S
    if plan.faults and plan.faults_to_the_end:
        slack_s += 3 * LOOK_AGAIN_S
    if "away" in {operation for _, operation in plan.ending_operations}:
        slack_s += 2 * (AWAY_S + LOOK_AGAIN_S)
    over_s = (life.ended_at - due_ns) / SECOND
    assert over_s <= slack_s, f"{over_s} s over, {slack_s} s allowed"


def a_deleted_pod_ends(life: Life) -> None:
    """Nothing of it runs, nothing is left at the runtime, and nobody shows it any more."""
    world = life.world
    assert life.is_gone, f"{world.running()}, {world.phases()}, {len(world.cri.state.containers)} containers left"


PROPERTIES: tuple[Callable[[Life], None], ...] = (
    the_phase_never_goes_back,
    what_shall_run_once_runs_once,
    init_order_holds,
    no_grace_is_exceeded,
    a_deleted_pod_ends,
)
