"""The pressure state from sample to sample.

It has the thresholds that are met, grace periods, and lasting conditions (spec 7.2).

Pure: the state before and the current signals give the next state. A node condition stays for the transition period
after its threshold was last met, so that it does not flap. A threshold evicts a pod only when it was met for its whole
grace, and when its signal was read anew since the last sample: one observation, one decision.

Lasting conditions survive a restart of the agent, in wall time (`seen_by_the_clock`, `recalled`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from actors.eviction.signals import SignalReading
from actors.eviction.thresholds import CONDITIONS, Threshold, is_met

_NO_TIMES: Mapping[Threshold, int] = {}
_NO_CONDITIONS: Mapping[str, int] = {}
_NO_READINGS: Mapping[str, SignalReading] = {}
WRITES_IN_A_PERIOD = 5
"""How often a lasting condition is saved again, in each transition period."""


class PressureState(msgspec.Struct, frozen=True):
    """The state between two samples. Times are monotonic; readings carry wall times of their own.

    `due`: thresholds that have passed their grace. `first_met_ns`: since when a threshold is met without a break.
    `conditions_ns`: when each condition was last seen, for as long as it stays.
    """

    due: tuple[Threshold, ...] = ()
    first_met_ns: Mapping[Threshold, int] = _NO_TIMES
    conditions_ns: Mapping[str, int] = _NO_CONDITIONS
    readings: Mapping[str, SignalReading] = _NO_READINGS

    @property
    def conditions(self) -> frozenset[str]:
        """Names of the node conditions that are true now."""
        return frozenset(self.conditions_ns)


class Observed(msgspec.Struct, frozen=True):
    """`decisive`: thresholds that a pod has to go for now, the most urgent first."""

    state: PressureState
    decisive: tuple[Threshold, ...]


def observe(
    before: PressureState,
    thresholds: Sequence[Threshold],
    readings: Mapping[str, SignalReading],
    now_ns: int,
    transition_ns: int,
) -> Observed:
    """The state after these readings. A signal without a reading meets no threshold."""
    met = [each for each in thresholds if _is_met(each, readings, before)]
    first_met_ns = {each: before.first_met_ns.get(each, now_ns) for each in met}
    conditions_ns = {name: at_ns for name, at_ns in before.conditions_ns.items() if now_ns - at_ns < transition_ns} | {
        each.condition: now_ns for each in met
    }
    due = tuple(each for each in met if now_ns - first_met_ns[each] >= (each.grace_ns or 0))
    fresh = [each for each in due if _is_another(each.signal, readings, before.readings)]
    after = PressureState(due, first_met_ns, conditions_ns, readings)
    # Memory first: its shortage acts at once. Then the order of the thresholds.
    return Observed(after, tuple(sorted(fresh, key=lambda each: each.resource != "memory")))


def _is_met(threshold: Threshold, readings: Mapping[str, SignalReading], before: PressureState) -> bool:
    reading = readings.get(threshold.signal)
    return reading is not None and is_met(threshold, reading, with_reclaim=threshold in before.due)


def _is_another(signal: str, readings: Mapping[str, SignalReading], before: Mapping[str, SignalReading]) -> bool:
    """Whether it was read anew.

    This does not ask for a later time: a clock set back would then stop all evictions.
    """
    last = before.get(signal)
    return last is None or readings[signal].at_ns != last.at_ns


# --- over a restart ---------------------------------------------------------------------------------------------------


def seen_by_the_clock(state: PressureState, now_ns: int, wall_ns: int, transition_ns: int) -> Mapping[str, int]:
    """When each condition was last seen, as wall time. Empty when conditions do not last."""
    if transition_ns <= 0:
        return {}
    return {name: wall_ns - (now_ns - at_ns) for name, at_ns in state.conditions_ns.items()}


def is_worth_writing(written: Mapping[str, int] | None, seen: Mapping[str, int], transition_ns: int) -> bool:
    """Whether the saved conditions are out of date. `written`: None when the file's content is unknown.

    A lasting condition is seen at every sample; that alone is no reason to write.
    """
    if written is None or written.keys() != seen.keys():
        return True
    return any(at_ns - written[name] >= transition_ns // WRITES_IN_A_PERIOD for name, at_ns in seen.items())


def recalled(seen: Mapping[str, int], now_ns: int, wall_ns: int, transition_ns: int) -> PressureState:
    """The first state of an agent: the conditions of an earlier one that still last.

    A clock that was set back makes no condition last longer than a whole period from now.
    """
    ages_ns = {name: max(0, wall_ns - at_ns) for name, at_ns in seen.items() if name in CONDITIONS.values()}
    return PressureState(conditions_ns={name: now_ns - age for name, age in ages_ns.items() if age < transition_ns})
