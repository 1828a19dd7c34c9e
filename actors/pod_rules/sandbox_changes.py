"""Whether a pod needs a new sandbox, and why (spec 3.1). Pure; nothing here can fail."""

from __future__ import annotations

import msgspec

from actors.model.observed import ObservedPod, ObservedSandbox
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
    why = _fault(pod, newest, sandboxes)
    return SandboxChange(newest.id, newest.attempt + 1 if why else newest.attempt, why)


def sandbox_serves(pod: Pod, observed: ObservedPod) -> bool:
    """Whether there is a sandbox and no other one is needed."""
    sandboxes = observed.sandboxes
    return bool(sandboxes) and not _fault(pod, sandboxes[0], sandboxes)


def _fault(pod: Pod, newest: ObservedSandbox, sandboxes: tuple[ObservedSandbox, ...]) -> str:
    if len(sandboxes) > 1:
        ready = sum([sandbox.ready for sandbox in sandboxes])
        if ready > 1:
            return f"{ready} sandboxes are ready; there must be one"
    if not newest.ready:
        return "the sandbox is not ready"
    host_network, seen = bool(pod.spec.host_network), newest.host_network
    if seen is not None and seen != host_network:
        return "the sandbox has another network namespace than the pod asks for"
    if not host_network and newest.networked and not newest.ips:
        return "the sandbox has no address"
    return ""
