"""What happens in some runs only: each by a name, counted, so that a set of runs shows what it has reached.

A scenario that means to try something rare lists it under `reaches`; runs that never came there prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, str] = {
    "pod-deleted-before-it-ran": "a pod was deleted before it was shown Running",
    "pod-ended-by-itself": "a pod came to Succeeded or Failed",
    "container-restarted": "a container of a pod was started again",
    "container-killed": "a container ended with code 137",
    "agent-killed": "an agent was killed",
    "agent-killed-while-pods-started": "an agent was killed while a pod of its node was on its way to Running",
    "agent-killed-while-pods-ended": "an agent was killed while a pod of its node was being deleted",
    "node-not-ready": "a node was shown other than Ready after it had been Ready",
    "runtime-call-failed": "a call to a runtime was refused by a fault",
    "runtime-call-lost": "the answer of a call to a runtime was lost",
    "runtime-call-hung": "a call to a runtime never came back, by a fault",
    "runtime-call-delayed": "a call to a runtime was slow or answered late",
    "api-call-failed": "a call to the API server was refused by a fault",
    "api-call-lost": "the answer of a call to the API server was lost",
    "api-outage": "nobody reached the API server",
    "runtime-outage": "nobody reached the runtime",
    "agent-killed-while-pods-were-evicted": "an agent was killed after it had decided on a pod that had not ended",
    "node-under-pressure": "a node was shown with a condition of pressure",
    "node-short": "something else on a node took what its pods need",
    "pod-evicted": "an agent has decided that a pod has to go",
    "image-removed": "an image was removed from a node",
    "dead-containers-drained": "all that an earlier agent had left dead on a node was removed",
    "disk-hung": "the directory of a pod hung",
    "disk-full": "nothing more fitted on the disks",
    "volume-hung": "the making of a volume hung, by a fault",
    "volume-failed": "the making of a volume failed, by a fault",
    "agent-killed-at-an-operation": "an agent died at a call to its runtime or an operation on its disk",
    "agent-paused": "an agent got no CPU for a while",
    "frozen-actor-wanted": "an actor that handled nothing for a while had something to do",
    "frozen-actor-asked": "one that had nothing to do was asked whether it lives",
    "log-set-aside": "the log of a container got another name",
    "log-not-compressed": "a log could not be compressed",
    "clock-jumped-forward": "the time of day jumped forward",
    "clock-jumped-back": "the time of day jumped back",
    "network-cut": "the way from a node to the API server was cut",
    "network-loss": "a message on that way had to be sent again",
    "actor-failed": "an actor failed at a message, by a fault",
    "actor-parked": "one failed so often that it was tried again slowly",
    "message-dropped": "a message to an actor was lost, by a fault",
    "mailbox-full": "a message to an actor was refused, as its mailbox was full",
    "manifest-changed": "the manifest of a static pod was changed",
}
"""Name -> what it means."""


class Sometimes:
    """Counts of what happened; every known name is there from the start."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(KNOWN, 0)

    def happened(self, name: str, times: int = 1) -> None:
        self.counts[name] += times
