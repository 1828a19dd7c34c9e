"""Messages between pod workers and the owner of user namespace ids (spec 17.6)."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message
from actors.model.id_ranges import IdRange


class AssignIds(Message, frozen=True):
    """PodWorker -> UserNamespaceActor: which ids has my pod? Asking again does no harm."""

    worker: ActorRef
    uid: str


class IdsAssigned(Message, frozen=True):
    """UserNamespaceActor -> PodWorker. `ids` None: there are none, `error` says why."""

    ids: IdRange | None
    error: str = ""


class ReleaseIds(Message, frozen=True):
    """PodWorker -> UserNamespaceActor: nothing of the pod runs any more."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return ("release", self.uid)
