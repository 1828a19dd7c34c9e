"""Step: make the sandbox, configured for the containers to start, unless a usable one exists.

It first needs the ids of a user namespace, the cgroup of the pod, its resolver and its RuntimeClass, each from its
owner.
"""

from __future__ import annotations

from actors.model.refusal import ContainerRefusedError
from actors.pod.container_starts import StartPlace
from actors.pod.grants import check_handler
from actors.pod.outcome import CONTINUE, Outcome, PassWait, sandbox_refused
from actors.pod.pod_pass import PodPass
from actors.start.mounts import mount_abilities
from actors.start.sandbox_config import sandbox_config
from actors.start.security import with_groups
from runtime.cri import CriError
from runtime.cri.messages import PodSandboxConfig

NODE_RETRY_NS = 10_000_000_000
"""The node may mend the cause."""
SPEC_RETRY_NS = 60_000_000_000
"""Only a new form of the pod helps, and that begins a pass by itself."""


async def sandbox(pod: PodPass) -> Outcome:
    """Raises CriError."""
    parts, actions = pod.parts, pod.actions
    if not (actions.create_sandbox or actions.starts):
        return CONTINUE
    own_users = parts.users.wanted(pod.pod)
    try:
        ids = parts.users.ids(parts.view.uid) if own_users else None
    except ContainerRefusedError as refused:
        return sandbox_refused(str(refused), NODE_RETRY_NS)
    if own_users and ids is None:
        return PassWait("the ids of its user namespace are being asked for", "its sandbox is made then")
    cgroup_parent = parts.admission.cgroup_parent(pod.pod, anew=actions.create_sandbox)
    if cgroup_parent is None:
        return parts.admission.wait()
    try:
        dns = await parts.names.resolver(pod.pod, anew=actions.create_sandbox)
    except ContainerRefusedError as refused:
        return sandbox_refused(str(refused), NODE_RETRY_NS)
    try:
        config = sandbox_config(
            with_groups(pod.pod, parts.volumes.made.groups),
            actions.sandbox_attempt,
            parts.view.log_directory(),
            cluster_domain=parts.services.configuration.cluster_domain,
            dns=dns,
            cgroup_parent=cgroup_parent,
            rules=parts.services.node.rules.resources,
            ids=ids,
        )
    except ContainerRefusedError as refused:
        return sandbox_refused(str(refused), SPEC_RETRY_NS)
    sandbox_id = actions.sandbox_id
    if actions.create_sandbox:
        try:
            handler = parts.references.runtime_handler(pod.pod)
        except ContainerRefusedError as refused:
            return sandbox_refused(refused.reason, NODE_RETRY_NS)
        if handler is None:
            name = pod.pod.spec.runtime_class_name
            return PassWait(f"its RuntimeClass {name} is being asked for", "its sandbox is made then")
        if own_users:
            try:
                check_handler(handler, parts.view.runtime)
            except ContainerRefusedError as refused:
                return sandbox_refused(str(refused), SPEC_RETRY_NS)
        sandbox_id = await _make(pod, config, handler)
    sandboxes = parts.view.seen().sandboxes
    abilities = mount_abilities(parts.view.runtime, sandboxes[0].handler if sandboxes else "")
    pod.place = StartPlace(actions.sandbox_attempt, sandbox_id, config, parts.volumes.made, abilities)
    return CONTINUE


async def _make(pod: PodPass, config: PodSandboxConfig, handler: str) -> str:
    parts = pod.parts
    if pod.observed.sandboxes:
        parts.view.say("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
    try:
        sandbox_id = await parts.calls.run_sandbox(pod.actions.sandbox_attempt, config, handler)
    except CriError as failure:
        parts.view.say("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure}")
        raise
    await parts.observer.look_at_sandbox(sandbox_id)
    return sandbox_id
