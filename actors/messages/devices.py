"""Messages about device plugins and the devices that pods have of them."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import ActorRef, Message, SoleMessage
from actors.model.devices import DeviceBook, Offer, PodDevices
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import DeviceSetup, PluginFound


class PluginRegistered(Message, frozen=True):
    """Edge -> DevicePluginsActor -> DevicePluginActor: this plugin is here, perhaps again."""

    found: PluginFound

    def coalesce_key(self) -> Hashable:
        return ("registered", self.found.resource)


class DevicesOffered(Message, frozen=True):
    """DevicePluginActor -> listener: what the plugin of the resource offers now.

    `trouble`: why it is not connected, for people.
    """

    resource: str
    offer: Offer
    trouble: str = ""

    def coalesce_key(self) -> Hashable:
        return ("offered", self.resource)


class DevicesWithdrawn(Message, frozen=True):
    """DevicePluginActor -> listener: the plugin was away for too long; the resource is gone."""

    resource: str

    def coalesce_key(self) -> Hashable:
        return ("offered", self.resource)


class TellOffers(SoleMessage, frozen=True):
    """ResourceManagerActor -> DevicePluginsActor -> each DevicePluginActor: tell me again what you offer."""


class DeviceAmountsObserved(SoleMessage, frozen=True):
    """ResourceManagerActor -> NodeStatusActor: how many devices of plugins the node has, by resource.

    `allocatable`: those that pods may have. The amounts of other resources stay as they are.
    """

    capacity: FrozenMap[str, int] = FrozenMap()
    allocatable: FrozenMap[str, int] = FrozenMap()


class AllocateDevices(Message, frozen=True):
    """-> DevicePluginsActor -> DevicePluginActor: tell the plugin that this container gets these devices."""

    asker: ActorRef
    resource: str
    uid: str
    container: str
    ids: tuple[str, ...]


class DevicesAllocated(Message, frozen=True):
    """DevicePluginActor -> asker: what the container needs for its devices, or why not (`error`).

    `gone`: the plugin was not there to answer, or went away.
    """

    resource: str
    uid: str
    container: str
    ids: tuple[str, ...]
    setup: DeviceSetup | None
    error: str = ""
    gone: bool = False


class PreferDevices(Message, frozen=True):
    """-> DevicePluginsActor -> DevicePluginActor: which `size` of the available devices go best together?"""

    asker: ActorRef
    resource: str
    uid: str
    container: str
    available: tuple[str, ...]
    included: tuple[str, ...]
    size: int


class DevicesPreferred(Message, frozen=True):
    """DevicePluginActor -> asker: the plugin's wish; empty: it has none, or did not answer."""

    resource: str
    uid: str
    container: str
    ids: tuple[str, ...]


class AnnounceStart(Message, frozen=True):
    """-> DevicePluginsActor -> DevicePluginActor: this container is about to start with these devices."""

    asker: ActorRef
    resource: str
    uid: str
    container: str
    ids: tuple[str, ...]


class StartAnnounced(Message, frozen=True):
    """DevicePluginActor -> asker: the container may start, or why not (`error`)."""

    resource: str
    uid: str
    container: str
    error: str = ""


class DevicesGiven(Message, frozen=True):
    """ResourceManagerActor -> PodWorker: the devices of plugins that your pod has.

    It comes before the answer to `AdmitPod` if the pod asks for such resources, and again whenever something changes.
    `awaited`: resources whose plugin has not come since the agent began; containers start when it has. `announced`:
    resources whose plugin wants to be told of each start. `sick`: resource -> ID -> why the device is not healthy, or
    empty; None: health is not shown.
    """

    devices: PodDevices = FrozenMap()
    awaited: tuple[str, ...] = ()
    announced: frozenset[str] = frozenset()
    sick: FrozenMap[str, FrozenMap[str, str]] | None = None

    def coalesce_key(self) -> Hashable:
        return "devices"


class NodeDevices(Message, frozen=True):
    """All devices of plugins, and who has which. Part of `NodeShares`."""

    offers: FrozenMap[str, Offer] = FrozenMap()
    book: DeviceBook = FrozenMap()
