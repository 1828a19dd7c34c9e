"""When does a pod need a sandbox made, or made anew? (spec 3.1). Pure."""

from __future__ import annotations

import msgspec

from actors.observed import ObservedPod
from config.objects import Pod


class SandboxNeed(msgspec.Struct, frozen=True):
    """`needed`: make a sandbox of this `attempt`. `sandbox_id`: the newest one, empty when it is of no use any more."""

    needed: bool
    attempt: int
    sandbox_id: str
    reason: str


def sandbox_need(pod: Pod, observed: ObservedPod) -> SandboxNeed:
    """The first rule that holds decides, in the order of the spec."""
    sandboxes = observed.sandboxes
    if not sandboxes:
        return SandboxNeed(True, 0, "", "the pod has no sandbox")
    newest = sandboxes[0]
    following = newest.attempt + 1
    if sum(sandbox.ready for sandbox in sandboxes) > 1:
        return SandboxNeed(True, following, newest.id, "more than one sandbox is ready")
    if not newest.ready:
        return SandboxNeed(True, following, newest.id, "the sandbox is not ready")
    host_network = bool(pod.spec.host_network)
    if newest.host_network != host_network:
        return SandboxNeed(True, following, "", "the sandbox has another kind of network")
    if not host_network and not newest.ips:
        return SandboxNeed(True, following, newest.id, "the sandbox has no address")
    return SandboxNeed(False, newest.attempt, newest.id, "")
