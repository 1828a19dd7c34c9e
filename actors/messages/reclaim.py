"""Requests of `EvictionActor` to free disk space before it evicts a pod (spec 7.3).

See `actors/messages/pods.py`.

Every request is answered, even if nothing was freed; the requester gives up after a while. A request that comes while
the same work is under way is answered when that ends.
"""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message


class ReclaimImages(Message, frozen=True):
    """EvictionActor -> ImageGCActor: remove every image that nothing uses, whatever its age.

    An image that is about to be used stays.
    """

    asker: ActorRef

    def coalesce_key(self) -> Hashable:
        return ("reclaim", self.asker.path)


class ImagesReclaimed(Message, frozen=True):
    """ImageGCActor -> EvictionActor: that is done.

    `freed_bytes`: as far as known. `error`: what failed, for people.
    """

    freed_bytes: int = 0
    error: str = ""


class ReclaimContainers(Message, frozen=True):
    """EvictionActor -> ContainerGCActor: remove every dead container that nobody needs.

    The limits do not matter.
    """

    asker: ActorRef

    def coalesce_key(self) -> Hashable:
        return ("reclaim", self.asker.path)


class ContainersReclaimed(Message, frozen=True):
    """ContainerGCActor -> EvictionActor: that is done. `error`: what failed, for people."""

    error: str = ""
