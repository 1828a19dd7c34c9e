"""What befalls a simulated runtime beyond what pods ask for: calls that fail, come late or never, events that go wrong.

A `FaultPlan` says how often, a `Faults` draws from it, from a stream of its own seed: the same plan, seed and order of
calls give the same faults. Nothing is drawn for what the plan leaves at zero, and nothing at all once `heal` was
called: then the world must converge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.cri.errors import StatusCode
from simulation.chance.chance import Chance

SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class CallFaults:
    """Chances, each from 0 to 1, of what one call meets; at most one of fail, lose and hang, in that order."""

    fail: float = 0.0
    """Refused with one of `codes`, and nothing is done."""
    lose: float = 0.0
    """Done, and answered with UNAVAILABLE: the answer is lost."""
    hang: float = 0.0
    """Nothing is done and no answer comes, until the caller gives up."""
    slow: float = 0.0
    """Done only after a delay."""
    late: float = 0.0
    """Done at once, answered after a delay."""
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
    """Chances, each from 0 to 1, of what one runtime event meets."""

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
    """What happens to one call."""

    fail: StatusCode | None = None
    lose: bool = False
    hang: bool = False
    slow_ns: int = 0
    late_ns: int = 0


@dataclass(frozen=True, slots=True)
class EventFate:
    """What happens to one event: after which delays it is delivered (twice, once, or not at all), and a cut before."""

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
        """From now on as this plan says."""
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
    """Draws the fates of calls and, through `events`, of events. `counts` says how often which fault was drawn."""

    def __init__(self, plan: FaultPlan, seed: int) -> None:
        self._plan = plan
        self._chance = Chance(f"runtime faults {seed}")
        self._all = plan.calls.get("*")
        self.events = None if plan.events is None else EventFaults(plan.events, Chance(f"event faults {seed}"))
        self.counts: dict[str, int] = {}

    def follow(self, plan: FaultPlan) -> None:
        """From now on as this plan says. Events are left alone unless the plan that they began with has some."""
        self._plan = plan
        self._all = plan.calls.get("*")
        if self.events is not None:
            self.events.follow(plan.events or EventFaultPlan())

    def heal(self) -> None:
        """No more faults."""
        self._plan = FaultPlan()
        self._all = None
        if self.events is not None:
            self.events.healed = True

    def draw(self, verb: str) -> CallFate | None:
        """The fate of a call of `verb`; None when it is left alone."""
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
        raise ValueError(f"the delays {delay_ns} ns are no range; write the shortest first")
