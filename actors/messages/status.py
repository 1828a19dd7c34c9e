"""Messages about the published status of pods, and about their end. See `actors/messages/pods.py`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from config.objects import Pod, PodStatus


class PodStatusChanged(Message, frozen=True):
    """PodWorker -> StatusManagerActor: the status to publish.

    `final`: nothing of the pod runs and nothing will.

    `seen`: it rests on a look at the runtime; a status that does not is only shown to those who ask this node. `first`:
    the status told before it in the same moment; for a new pod the manager takes it in first. `life`: of the worker, to
    tell it from other workers of this UID: a `PodForgotten` may lie between them.
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
    """SyncLoopActor -> StatusManagerActor: the API server has the pod in this form now.

    `pod` is of the api source.
    """

    pod: Pod

    def coalesce_key(self) -> Hashable:
        return self.pod.metadata.uid


class PodLeftApi(Message, frozen=True):
    """SyncLoopActor -> StatusManagerActor: the API server has no such pod any more.

    Nothing can be written to it.
    """

    uid: str


class PodFinished(Message, frozen=True):
    """PodWorker -> StatusManagerActor, SyncLoopActor: nothing of the pod is left to take down.

    Its object may leave the API. PodWorker -> ContainerGCActor: also, the API shows its end, so only people may still
    need the remains of its containers.
    """

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class WantUnwritten(Message, frozen=True):
    """ShutdownActor -> StatusManagerActor: which of these does the API not show as they are?

    `Unwritten` answers.
    """

    asker: ActorRef
    uids: frozenset[str]

    def coalesce_key(self) -> Hashable:
        return ("unwritten", self.asker.path)


class Unwritten(SoleMessage, frozen=True):
    """StatusManagerActor -> ShutdownActor: these."""

    uids: frozenset[str]


class PodForgotten(Message, frozen=True):
    """SyncLoopActor -> StatusManagerActor: the pod is no longer desired and has ended; drop its status."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class StatusManagerStarted(SoleMessage, frozen=True):
    """StatusManagerActor -> SyncLoopActor -> PodWorker, MirrorPodActor: send me your status again.

    The sender has restarted, and knows no status and no mirror pod.
    """
