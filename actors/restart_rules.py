"""May a container be started (again)? (spec 3.4). Pure."""

from __future__ import annotations

import msgspec

from actors.observed import ObservedContainer, RunState
from config.objects import Container, Pod
from config.pod_identity import is_sidecar

ALWAYS = "Always"
ON_FAILURE = "OnFailure"
NEVER = "Never"
RESTART = "Restart"
RESTART_ALL = "RestartAllContainers"


class RestartVerdict(msgspec.Struct, frozen=True):
    """`whole_pod`: a rule asks for all containers of the pod to begin anew."""

    restart: bool
    whole_pod: bool = False


def effective_policy(pod: Pod, container: Container) -> str:
    """The policy that holds for this container without regard to exit codes. A sidecar's is always Always."""
    return container.restart_policy or pod.spec.restart_policy or ALWAYS


def judge_exit(pod: Pod, container: Container, exit_code: int) -> RestartVerdict:
    """What an exit with this code leads to: the container's rules in order, then its policy, then the pod's."""
    if container.restart_policy is not None:
        for rule in container.restart_policy_rules:
            codes = rule.exit_codes
            if codes is None:
                continue
            if (exit_code in codes.values) == (codes.operator == "In"):
                return RestartVerdict(True, rule.action == RESTART_ALL)
    policy = effective_policy(pod, container)
    return RestartVerdict(policy == ALWAYS or (policy == ON_FAILURE and exit_code != 0))


def should_restart(pod: Pod, container: Container, newest: ObservedContainer | None) -> bool:
    """Whether to start this container, given the newest one of its name (spec 3.4)."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if newest is None:
        return True
    if newest.state is RunState.RUNNING:
        return False
    if newest.state is not RunState.EXITED:
        return True
    return judge_exit(pod, container, _code(newest)).restart


def init_may_run_again(pod: Pod, container: Container) -> bool:
    """Whether a regular init container that failed is tried again."""
    if is_sidecar(container):
        return True
    return effective_policy(pod, container) != NEVER


def _code(container: ObservedContainer) -> int:
    """An OOM kill counts as a failure even where the runtime reports 0."""
    return container.exit_code or (137 if container.reason == "OOMKilled" else 0)
