"""Messages to and from `IslandActor`, which remembers what the API server said last.

Those who read the API tell it what they have read, and ask it while the server is away.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from config.objects import (
    ConfigMap,
    CSIDriver,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    RuntimeClass,
    Secret,
    Service,
)

SetObject: TypeAlias = Pod | Service | RuntimeClass | CSIDriver
"""Objects that their reader knows as a whole set."""
SingleObject: TypeAlias = ConfigMap | Secret | PersistentVolumeClaim | PersistentVolume
"""Objects that are read one by one."""
Remembered: TypeAlias = SetObject | SingleObject


def kind_of(value: Remembered | Node) -> str:
    """The kind of an object, such as Pod."""
    return type(value).__name__


class SetSeen(Message, frozen=True):
    """A reader of the API -> IslandActor: all objects of that kind, as they are now.

    From ApiSourceActor, ClusterCacheActor and ClaimsActor.
    """

    kind: str
    objects: tuple[SetObject, ...]

    def coalesce_key(self) -> Hashable:
        return self.kind


class ObjectSeen(Message, frozen=True):
    """ObjectCacheActor, ClaimResolverActor -> IslandActor: one object as it is now.

    `value` None: it is gone.
    """

    kind: str
    namespace: str
    name: str
    value: SingleObject | None

    def coalesce_key(self) -> Hashable:
        return self.kind, self.namespace, self.name


class ServerHeard(SoleMessage, frozen=True):
    """ApiSourceActor -> IslandActor: the API server still agrees with the pods that were told last."""


class PodEnded(Message, frozen=True):
    """StatusManagerActor -> IslandActor: this pod has succeeded or failed, whether or not the API knows."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class IslandStarted(SoleMessage, frozen=True):
    """IslandActor -> its tellers: I know nothing of this life. Tell what you know."""


class Recall(Message, frozen=True):
    """A reader of the API -> IslandActor: the server does not answer; what is remembered of these kinds?

    Answered by `Recalled` if that may be used, otherwise not at all: ask again after the next failure.
    """

    reader: ActorRef
    kinds: tuple[str, ...]

    def coalesce_key(self) -> Hashable:
        return self.reader.path


class Recalled(Message, frozen=True):
    """IslandActor -> reader: all that is remembered of these kinds.

    `agreed_wall_ns`: when the API server agreed last.
    """

    kinds: tuple[str, ...]
    objects: tuple[Remembered, ...]
    agreed_wall_ns: int


class NodeRecalled(SoleMessage, frozen=True):
    """IslandActor -> NodeStatusActor: the node as it was remembered; None: not at all.

    Sent once the memory was read, with or without success.
    """

    node: Node | None


class TokensStarted(SoleMessage, frozen=True):
    """TokenActor -> IslandActor: I know nothing of the island (any more). `IslandObserved` answers."""


class IslandObserved(SoleMessage, frozen=True):
    """IslandActor -> TokenActor: whether pods run from memory now, without an API server.

    `omits_tokens`: a volume may be made without its token. Its last token went with a reboot.
    """

    alone: bool
    omits_tokens: bool = False


class IslandState(msgspec.Struct, frozen=True):
    """What people see of the memory.

    `uids`: pods that are desired from memory, not by word of the API server. `agreed_wall_ns`: when that agreed last,
    0: not known. `refusal`: why nothing is started from memory; empty while nobody has asked.
    """

    uids: frozenset[str] = frozenset()
    agreed_wall_ns: int = 0
    refusal: str = ""


class TellIsland(Message, frozen=True):
    """Edge -> IslandActor (ask): an `IslandState`."""
