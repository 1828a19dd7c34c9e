"""What `EvictionActor` asks of those who can free a disk before a pod has to go (spec 7.3). See
`actors/messages/pods.py`.

Every request is answered, also where nothing was freed; who waits for the answer gives up after a while. `asker` need
not be told twice: a request that comes while the same is being done is answered with its end.
"""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message


class ReclaimImages(Message, frozen=True):
    """EvictionActor -> ImageGCActor: remove every image that nothing uses or is about to use, whatever its age."""

    asker: ActorRef

    def coalesce_key(self) -> Hashable:
        return ("reclaim", self.asker.path)


class ImagesReclaimed(Message, frozen=True):
    """ImageGCActor -> EvictionActor: that is done. `freed_bytes`: as far as known. `error`: what failed, for people."""

    freed_bytes: int = 0
    error: str = ""


class ReclaimContainers(Message, frozen=True):
    """EvictionActor -> ContainerGCActor: remove every dead container that nobody needs, whatever the limits are."""

    asker: ActorRef

    def coalesce_key(self) -> Hashable:
        return ("reclaim", self.asker.path)


class ContainersReclaimed(Message, frozen=True):
    """ContainerGCActor -> EvictionActor: that is done. `error`: what failed, for people."""

    error: str = ""
