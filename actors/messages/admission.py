"""Messages about pods between pod workers, the sync loop and the owners of resources.

See `actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message, SoleMessage
from actors.model.allocation import Allocation
from actors.model.kubelet_records import resources_in
from actors.model.pod_resources import PodResources
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
    """ResourceManagerActor -> CgroupActor: the node has taken the pod.

    Make its cgroup, and tell its worker both.

    `allocation`: what the pod was given. `runs`: some of the pod runs in the cgroup in which it began. `pinned`: it has
    CPUs for itself, and so no quota.
    """

    worker: ActorRef
    pod: Pod
    allocation: Allocation
    runs: bool = False
    pinned: bool = False

    def coalesce_key(self) -> Hashable:
        return ("make", self.pod.metadata.uid)


class PodAdmitted(Message, frozen=True):
    """CgroupActor -> PodWorker: the node takes your pod.

    ResourceManagerActor sends it where there are no cgroups.

    `cgroup_parent`: told to the runtime as the parent of its sandboxes; empty: the runtime decides. `outside`: that is
    so only as things stand now; ask again before another sandbox is made.
    """

    cgroup_parent: str = ""
    outside: bool = False


class PodAllocated(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: the resources that your pod was given before.

    It got them in an earlier life of the worker or of the agent, perhaps by a resize.

    `given`: the record of what is allocated to your pod. `told`: the record of what the runtime was told. The worker
    reads them: they are as long as its pod has containers.
    """

    given: bytes
    told: bytes

    @property
    def resources(self) -> PodResources:
        """Allocated to your pod."""
        return resources_in(self.given)

    @property
    def actuated(self) -> PodResources:
        """Those that the runtime was told."""
        return resources_in(self.told)


class ResizePod(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: my pod asks for other resources than it was given.

    Asking again does no harm.

    `pod`: as it asks. `pending_since_s`: since when a resize is pending, as its status says; None: it is new.
    """

    worker: ActorRef
    pod: Pod
    pending_since_s: int | None = None

    def coalesce_key(self) -> Hashable:
        return ("resize", self.pod.metadata.uid)


class ResizeDecided(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: what your pod is given from now on.

    `reason` empty: that is what it asked for in the form of this `generation`. Else it keeps what it had: `Infeasible`
    for as long as it asks for that, or the reason for which it has to wait. `message` is for its status.
    """

    resources: PodResources
    generation: int | None
    reason: str = ""
    message: str = ""


class ResourcesActuated(Message, frozen=True):
    """PodWorker -> ResourceManagerActor: the runtime was told these resources; remember them.

    `record`: them, as `actors.model.kubelet_records` writes them.
    """

    uid: str
    record: bytes

    def coalesce_key(self) -> Hashable:
        return ("actuated", self.uid)


class ResizeCgroup(Message, frozen=True):
    """PodWorker -> CgroupActor: set new limits on the cgroup of my pod.

    `pod`: with its new resources. `before`: with those the runtime was told earlier; containers of both forms may run,
    so the wider limits hold. None: all containers have the new resources. `pinned`: it has CPUs for itself, and so no
    quota.
    """

    worker: ActorRef
    pod: Pod
    before: Pod | None = None
    pinned: bool = False

    def coalesce_key(self) -> Hashable:
        return ("resize", self.pod.metadata.uid)


class CgroupResized(Message, frozen=True):
    """CgroupActor -> PodWorker: the limits of the cgroup are set, or the error.

    `wide`: they are the wider ones, for containers of both forms.
    """

    wide: bool
    error: str = ""


class PodRejected(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: the node never takes your pod.

    Reason and message are for its status.
    """

    reason: str
    message: str


class AdmissionWaits(Message, frozen=True):
    """ResourceManagerActor, CgroupActor -> PodWorker: not yet; the text says what for, for people.

    `taken`: the node will not refuse the pod; it waits for the disk, for its cgroup, or as the machine goes down.
    """

    text: str
    taken: bool = False


class PodTurnedAway(Message, frozen=True):
    """PodWorker -> SyncLoopActor: the node does not take this pod; it ends without having begun."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("away", self.uid)


class AllocationReleased(Message, frozen=True):
    """PodWorker -> ResourceManagerActor, SyncLoopActor, CgroupActor: the pod will run nothing more.

    Nothing of it runs now either.
    """

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("released", self.uid)


class ResourceManagerStarted(SoleMessage, frozen=True):
    """ResourceManagerActor -> SyncLoopActor: I know no worker (any more).

    Answer with `PodWorkerStarted` of each.

    SyncLoopActor -> each PodWorker: ask again what has no answer.

    -> EvictionActor: I do not know what the node is short of; tell it again.
    """
