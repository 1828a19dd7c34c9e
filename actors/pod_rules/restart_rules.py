"""Whether a container that does not run is started again (spec 3.4, KEP-5307).

Pure. The container's own rules come first, then its own policy, then the pod's. An init container under the pod's
policy Always is restarted only if it failed, because success ends its work. A sidecar is always restarted.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.model.observed import ObservedContainer, ObservedPod
from actors.pod_rules.action_types import KillCause
from config.objects import Container, ContainerRestartRule, Pod
from config.pods.identity import RESTART_ALL, is_sidecar

ALWAYS = "Always"
ON_FAILURE = "OnFailure"
NEVER = "Never"
RESTARTS = ("Restart", RESTART_ALL)


def effective_policy(pod: Pod, container: Container) -> str:
    """The container's own policy, else the pod's; the API's default is Always."""
    return container.restart_policy or pod.spec.restart_policy or ALWAYS


def restarts_after_exit(pod: Pod, container: Container, exit_code: int) -> bool:
    """Whether a container of this definition restarts after this exit code."""
    if container.restart_policy is not None and rule_says_restart(container, exit_code):
        return True
    policy = effective_policy(pod, container)
    return policy == ALWAYS or (policy == ON_FAILURE and exit_code != 0)


def rule_of(container: Container, exit_code: int) -> ContainerRestartRule | None:
    """The container's first restart rule that matches this code; None: its policy decides."""
    for rule in container.restart_policy_rules:
        codes = rule.exit_codes
        if codes is not None and (exit_code in codes.values) == (codes.operator == "In"):
            return rule
    return None


def rule_says_restart(container: Container, exit_code: int) -> bool:
    """Whether a rule of the container restarts it after this code. No rule decides nothing."""
    rule = rule_of(container, exit_code)
    return rule is not None and rule.action in RESTARTS


def should_restart(pod: Pod, container: Container, last: ObservedContainer | None) -> bool:
    """Whether to start a regular container, given the last of its name."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    if last is None:
        return True
    if last.running:
        return False
    if not last.exited:
        return True
    return restarts_after_exit(pod, container, last.exit_code)


def should_restart_failed_init(pod: Pod, container: Container, exit_code: int) -> bool:
    """Whether to retry an init container that failed."""
    if is_sidecar(container):
        return True
    if container.restart_policy is not None and rule_says_restart(container, exit_code):
        return True
    return effective_policy(pod, container) != NEVER


def restarts_after(pod: Pod, container: Container, cause: KillCause) -> bool:
    """Whether a container killed for this cause restarts.

    Always after a change or a loss, else by its policy.
    """
    always = cause in (KillCause.CHANGED, KillCause.RESIZED, KillCause.LOST)
    return always or effective_policy(pod, container) != NEVER


def coming_again(pod: Pod, observed: ObservedPod, killed: Mapping[str, KillCause]) -> frozenset[str]:
    """Names of containers that this agent has ended and will start again.

    Their policy does not matter for such an end.
    """
    if not killed or pod.metadata.deletion_timestamp is not None:
        return frozenset()
    return frozenset(
        container.name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        if (last := observed.newest(container.name)) is not None
        and last.exited
        and last.id in killed
        and restarts_after(pod, container, killed[last.id])
    )
