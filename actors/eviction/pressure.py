"""What the node is short of, from sample to sample: thresholds met, times of grace, conditions that stay (spec 7.2).

Pure: the state before and the signals of now give the state after. A condition of the node stays for the transition
period after its threshold was last met, so that it does not flap. A threshold leads to a kill only when it was met for
its grace, and when its signal has been read anew since the sample before: one observation, one decision.

What stays is remembered over a restart of the agent, in wall time (`seen_by_the_clock`, `recalled`).
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
"""How often a condition that lasts is written down anew, in each transition period."""


class PressureState(msgspec.Struct, frozen=True):
    """What has to be remembered. Times are monotonic; readings carry wall times of their own.

    `due`: thresholds that have passed their grace. `first_met_ns`: since when one is met without a break.
    `conditions_ns`: when each condition was last seen, for as long as it stays.
    """

    due: tuple[Threshold, ...] = ()
    first_met_ns: Mapping[Threshold, int] = _NO_TIMES
    conditions_ns: Mapping[str, int] = _NO_CONDITIONS
    readings: Mapping[str, SignalReading] = _NO_READINGS

    @property
    def conditions(self) -> frozenset[str]:
        """Names of the node's conditions that are true now."""
        return frozenset(self.conditions_ns)


class Observed(msgspec.Struct, frozen=True):
    """`decisive`: thresholds that somebody has to go for now, the most urgent first."""

    state: PressureState
    decisive: tuple[Threshold, ...]


def observe(
    before: PressureState,
    thresholds: Sequence[Threshold],
    readings: Mapping[str, SignalReading],
    now_ns: int,
    transition_ns: int,
) -> Observed:
    """The state after these readings. A signal that is not among them meets nothing."""
    met = [each for each in thresholds if _is_met(each, readings, before)]
    first_met_ns = {each: before.first_met_ns.get(each, now_ns) for each in met}
    conditions_ns = {name: at_ns for name, at_ns in before.conditions_ns.items() if now_ns - at_ns < transition_ns} | {
        each.condition: now_ns for each in met
    }
    due = tuple(each for each in met if now_ns - first_met_ns[each] >= (each.grace_ns or 0))
    fresh = [each for each in due if _is_another(each.signal, readings, before.readings)]
    after = PressureState(due, first_met_ns, conditions_ns, readings)
    # Memory first: what is short of it is short at once. Otherwise the order of the thresholds.
    return Observed(after, tuple(sorted(fresh, key=lambda each: each.resource != "memory")))


def _is_met(threshold: Threshold, readings: Mapping[str, SignalReading], before: PressureState) -> bool:
    reading = readings.get(threshold.signal)
    return reading is not None and is_met(threshold, reading, with_reclaim=threshold in before.due)


def _is_another(signal: str, readings: Mapping[str, SignalReading], before: Mapping[str, SignalReading]) -> bool:
    """Whether it was read anew. Not whether that was later: a clock that was set back would keep everybody alive."""
    last = before.get(signal)
    return last is None or readings[signal].at_ns != last.at_ns


# --- over a restart ---------------------------------------------------------------------------------------------------


def seen_by_the_clock(state: PressureState, now_ns: int, wall_ns: int, transition_ns: int) -> Mapping[str, int]:
    """When each condition was last seen, as wall time. Where none stays, there is nothing to remember."""
    if transition_ns <= 0:
        return {}
    return {name: wall_ns - (now_ns - at_ns) for name, at_ns in state.conditions_ns.items()}


def is_worth_writing(written: Mapping[str, int] | None, seen: Mapping[str, int], transition_ns: int) -> bool:
    """Whether what was written (None: nobody knows what) says too little. A condition that lasts is seen at every
    sample; that is no reason by itself.
    """
    if written is None or written.keys() != seen.keys():
        return True
    return any(at_ns - written[name] >= transition_ns // WRITES_IN_A_PERIOD for name, at_ns in seen.items())


def recalled(seen: Mapping[str, int], now_ns: int, wall_ns: int, transition_ns: int) -> PressureState:
    """The state that an agent begins with: of what an earlier one has seen, what still stays. A clock that was set back
    makes nothing stay longer than a whole period from now.
    """
    ages_ns = {name: max(0, wall_ns - at_ns) for name, at_ns in seen.items() if name in CONDITIONS.values()}
    return PressureState(conditions_ns={name: now_ns - age for name, age in ages_ns.items() if age < transition_ns})
