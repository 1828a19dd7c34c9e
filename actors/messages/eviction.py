"""Messages between `EvictionActor`, `ShutdownActor` and the sync loop.

See `actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from config.objects import Pod

ENDED = ("Succeeded", "Failed")


class PodHere(msgspec.Struct, frozen=True):
    """A pod of this node.

    `worker` None: it has none yet. `released`: nothing of it runs any more, and nothing will. `finished`: its volumes
    are taken down as well. `turned_away`: the node rejected it. `lives`: changes with each life of its worker,
    because a failed worker has forgotten its orders.
    """

    pod: Pod
    worker: ActorRef | None
    released: bool = False
    finished: bool = False
    turned_away: bool = False
    lives: int = 0

    def may_be_evicted(self) -> bool:
        """Whether ending the pod could free anything. A rejected pod uses nothing."""
        return self.worker is not None and not self.released and not self.turned_away

    def has_ended(self) -> bool:
        """Whether the API shows the pod as ended."""
        return self.pod.status is not None and self.pod.status.phase in ENDED


class WantPods(Message, frozen=True):
    """EvictionActor, ShutdownActor, ResourceManagerActor -> SyncLoopActor: tell me which pods there are.

    `PodsHere` is the answer. `number`: of the question, for an asker that asks again before it has an answer.
    """

    asker: ActorRef
    number: int = 0

    def coalesce_key(self) -> Hashable:
        return ("pods", self.asker.path)


class PodsHere(SoleMessage, frozen=True):
    """SyncLoopActor -> the asker of `WantPods`: these.

    `complete`: every source has spoken, no other is known. `number`: of the question.
    """

    pods: tuple[PodHere, ...]
    complete: bool
    number: int = 0


class LimitedPodSeen(SoleMessage, frozen=True):
    """SyncLoopActor -> EvictionActor: a pod with a disk limit exists."""


class MemoryRanShort(SoleMessage, frozen=True):
    """MemoryNotifierActor -> EvictionActor: the kernel says that memory may have passed a threshold.

    Look now.
    """
