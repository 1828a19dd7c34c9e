"""What pod workers, the sync loop and the owners of resources say to each other of pods. See
`actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message, SoleMessage
from actors.model.allocation import Allocation
from config.objects import Pod


class AdmitPod(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: does the node take my pod? Asking again does no harm.

    `runs`: some of it runs already, so it is only counted. `groups_policy`: the runtime supports the policy Strict of
    supplemental groups.
    """

    worker: ActorRef
    pod: Pod
    runs: bool = False
    groups_policy: bool = True

    def coalesce_key(self) -> Hashable:
        return ("admit", self.pod.metadata.uid)


class MakeCgroup(Message, frozen=True):
    """ResourceManagerActor -> CgroupActor: the node has taken the pod; make its cgroup, and tell its worker both.

    `allocation`: what the pod was given. `runs`: some of the pod runs in the cgroup in which it began.
    """

    worker: ActorRef
    pod: Pod
    allocation: Allocation
    runs: bool = False

    def coalesce_key(self) -> Hashable:
        return ("make", self.pod.metadata.uid)


class PodAdmitted(Message, frozen=True):
    """CgroupActor (or ResourceManagerActor, where there are no cgroups) -> PodWorker: the node takes your pod.

    `cgroup_parent`: told to the runtime as the parent of its sandboxes; empty: the runtime decides. `outside`: that is
    so only as things stand now; ask again before another sandbox is made.
    """

    cgroup_parent: str = ""
    outside: bool = False


class PodRejected(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: the node never takes your pod; reason and message are for its status."""

    reason: str
    message: str


class AdmissionWaits(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: not yet; the text says what for, for people."""

    text: str


class PodTurnedAway(Message, frozen=True):
    """PodWorker -> SyncLoopActor: the node does not take this pod; it ends without having begun."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("away", self.uid)


class AllocationReleased(Message, frozen=True):
    """PodWorker -> ResourceManagerActor, SyncLoopActor, CgroupActor: nothing of the pod runs any more, and nothing
    will.
    """

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("released", self.uid)


class ResourceManagerStarted(SoleMessage, frozen=True):
    """ResourceManagerActor -> SyncLoopActor: I know no worker (any more); answer with `PodWorkerStarted` of each.

    -> EvictionActor: I do not know what the node is short of; tell it again.
    """
