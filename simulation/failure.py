"""A failure: what was played, which rule was broken, and where. Found again in other scenarios, it can be shrunk.

A smaller scenario fails alike when the same invariant is violated with the same seed; how and where may differ. Looking
for one costs at most as many turns of actors as `COSTS_AT_MOST` runs like the first, however many candidates there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulation.play import Play
from simulation.saved_run import FORMAT, FoundIn, SavedRun, Violated
from simulation.scenario import Scenario
from simulation.shrink import shrink
from simulation.trace import Moment
from simulation.world import RefusedError

SECOND_NS = 10**9
COSTS_AT_MOST = 20
RUN_COSTS_AT_MOST = 2
"""Of one candidate: a scenario that is smaller and takes longer is not what is looked for."""


@dataclass(frozen=True, slots=True)
class Failure:
    """See the module."""

    scenario: Scenario
    seed: int
    violated: Violated
    moment: Moment


def first_failure(play: Play) -> Failure | None:
    """What went wrong first in what was played so far."""
    for violation in play.world.chronicle.violations:
        return _failure_of(play, violation.invariant)
    return None


def failure_alike(
    scenario: Scenario, seed: int, invariant: str, *, go_on: Callable[[int], bool] = lambda _: True
) -> Failure | None:
    """Play until the invariant is violated; None when it never is. `go_on` is asked every virtual second, with the
    turns taken so far, whether to play on.
    """
    try:
        play = Play(scenario, seed)
        while not play.done and invariant not in play.world.broken_at and go_on(play.world.dispatcher.steps):
            play.advance(SECOND_NS)
    except RefusedError:  # it is no scenario for this API server
        return None
    return _failure_of(play, invariant) if invariant in play.world.broken_at else None


def _failure_of(play: Play, invariant: str) -> Failure:
    violation = next(each for each in play.world.chronicle.violations if each.invariant == invariant)
    violated = Violated(invariant=invariant, what=violation.what, at_ns=violation.at_ns)
    return Failure(play.scenario, play.seed, violated, play.world.broken_at[invariant])


def shrunk_failure(
    failure: Failure, cost: int, *, stop: Callable[[], bool], told: Callable[[int], object]
) -> tuple[Failure, int]:
    """The smallest that fails alike, and how many scenarios were tried. `cost`: turns of the run that failed.
    `stop`: whether to be content with what was found; `told`: of each candidate, how many there were.
    """
    best, spent, tried = failure, 0, 0

    def fails(scenario: Scenario) -> bool:
        nonlocal best, spent, tried
        if stop() or spent >= COSTS_AT_MOST * cost:
            return False
        tried += 1
        told(tried)
        taken = 0

        def go_on(steps: int) -> bool:
            nonlocal taken
            taken = steps
            return steps <= RUN_COSTS_AT_MOST * cost and not stop()

        found = failure_alike(scenario, failure.seed, failure.violated.invariant, go_on=go_on)
        spent += taken
        if found is not None:
            best = found
        return found is not None

    shrink(failure.scenario, fails)
    return best, tried


def saved(failure: Failure, *, actorlet: str, found_in: FoundIn) -> SavedRun:
    """As it is written to a file."""
    return SavedRun(
        format=FORMAT,
        violated=failure.violated,
        seed=failure.seed,
        step=failure.moment.step,
        trace_hash=failure.moment.trace_hash,
        actorlet=actorlet,
        found_in=found_in,
        scenario=failure.scenario,
    )
