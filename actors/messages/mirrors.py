"""Messages about static pods and their mirror pods. See `actors/messages/pods.py`."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import Message, SoleMessage
from actors.messages.pods import Operation
from config.objects import Pod


class StaticPodDesired(Message, frozen=True):
    """SyncLoopActor -> MirrorPodActor: this static pod is to be shown in the API."""

    pod: Pod

    def coalesce_key(self) -> Hashable:
        return self.pod.metadata.uid


class StaticPodGone(Message, frozen=True):
    """SyncLoopActor -> MirrorPodActor: the static pod has ended, and nobody desires it any more."""

    uid: str


class MirrorPodChanged(Message, frozen=True):
    """SyncLoopActor -> MirrorPodActor: the API server shows this mirror pod.

    REMOVE: it shows the mirror pod no more.
    """

    operation: Operation
    pod: Pod


class StaticSourcesReady(SoleMessage, frozen=True):
    """SyncLoopActor -> MirrorPodActor: every source is ready.

    So a mirror pod without a static pod is left over.
    """


class MirrorPodSeen(Message, frozen=True):
    """MirrorPodActor -> StatusManagerActor: this API object represents that static pod; None: none does."""

    static_uid: str
    mirror: Pod | None

    def coalesce_key(self) -> Hashable:
        return self.static_uid


class MirrorActorStarted(SoleMessage, frozen=True):
    """MirrorPodActor -> SyncLoopActor: I know no pod (any more).

    Tell me the static pods and the mirror pods.
    """
