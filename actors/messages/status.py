"""What is said about the published status of pods, and about their end. See `actors/messages/pods.py`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import msgspec

from actors.kernel import ActorRef, Message
from config.objects import Pod, PodStatus


class PodStatusChanged(Message, frozen=True):
    """PodWorker -> StatusManagerActor: the status to publish. `final`: nothing of the pod runs and nothing will.

    `seen`: it rests on what is known of the runtime. One that does not is for those who ask this node, until it does.
    `first`: what was told before it in the same moment; of a pod that is new, all else is counted from that on.
    `life`: of the worker, told apart from others that have worked on this UID: a `PodForgotten` may lie between them.
    """

    pod: Pod
    status: PodStatus
    final: bool = False
    seen: bool = True
    first: PodStatus | None = None
    life: int = 0

    def coalesce_key(self) -> Hashable:
        return (self.pod.metadata.uid, self.life)

    def merged(self, waiting: Self) -> Self:
        if waiting.seen and not self.seen:
            return msgspec.structs.replace(waiting, pod=self.pod)
        return msgspec.structs.replace(
            self, final=self.final or waiting.final, first=waiting.status if waiting.first is None else waiting.first
        )


class PodReconciled(Message, frozen=True):
    """SyncLoopActor -> StatusManagerActor: the API server has the pod in this form now (`pod` of the api source)."""

    pod: Pod

    def coalesce_key(self) -> Hashable:
        return self.pod.metadata.uid


class PodLeftApi(Message, frozen=True):
    """SyncLoopActor -> StatusManagerActor: the API server has no such pod any more; nothing can be written to it."""

    uid: str


class PodFinished(Message, frozen=True):
    """PodWorker -> StatusManagerActor, SyncLoopActor: nothing of the pod is left to take down; its object may leave the
    API.
    PodWorker -> ContainerGCActor: and the API shows its end, so what its containers have left is for people only.
    """

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class WantUnwritten(Message, frozen=True):
    """ShutdownActor -> StatusManagerActor: which of these does the API not show as they are? `Unwritten` answers."""

    asker: ActorRef
    uids: frozenset[str]

    def coalesce_key(self) -> Hashable:
        return ("unwritten", self.asker.path)


class Unwritten(Message, frozen=True):
    """StatusManagerActor -> ShutdownActor: these."""

    uids: frozenset[str]

    def coalesce_key(self) -> Hashable:
        return "unwritten"


class PodForgotten(Message, frozen=True):
    """SyncLoopActor -> StatusManagerActor: the pod is no longer desired and has ended; drop its status."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class StatusManagerStarted(Message, frozen=True):
    """StatusManagerActor -> SyncLoopActor -> PodWorker, MirrorPodActor: I know no status and no mirror (any more); tell
    yours again.
    """

    def coalesce_key(self) -> Hashable:
        return "started"
