"""Shrinking: finds the scenario with the fewest pods and faults that still fails in the same way.

It is a search over scenario values; the caller decides what counts as failing. The order is: pods (whole mixes, then
their number), nodes, faults (whole ones, then chances and durations), behaviour of containers, time. Rounds repeat
until one finds nothing. The number of runs is bounded, and no candidate is tried twice. The same scenario and answers
give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from simulation.cri.behaviour_values import duration_ns
from simulation.play.minimize import minimize, smallest
from simulation.scenarios.faults import AnyFault
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import Scenario, ScenarioError, check_scenario

MS = 10**6
RUNS_AT_MOST = 200
_DURATIONS_OF_FAULTS = ("at", "lasts")
_STRETCHES_OF_FAULTS = ("away", "lasts", "delay", "by", "pauses")
_AMOUNTS_OF_FAULTS = ("leaves",)
"""Pairs of bounds: neither can be removed, and it is not known which is simpler."""


class Shrunk(msgspec.Struct, frozen=True):
    """`runs`: how many candidates were tried."""

    scenario: Scenario
    runs: int


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool], *, runs_at_most: int = RUNS_AT_MOST) -> Shrunk:
    """The smallest scenario found for which `fails` is true.

    It is true for `scenario`, which is not tried again.
    """
    search = _Search(scenario, fails, runs_at_most)
    while True:
        before = search.best
        for part in (_fewer_pods, _fewer_nodes, _fewer_faults, _simpler_faults, _simpler_pods, _less_time):
            part(search)
        if search.best == before or search.spent:
            return Shrunk(search.best, search.runs)


class _Search:
    """The smallest scenario so far, and who is asked."""

    def __init__(self, scenario: Scenario, fails: Callable[[Scenario], bool], runs_at_most: int) -> None:
        self.best = scenario
        self.runs = 0
        self._fails = fails
        self._runs_at_most = runs_at_most
        self._answers: dict[bytes, bool] = {}

    @property
    def spent(self) -> bool:
        return self.runs >= self._runs_at_most

    def take(self, **changes: Any) -> bool:
        """Whether the best with these changes still fails; then it is the best."""
        candidate = replace(self.best, **changes)
        key = msgspec.json.encode(candidate)
        if candidate == self.best:
            return True
        if key not in self._answers:
            if self.spent:
                return False
            try:
                check_scenario(candidate)
            except ScenarioError:
                self._answers[key] = False
                return False
            self.runs += 1
            self._answers[key] = self._fails(candidate)
        if self._answers[key]:
            self.best = candidate
        return self._answers[key]

    def take_mix(self, number: int, mix: PodMix) -> bool:
        pods = self.best.pods
        return self.take(pods=(*pods[:number], mix, *pods[number + 1 :]))

    def take_fault(self, number: int, fault: AnyFault) -> bool:
        faults = self.best.faults
        return self.take(faults=(*faults[:number], fault, *faults[number + 1 :]))


# --- pods and nodes ---------------------------------------------------------------------------------------------------


def _fewer_pods(search: _Search) -> None:
    there = tuple(mix for mix in search.best.pods if mix.count)
    minimize(there, lambda pods: bool(pods) and search.take(pods=pods))
    for number in range(len(search.best.pods)):
        _smaller_mix(search, number)


def _smaller_mix(search: _Search, number: int) -> None:
    mix = search.best.pods[number]
    smallest(mix.count, 1, lambda count: search.take_mix(number, replace(mix, count=count)))


def _fewer_nodes(search: _Search) -> None:
    smallest(search.best.nodes, 1, lambda nodes: search.take(nodes=nodes))


def _simpler_pods(search: _Search) -> None:
    for number in range(len(search.best.pods)):
        while any(search.take_mix(number, simpler) for simpler in _simpler_mixes(search.best.pods[number])):
            pass


def _simpler_mixes(mix: PodMix) -> Iterator[PodMix]:
    """Mixes with one thing less. Their demands on pods stay: these may be what fails."""
    for number in range(1, len(mix.containers)):
        yield replace(mix, containers=mix.containers[:number] + mix.containers[number + 1 :])
    for name in ("replaced", "disk_hangs"):
        if getattr(mix, name):
            yield replace(mix, **{name: False})
    if mix.together > 1:
        yield replace(mix, together=1)
    for knob in mix.behaviour:
        yield replace(mix, behaviour=_without(mix.behaviour, knob))
    for number, container in enumerate(mix.containers):
        for simpler in _simpler_containers(container):
            yield replace(mix, containers=(*mix.containers[:number], simpler, *mix.containers[number + 1 :]))


def _simpler_containers(container: ContainerMix) -> Iterator[ContainerMix]:
    plain = ContainerMix()
    for name in ("runs_for", "exit_code", "start_delay", "readiness_every", "liveness_every"):
        if getattr(container, name) != getattr(plain, name):
            yield replace(container, **{name: getattr(plain, name)})
    for knob in container.behaviour:
        yield replace(container, behaviour=_without(container.behaviour, knob))


def _without(knobs: Mapping[str, str], knob: str) -> dict[str, str]:
    return {name: text for name, text in knobs.items() if name != knob}


# --- faults -----------------------------------------------------------------------------------------------------------


def _fewer_faults(search: _Search) -> None:
    """Leave out faults.

    Without the last of them fewer calls are late (`play.LATE_CALLS`), as in any scenario without faults. The result
    violates the same invariant and is the one that is replayed.
    """
    minimize(search.best.faults, lambda faults: search.take(faults=faults))


def _simpler_faults(search: _Search) -> None:
    for number in range(len(search.best.faults)):
        for name in search.best.faults[number].__struct_fields__:
            _simpler_fault(search, number, name)


def _simpler_fault(search: _Search, number: int, name: str) -> None:
    """A fault with one simpler field: a chance of none, a smaller number, a shorter duration."""
    fault = search.best.faults[number]
    value = getattr(fault, name)

    def take(simpler: object) -> bool:
        return search.take_fault(number, replace(fault, **{name: simpler}))

    if isinstance(value, bool):
        take(False)
    elif isinstance(value, float):
        take(0.0)
    elif isinstance(value, int):
        smallest(value, 1, take)
    elif name in _DURATIONS_OF_FAULTS and isinstance(value, str):
        _shorter(value, take)
    elif name in _STRETCHES_OF_FAULTS:
        _narrower(value, take)
    elif isinstance(value, tuple) and name not in _AMOUNTS_OF_FAULTS:
        minimize(value, take)


# --- time -------------------------------------------------------------------------------------------------------------


def _less_time(search: _Search) -> None:
    for number in range(len(search.best.pods)):
        for name in ("arrives", "lives"):
            _shorter_mix(search, number, name)
    if search.best.lasts is not None:
        _shorter(search.best.lasts, lambda lasts: search.take(lasts=lasts))


def _shorter_mix(search: _Search, number: int, name: str) -> None:
    mix = search.best.pods[number]
    stretch = getattr(mix, name)
    if stretch is not None:
        _narrower(stretch, lambda narrower: search.take_mix(number, replace(mix, **{name: narrower})))


def _narrower(stretch: tuple[str, str], take: Callable[[tuple[str, str]], bool]) -> None:
    """Narrow a stretch to one time that is early, or else to a shorter stretch."""
    first, last = stretch
    if take((first, first)):
        _shorter(first, lambda text: take((text, text)))
    else:
        _shorter(last, lambda text: duration_ns(text) > duration_ns(first) and take((first, text)))


def _shorter(text: str, take: Callable[[str], bool]) -> None:
    """Half of it, for as long as that does; whole milliseconds."""
    if take("0s"):
        return
    left = duration_ns(text) // MS // 2
    while left and take(_words(left)):
        left //= 2


def _words(ms: int) -> str:
    return f"{ms // 1000}s" if ms % 1000 == 0 else f"{ms}ms"
