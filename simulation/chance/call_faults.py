"""Random faults of a simulated runtime: for calls and for events.

Calls fail, are late or hang. Events are lost, late or repeated.

A `FaultPlan` has the chances; `Faults` draws from a stream of its own seed. The same plan, seed and order of calls give
the same faults. A zero in the plan draws nothing. After `heal` nothing is drawn: then the world must converge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.cri.errors import StatusCode
from simulation.chance.chance import Chance

SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class CallFaults:
    """Chances, each from 0 to 1, of the faults of one call.

    At most one of fail, lose and hang happens, in that order.
    """

    fail: float = 0.0
    """The call is refused with one of `codes` and has no effect."""
    lose: float = 0.0
    """The call takes effect, but its answer is UNAVAILABLE."""
    hang: float = 0.0
    """The call has no effect and no answer until the caller gives up."""
    slow: float = 0.0
    """The call takes effect after a delay."""
    late: float = 0.0
    """The call takes effect at once; the answer is delayed."""
    delay_ns: tuple[int, int] = (SECOND_NS // 100, 5 * SECOND_NS)
    """Shortest and longest delay."""
    codes: tuple[StatusCode, ...] = (StatusCode.UNKNOWN, StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED)

    def __post_init__(self) -> None:
        for name in ("fail", "lose", "hang", "slow", "late"):
            _check_share(name, getattr(self, name))
        if self.fail + self.lose + self.hang > 1:
            raise ValueError("the chances of fail, lose and hang exceed 1 together")
        _check_delays(self.delay_ns)


@dataclass(frozen=True, slots=True)
class EventFaultPlan:
    """Chances, each from 0 to 1, of the faults of one runtime event."""

    double: float = 0.0
    lose: float = 0.0
    delay: float = 0.0
    """Delivered later, and so out of order."""
    cut: float = 0.0
    """The streams break before the event."""
    delay_ns: tuple[int, int] = (SECOND_NS // 100, 60 * SECOND_NS)

    def __post_init__(self) -> None:
        for name in ("double", "lose", "delay", "cut"):
            _check_share(name, getattr(self, name))
        _check_delays(self.delay_ns)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """`calls` by verb name (`StartContainer`); `*` for all verbs that are not named."""

    calls: Mapping[str, CallFaults] = field(default_factory=dict)
    events: EventFaultPlan | None = None


@dataclass(frozen=True, slots=True)
class CallFate:
    """The faults of one call."""

    fail: StatusCode | None = None
    lose: bool = False
    hang: bool = False
    slow_ns: int = 0
    late_ns: int = 0


@dataclass(frozen=True, slots=True)
class EventFate:
    """The faults of one event: the delays of its deliveries (two, one or none), and a cut before it."""

    delays_ns: tuple[int, ...] = (0,)
    cut: bool = False


_UNTOUCHED = EventFate()


class EventFaults:
    """Draws the fates of events."""

    def __init__(self, plan: EventFaultPlan, chance: Chance) -> None:
        self._plan = plan
        self._chance = chance
        self.healed = False

    def follow(self, plan: EventFaultPlan) -> None:
        """Use this plan from now on."""
        self._plan = plan
        self.healed = False

    def draw(self) -> EventFate:
        if self.healed:
            return _UNTOUCHED
        plan, chance = self._plan, self._chance
        cut = _happens(chance, plan.cut)
        if _happens(chance, plan.lose):
            return EventFate(delays_ns=(), cut=cut)
        copies = 2 if _happens(chance, plan.double) else 1
        delays = tuple(chance.between(*plan.delay_ns) if _happens(chance, plan.delay) else 0 for _ in range(copies))
        return EventFate(delays_ns=delays, cut=cut)


class Faults:
    """Draws the fates of calls and, through `events`, of events.

    `counts` says how often which fault was drawn.
    """

    def __init__(self, plan: FaultPlan, seed: int) -> None:
        self._plan = plan
        self._chance = Chance(f"runtime faults {seed}")
        self._all = plan.calls.get("*")
        self.events = None if plan.events is None else EventFaults(plan.events, Chance(f"event faults {seed}"))
        self.counts: dict[str, int] = {}

    def follow(self, plan: FaultPlan) -> None:
        """Use this plan from now on. Events keep their first plan unless that one had no faults for them."""
        self._plan = plan
        self._all = plan.calls.get("*")
        if self.events is not None:
            self.events.follow(plan.events or EventFaultPlan())

    def heal(self) -> None:
        """Stop all faults."""
        self._plan = FaultPlan()
        self._all = None
        if self.events is not None:
            self.events.healed = True

    def draw(self, verb: str) -> CallFate | None:
        """The faults of a call of `verb`; None for none."""
        faults = self._plan.calls.get(verb, self._all)
        if faults is None:
            return None
        fate = _draw(faults, self._chance)
        if fate is not None:
            for name in ("fail", "lose", "hang", "slow_ns", "late_ns"):
                if getattr(fate, name):
                    self.counts[name] = self.counts.get(name, 0) + 1
        return fate


def _draw(faults: CallFaults, chance: Chance) -> CallFate | None:
    share = chance.share()
    if share < faults.fail:
        return CallFate(fail=faults.codes[chance.bits() % len(faults.codes)])
    lose = share < faults.fail + faults.lose
    hang = not lose and share < faults.fail + faults.lose + faults.hang
    slow_ns = chance.between(*faults.delay_ns) if not hang and _happens(chance, faults.slow) else 0
    late_ns = chance.between(*faults.delay_ns) if not hang and _happens(chance, faults.late) else 0
    if not (lose or hang or slow_ns or late_ns):
        return None
    return CallFate(lose=lose, hang=hang, slow_ns=slow_ns, late_ns=late_ns)


def _happens(chance: Chance, share: float) -> bool:
    return share > 0 and chance.share() < share


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"the chance of {name} is {share}; it must lie from 0 to 1")


def _check_delays(delay_ns: tuple[int, int]) -> None:
    if not 0 <= delay_ns[0] <= delay_ns[1]:
        raise ValueError(f"the delays {delay_ns} ns are not a range; write the shortest first")
