"""What pod workers, the sync loop and `ResourceManagerActor` say to each other. See `actors/messages.py`."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message
from config.objects import Pod


class AdmitPod(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: does the node take my pod? Asking again does no harm.

    `runs`: something of it is there already, so that there is nothing to decide; it is to be counted. `groups_policy`:
    the runtime knows the policy Strict of supplemental groups.
    """

    worker: ActorRef
    pod: Pod
    runs: bool = False
    groups_policy: bool = True

    def coalesce_key(self) -> Hashable:
        return ("admit", self.pod.metadata.uid)


class PodAdmitted(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: it does, and remembers it."""


class PodRejected(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: it does not, and never will; the words are for the status of the pod."""

    reason: str
    message: str


class AdmissionWaits(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: not yet, for people: what is waited for."""

    text: str


class AllocationReleased(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: nothing of the pod runs any more, and nothing will."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("released", self.uid)


class ResourceManagerStarted(Message, frozen=True):
    """ResourceManagerActor -> SyncLoopActor: I know no worker (any more); answer with `PodWorkerStarted` of each."""

    def coalesce_key(self) -> Hashable:
        return "resources"
