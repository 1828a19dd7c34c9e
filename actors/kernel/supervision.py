"""What happens to an actor that fails. Pure.

A strategy has a name, a budget of restarts within a window, and a back-off with jitter. An actor that exceeds its
budget is parked: it is reported, and tried again slowly without end. So it recovers once the cause is gone.
"""

from __future__ import annotations

import enum

import msgspec

SECOND_NS = 1_000_000_000


class Action(enum.Enum):
    """What a parent does about a failed child."""

    RESTART = "restart"
    PARK = "park"
    STOP = "stop"
    ESCALATE = "escalate"


class RestartStrategy(msgspec.Struct, frozen=True):
    """How a child is restarted.

    `budget` restarts are allowed within `window_ns`; the n-th of them waits `initial_ns * 2**(n-1)`, at most
    `max_ns`, plus up to `jitter` of that. A parked child is tried again every `parked_retry_ns`. `on_failure` says
    what a failure leads to: RESTART, STOP or ESCALATE (the parent fails with the child's cause).
    """

    name: str = "restart"
    on_failure: Action = Action.RESTART
    budget: int = 5
    window_ns: int = 60 * SECOND_NS
    initial_ns: int = SECOND_NS // 10
    max_ns: int = 30 * SECOND_NS
    jitter: float = 0.2
    parked_retry_ns: int = 300 * SECOND_NS


RESTART = RestartStrategy()
STOP = RestartStrategy(name="stop", on_failure=Action.STOP)
ESCALATE = RestartStrategy(name="escalate", on_failure=Action.ESCALATE)


class SupervisionVerdict(msgspec.Struct, frozen=True):
    """What to do, after how many ns, and the times of the failures that still count."""

    action: Action
    delay_ns: int
    failures: tuple[int, ...]


def decide(strategy: RestartStrategy, failures: tuple[int, ...], now_ns: int, chance: float) -> SupervisionVerdict:
    """Judge a failure at `now_ns`. `failures`: times of earlier ones; `chance`: drawn from [0, 1)."""
    if strategy.on_failure is not Action.RESTART:
        return SupervisionVerdict(strategy.on_failure, 0, failures)
    recent = (*(at for at in failures if now_ns - at < strategy.window_ns), now_ns)
    if len(recent) > strategy.budget:
        delay_ns = _jittered(strategy.parked_retry_ns, strategy.jitter, chance)
        # Keep one more than the budget: enough to stay parked, and bounded.
        return SupervisionVerdict(Action.PARK, delay_ns, recent[-(strategy.budget + 1) :])
    exponent = min(len(recent) - 1, 60)
    delay_ns = min(strategy.initial_ns << exponent, strategy.max_ns)
    return SupervisionVerdict(Action.RESTART, _jittered(delay_ns, strategy.jitter, chance), recent)


def _jittered(delay_ns: int, jitter: float, chance: float) -> int:
    return delay_ns + int(delay_ns * jitter * chance)
