"""Messages about the storage drivers of this node.

`PluginWatcherActor` and `CsiNodeActor` exchange them, and tell the `NodeStatusActor`. See `actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message, SoleMessage
from config.frozen_map import FrozenMap
from runtime.csi.capability import NodeInfo


class PublishDriver(Message, frozen=True):
    """PluginWatcherActor -> CsiNodeActor: this driver is here, and calls the node so.

    Answered by `DriverPublished`.
    """

    reader: ActorRef
    tag: Hashable
    name: str
    info: NodeInfo


class DriverPublished(Message, frozen=True):
    """CsiNodeActor -> PluginWatcherActor: the cluster can see the driver, or why not (`error`)."""

    tag: Hashable
    error: str = ""


class WithdrawDriver(Message, frozen=True):
    """PluginWatcherActor -> CsiNodeActor: this driver is here no more."""

    name: str

    def coalesce_key(self) -> Hashable:
        return self.name


class AskDriverAgain(Message, frozen=True):
    """Anybody -> PluginWatcherActor: how many volumes the node can have of this driver may have changed.

    Ask it.
    """

    name: str

    def coalesce_key(self) -> Hashable:
        return self.name


class DriversChanged(SoleMessage, frozen=True):
    """PluginWatcherActor -> waiting actors: these drivers are registered now."""

    names: tuple[str, ...]


class CsiNodeStarted(SoleMessage, frozen=True):
    """CsiNodeActor -> PluginWatcherActor: I know no driver (any more).

    Let me publish again those that there are.
    """


class DriversOnNodeObserved(SoleMessage, frozen=True):
    """CsiNodeActor -> NodeStatusActor: each driver's id of this node, and its topology labels.

    `withdrawn`: drivers that are not here any more.
    """

    node_ids: FrozenMap[str, str]
    labels: FrozenMap[str, str]
    withdrawn: tuple[str, ...] = ()
