"""`compute_pod_actions` in tests: the question and its answer, each in one line."""

from __future__ import annotations

from actors.model.observed import NO_RESULTS, ObservedPod, ProbeResults
from actors.pod_rules.action_types import NOTHING_IN_FLIGHT, InFlight
from actors.pod_rules.actions import PodActions, compute_pod_actions
from config.objects import (
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    Pod,
    Probe,
)
from tests.actors.pod_pictures import (
    NOW_NS,
    PERIODS,
    container,
    sidecar,
)

PROBE = Probe()
DELETING = {"deletion_timestamp": "2026-01-01T00:00:00Z"}
FIRST, SECOND = container("i"), container("j")
SIDE = sidecar("s")


def act(
    the_pod: Pod,
    observed: ObservedPod,
    probes: ProbeResults = NO_RESULTS,
    in_flight: InFlight = NOTHING_IN_FLIGHT,
    resized: frozenset[str] = frozenset(),
    wall_ns: int = NOW_NS,
) -> PodActions:
    return compute_pod_actions(
        the_pod, observed, wall_ns=wall_ns, crash_loop=PERIODS, probes=probes, in_flight=in_flight, resized=resized
    )


def said(actions: PodActions) -> str:
    """The actions in short: `sandbox 1; kill a; init s; start a; wait b; kill pod`."""
    parts = []
    if actions.kill_pod:
        parts.append("kill pod")
    if actions.create_sandbox:
        parts.append(f"sandbox {actions.sandbox_attempt}")
    parts += [f"kill {each.name}" for each in actions.kill]
    parts += [f"reset {each.name}" for each in actions.reset]
    parts += [f"ephemeral {each.container.name}" for each in actions.start_ephemeral]
    parts += [f"init {each.container.name}" for each in actions.start_init]
    parts += [f"start {each.container.name}" for each in actions.start]
    parts += [f"wait {each.name}" for each in actions.backing_off]
    return "; ".join(parts)


def rules(*codes: int, operator: str = "In", action: str = "Restart") -> tuple[ContainerRestartRule, ...]:
    on = ContainerRestartRuleOnExitCodes(operator=operator, values=codes)
    return (ContainerRestartRule(action=action, exit_codes=on),)
