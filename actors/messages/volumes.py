"""Messages between pod workers, the sync loop, `VolumeReconcilerActor` and its children.

The reconciler passes requests on to the `PodVolumesActor` of the pod, which answers.

See `actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from config.frozen_map import FrozenMap
from config.objects import Pod


class WantedSubPath(msgspec.Struct, frozen=True):
    """One mount.

    `index`: in the container; `volume`: its name in the pod; `make`: create a missing path.
    """

    index: int
    volume: str
    path: str
    make: bool


class PrepareVolumes(Message, frozen=True):
    """PodWorker -> VolumeReconcilerActor: make this pod's directories and volumes.

    Sent again when the pod changes.

    Answered by `VolumesPrepared`. `renewal`: only the content of the volumes may have changed; an answer comes only if
    it differs from the last.
    """

    worker: ActorRef
    pod: Pod
    renewal: bool = False

    def coalesce_key(self) -> Hashable:
        return (self.pod.metadata.uid, self.renewal)


class RenewVolumes(SoleMessage, frozen=True):
    """SyncLoopActor -> PodWorker: ask again for your volumes, to renew them.

    Only if the pod runs.
    """


class VolumeReconcilerStarted(SoleMessage, frozen=True):
    """VolumeReconcilerActor -> SyncLoopActor: it knows nothing; every worker is to hear `RenewVolumes`."""


class VolumesPrepared(Message, frozen=True):
    """PodVolumesActor -> PodWorker: volume name -> path on the host.

    `error` is empty when all are there.

    `groups`: groups that the pod's processes must have, because its persistent volumes ask for them. `foreign`: names
    of the volumes whose files keep their SELinux labels. `refusal`: why the node refuses the pod for good; else empty.
    """

    host_paths: FrozenMap[str, str]
    error: str = ""
    groups: tuple[int, ...] = ()
    foreign: frozenset[str] = frozenset()
    refusal: str = ""


class ReleaseVolumes(Message, frozen=True):
    """PodWorker -> VolumeReconcilerActor: the pod has ended; unmount and remove all it had on disk."""

    worker: ActorRef | None
    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class VolumesReleased(Message, frozen=True):
    """VolumeReconcilerActor -> PodWorker: nothing of the pod is left on disk, or why something is."""

    uid: str
    error: str = ""


class PrepareSubPaths(Message, frozen=True):
    """PodWorker -> VolumeReconcilerActor: mount these subPaths anew, for a start of this container.

    Answered by `SubPathsPrepared`.
    """

    worker: ActorRef
    uid: str
    container: str
    wanted: tuple[WantedSubPath, ...]

    def coalesce_key(self) -> Hashable:
        return (self.uid, self.container)


class SubPathsPrepared(Message, frozen=True):
    """PodVolumesActor -> PodWorker: index of the mount -> path on the host.

    `error` is empty when all is well.
    """

    container: str
    wanted: tuple[WantedSubPath, ...]
    paths: FrozenMap[int, str]
    error: str = ""


class PodVolume(msgspec.Struct, frozen=True):
    """A volume of a pod that containers may have now. `name`: in the pod; `path`: on the host.

    `claim`: the name of its claim, where it has one. `block`: it is a device. `abnormal`: what its driver says of its
    health; None: nothing.
    """

    uid: str
    name: str
    plugin: str
    path: str
    claim: str = ""
    block: bool = False
    abnormal: bool | None = None


class ListPodVolumes(Message, frozen=True):
    """Edge -> VolumeReconcilerActor (ask): list the volumes of the pod, or of all pods.

    The answer is `tuple[PodVolume, ...]`.
    """

    uid: str = ""
