"""A failure: what was played, which rule was broken, and where.

Found again in other scenarios, it can be shrunk.

A smaller scenario fails alike when it violates the same invariant. How and where may differ, and so may the seed, since
other pods draw other random numbers. First all is tried with the seed at hand, then with a few more. However many
candidates there are, the search takes at most as many turns of actors as `COSTS_AT_MOST` runs like the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from simulation.play.play import Play
from simulation.play.promises import promises_first, promises_of
from simulation.play.saved_run import FORMAT, FoundIn, SavedRun, Violated
from simulation.play.shrink import shrink
from simulation.scenarios.scenario import Scenario
from simulation.world.trace import Moment
from simulation.world.world import RefusedError

SECOND_NS = 10**9
COSTS_AT_MOST = 40
RUN_COSTS_AT_MOST = 2
"""Limit for one candidate: a smaller scenario that takes longer is not useful."""

SEEDS_TRIED = (1, 6)
"""Seeds tried for each candidate: in the first search, and in the second.

The second begins with the result of the first.
"""


class Failure(msgspec.Struct, frozen=True):
    scenario: Scenario
    seed: int
    violated: Violated
    moment: Moment


class Again(Protocol):
    """How a scenario is played in search of a violation; see `failure_alike`."""

    def __call__(
        self, scenario: Scenario, seed: int, invariant: str, *, go_on: Callable[[int], bool]
    ) -> Failure | None: ...


def failures_of(play: Play) -> tuple[Failure, ...]:
    """The first failure of each rule so far.

    Promises of the scenario come first, then the order is that of time.
    """
    broken = (violation.invariant for violation in play.world.chronicle.violations)
    return tuple(_failure_of(play, rule) for rule in promises_first(broken, promises_of(play.scenario)))


def failure_alike(
    scenario: Scenario, seed: int, invariant: str, *, go_on: Callable[[int], bool] = lambda _: True
) -> Failure | None:
    """Play until the invariant is violated; None when it never is.

    `go_on` is asked every virtual second, with the turns taken so far, whether to play on.
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
    failure: Failure,
    cost: int,
    *,
    stop: Callable[[], bool],
    told: Callable[[int], object],
    again: Again = failure_alike,
) -> tuple[Failure, int]:
    """The smallest failure of the same kind that was found, and the number of runs.

    `cost`: turns of the run that failed. `stop`: whether to end the search; `told`: gets the number of runs before
    each run; `again`: makes a run.
    """
    search = _Search(failure, cost, stop, told, again)
    for seeds in SEEDS_TRIED:
        search.seeds = tuple(failure.seed + number for number in range(seeds))
        shrink(search.best.scenario, search.fails)
    return search.best, search.runs


class _Search:
    """The result of the search, and its cost."""

    def __init__(
        self, failure: Failure, cost: int, stop: Callable[[], bool], told: Callable[[int], object], again: Again
    ) -> None:
        self.best = failure
        self.runs = 0
        self.seeds: tuple[int, ...] = ()
        self._invariant = failure.violated.invariant
        self._left = COSTS_AT_MOST * cost
        self._run_at_most = RUN_COSTS_AT_MOST * cost
        self._stop = stop
        self._told = told
        self._again = again

    def fails(self, scenario: Scenario) -> bool:
        """Whether one of the seeds does it."""
        for seed in self.seeds:
            if self._stop() or self._left <= 0:
                return False
            self.runs += 1
            self._told(self.runs)
            found = self._run(scenario, seed)
            if found is not None:
                self.best = found
                return True
        return False

    def _run(self, scenario: Scenario, seed: int) -> Failure | None:
        taken = 0

        def go_on(steps: int) -> bool:
            nonlocal taken
            taken = steps
            return steps <= self._run_at_most and not self._stop()

        found = self._again(scenario, seed, self._invariant, go_on=go_on)
        self._left -= taken
        return found


def saved(failure: Failure, *, actorlet: str, found_in: FoundIn) -> SavedRun:
    """The failure as it is written to a file."""
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
