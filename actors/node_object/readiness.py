"""The reasons why the node is not ready (spec 2.12, 9.3), worst first; no reason means ready.

The runtime must have been asked, have answered within the last 30 s, say that it is ready, have been listed within the
last three minutes, and have a network. Others report their own reasons: a shutdown, missing storage.

An agent that has just started knows nothing of the runtime. A node that was ready before then stays ready for a while:
a restart of the agent must not send pods elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.messages.pods import RuntimeStateObserved
from config.values.durations import format_duration_ns

SECOND_NS = 1_000_000_000
SILENCE_NS = 30 * SECOND_NS
"""How long a runtime may be silent: restarting it takes a while and harms no pod."""
LISTING_NS = 180 * SECOND_NS
"""The runtime's pods must have been listed within this time (spec 2.1)."""


class RuntimeHealth(msgspec.Struct, frozen=True):
    """The known state of the runtime. Times are monotonic ns; None: never, or not known yet.

    `keeps_ready_until_ns`: until then missing knowledge is no reason.
    """

    state: RuntimeStateObserved | None = None
    listed_at_ns: int | None = None
    keeps_ready_until_ns: int = 0


def unready_reasons(
    health: RuntimeHealth, others: Mapping[str, str], missing_capacity: tuple[str, ...], now_ns: int
) -> tuple[str, ...]:
    """All reasons. `others`: source -> reason; empty reasons do not count."""
    reasons = [*_runtime(health, now_ns), *(text for _, text in sorted(others.items()) if text)]
    if missing_capacity:
        reasons.append(f"missing node capacity for resources: {', '.join(missing_capacity)}")
    return tuple(reasons)


def message_of(reasons: tuple[str, ...]) -> str:
    """The reasons as one text, in the format of kubelets."""
    return reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"


def look_again_ns(health: RuntimeHealth, now_ns: int) -> int | None:
    """How long until silence alone changes the readiness; None when no limit is ahead."""
    since = [
        at_ns + limit_ns
        for at_ns, limit_ns in (
            (health.state.silent_since_ns if health.state is not None else None, SILENCE_NS),
            (health.listed_at_ns, LISTING_NS),
            (health.keeps_ready_until_ns, 0),
        )
        if at_ns is not None
    ]
    left = [at_ns - now_ns for at_ns in since if at_ns > now_ns]
    return min(left, default=None)


def _runtime(health: RuntimeHealth, now_ns: int) -> list[str]:
    state, listed_ns = health.state, health.listed_at_ns
    if (state is None or listed_ns is None) and now_ns < health.keeps_ready_until_ns:
        return []
    if state is None:
        return ["container runtime status check may not have completed yet"]
    reasons = []
    silent_ns = state.silent_since_ns
    if silent_ns is not None:
        if now_ns - silent_ns >= SILENCE_NS:
            reasons.append(f"container runtime is down: {state.error}")
    elif state.error:
        reasons.append(f"container runtime not ready: {state.error}")
    if listed_ns is None:
        reasons.append("PLEG is not healthy: the pods of the runtime have yet to be listed")
    elif now_ns - listed_ns >= LISTING_NS:
        # Leave the duration out: a text that changes with time would cause a write at every look.
        limit = format_duration_ns(LISTING_NS)
        reasons.append(f"PLEG is not healthy: the pods of the runtime have not been listed for more than {limit}")
    if silent_ns is None and state.network_error:
        reasons.append(f"container runtime network not ready: {state.network_error}")
    return reasons
