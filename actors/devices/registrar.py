"""`DevicePluginsActor`: lets device plugins register, and passes requests on (spec 10.11).

The socket for registrations is made once, when the first actor of this kind starts. A node that begins is not Ready
before: plugins and pods find the socket (spec 10.11). Without it no plugin can come; so making it is tried again, and
the node is Ready meanwhile.
"""

from __future__ import annotations

from typing import Any, ClassVar

from actors.devices.plugin import DevicePluginActor
from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles
from actors.messages.devices import AllocateDevices, AnnounceStart, PluginRegistered, PreferDevices, TellOffers
from actors.messages.node import NodeProblemObserved, NodeStatusStarted
from actors.node_object.capacity import is_extended
from runtime.device_plugins.capability import DevicePlugins, PluginFound, Registrations
from runtime.metrics import devices as names
from runtime.metrics.meters import UNMEASURED, Meters

SECOND_NS = 1_000_000_000
SERVE_NS = 15 * SECOND_NS
SERVE_AGAIN_NS = 30 * SECOND_NS
TROUBLE, NOT_YET = "device plugins", "device plugins cannot register yet"
PLUGINS_AT_MOST = 64
"""Resources of one node with a plugin. Each costs an actor, a connection and a thread."""
NAME_CHARACTERS_AT_MOST = 317
"""Of a resource: a domain of 253, a slash, and a name of 63."""


class Serve(SoleMessage, frozen=True):
    """To itself: make the socket for registrations."""


class ServingTried(Message, frozen=True):
    """To itself: the socket is there, or why not."""

    error: str


class DevicePluginsActor(Actor):
    """See the module. `listener` is told of devices, `node` (NodeStatusActor) that the socket is tried."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self, plugins: DevicePlugins, listener: ActorRef, node: ActorRef | None = None, meters: Meters = UNMEASURED
    ) -> None:
        super().__init__()
        self._meters = meters
        self._node = node
        self._is_tried = False
        self._plugins = plugins
        self._listener = listener
        self._registrations: Registrations | None = None
        self._tried = ""

    def on_start(self) -> None:
        self._tell_start()
        self.ref.tell(Serve())

    def on_stop(self) -> None:
        if self._registrations is not None:
            self._registrations.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life makes the socket anew, and plugins register again

    @handles(NodeStatusStarted)
    def tell_again(self, _: NodeStatusStarted) -> None:
        """Work: constant."""
        self._tell_start()

    def _tell_start(self) -> None:
        if self._node is not None and not self._is_tried:
            self._node.tell(NodeProblemObserved(TROUBLE, NOT_YET, starting=True))

    @handles(Serve)
    def serve(self, _: Serve) -> None:
        ref, plugins = self.ref, self._plugins

        def accept(found: PluginFound) -> str:
            why = name_fault(found.resource)
            if not why:
                ref.tell(PluginRegistered(found))
            return why

        def take(registrations: Registrations | None, error: str) -> ServingTried:
            self._registrations = registrations
            return ServingTried(error)

        lane = self.lane("device-plugins", size=8, per_key=2)
        self.attempt(lambda: lane.submit("", plugins.serve, accept, deadline_ns=SERVE_NS), take)

    @handles(ServingTried)
    def serving_tried(self, message: ServingTried) -> None:
        if self._node is not None and not self._is_tried:
            self._node.tell(NodeProblemObserved(TROUBLE, ""))
        self._is_tried = True
        if message.error:
            if message.error != self._tried:
                self.log.error("no device plugin can register: %s", message.error)
            self._tried = message.error
            self.after(SERVE_AGAIN_NS, Serve())

    @handles(PluginRegistered)
    def registered(self, message: PluginRegistered) -> None:
        resource, children = message.found.resource, self.children
        plugin = children.get(_name(resource))
        if plugin is None:
            if len(children) >= PLUGINS_AT_MOST:
                self.log.error("device plugin %s is left out: this node has %d already", resource, len(children))
                return
            plugin = self._spawn(resource)
        self._meters.count(names.REGISTRATIONS, resource)
        plugin.tell(message)

    def _spawn(self, resource: str) -> ActorRef:
        arguments = (resource, self._plugins, self._listener, self._meters)
        return self.spawn(DevicePluginActor, *arguments, name=_name(resource))

    @handles(TellOffers)
    def tell_offers(self, message: TellOffers) -> None:
        """Work: the resources with a plugin."""
        for plugin in self.children.values():
            plugin.tell(message)

    @handles(AllocateDevices, PreferDevices, AnnounceStart)
    def pass_on(self, message: AllocateDevices | PreferDevices | AnnounceStart) -> None:
        plugin = self.children.get(_name(message.resource))
        if plugin is None:  # it was known in an earlier life only
            plugin = self._spawn(message.resource)
        plugin.tell(message)


def name_fault(resource: str) -> str:
    """Why a plugin cannot offer a resource of this name, in a kubelet's words; or empty."""
    domain, _, name = resource.partition("/")
    fits = len(resource) <= NAME_CHARACTERS_AT_MOST and name and "/" not in name and resource.isprintable()
    if not fits or not is_extended(resource) or domain.startswith("requests."):
        return f'the ResourceName "{resource[:NAME_CHARACTERS_AT_MOST]}" is invalid'
    return ""


def _name(resource: str) -> str:
    return resource.replace("/", ":")
