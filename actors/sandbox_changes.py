"""Whether a pod needs a new sandbox, and why (spec 3.1). Pure; nothing here can fail."""

from __future__ import annotations

import msgspec

from actors.observed import ObservedPod, ObservedSandbox
from config.objects import Pod


class SandboxChange(msgspec.Struct, frozen=True, gc=False):
    """`why` is empty when the sandbox `id` of `attempt` can be used; else `attempt` is that of the one to make."""

    id: str
    attempt: int
    why: str

    @property
    def needed(self) -> bool:
        return bool(self.why)


FIRST_SANDBOX = SandboxChange("", 0, "the pod has no sandbox")


def sandbox_change(pod: Pod, observed: ObservedPod) -> SandboxChange:
    """The sandbox to use, or the one to make. Of several faults the first in the order of spec 3.1 is named."""
    sandboxes = observed.sandboxes
    if not sandboxes:
        return FIRST_SANDBOX
    newest = sandboxes[0]
    ready = newest.ready if len(sandboxes) == 1 else sum([sandbox.ready for sandbox in sandboxes])
    why = _fault(pod, newest, ready)
    return SandboxChange(newest.id, newest.attempt + 1 if why else newest.attempt, why)


def _fault(pod: Pod, newest: ObservedSandbox, ready: int) -> str:
    if ready > 1:
        return f"{ready} sandboxes are ready; there must be one"
    if not newest.ready:
        return "the sandbox is not ready"
    host_network = bool(pod.spec.host_network)
    if newest.host_network is not None and newest.host_network != host_network:
        return "the sandbox has another network namespace than the pod asks for"
    if not host_network and newest.networked and not newest.ips:
        return "the sandbox has no address"
    return ""
