"""`PluginWatcherActor` finds the plugins of this node and registers their storage drivers.

Each socket below `plugins_registry` is a plugin. The actor asks for its identity and judges it (`rules.py`), asks the
driver for its node ID, publishes the driver (`CsiNodeActor`), and tells the plugin the result. It reports every failure
to the plugin and retries with growing pauses while the socket exists. A refusal for good is retried only with a new
socket. When the socket goes, so does the registration.

A driver for claims of devices is registered as soon as it is accepted; it publishes what it has by itself. A device
plugin is handed over to `DevicePluginsActor`, which connects to it as to one that registered itself.

The directory is watched; a change only triggers a new listing, and a timer triggers one too. Calls run on a lane keyed
by socket, so a plugin that hangs delays no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from actors.kernel import Actor, ActorRef, MailboxOverflowed, Message, handles
from actors.messages.counts import CountPlugins, PluginCount
from actors.messages.devices import PluginRegistered
from actors.messages.plugins import (
    AskDriverAgain,
    CsiNodeStarted,
    DriverPublished,
    DriversChanged,
    PublishDriver,
    WithdrawDriver,
)
from actors.messages.resource_claims import DraDriversChanged
from actors.volumes.plugins.rules import DevicesTaken, DraTaken, Holder, PluginRefused, Taken, judge, retry_ns
from actors.volumes.plugins.visits import (
    DriverAnswered,
    LookForPlugins,
    Plugin,
    PluginIntroduced,
    PluginTold,
    SocketsListed,
    TryPlugin,
    Visit,
)
from config.frozen_map import FrozenMap
from runtime.csi.capability import CsiDrivers, NodeInfo
from runtime.device_plugins.capability import PluginFound
from runtime.dra.capability import DraDrivers
from runtime.plugin_registration.capability import PluginSockets, PluginWatch
from runtime.plugins.errors import PluginError

SECOND_NS = 1_000_000_000
LOOK_NS = 30 * SECOND_NS
LOOK_LIMIT_NS = 10 * SECOND_NS
ASK_LIMIT_NS = 15 * SECOND_NS
DRIVER_LIMIT_NS = 125 * SECOND_NS
SOON_NS = SECOND_NS
NO_LISTENERS: tuple[ActorRef, ...] = ()
T = TypeVar("T")


class PluginWatcherActor(Actor):
    """See the module. `csi_node` publishes drivers; `listeners` receive `DriversChanged`."""

    max_effects: ClassVar[int] = 64
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(
        self,
        sockets: PluginSockets,
        drivers: CsiDrivers,
        csi_node: ActorRef,
        listeners: tuple[ActorRef, ...] = NO_LISTENERS,
        device_plugins: ActorRef | None = None,
        dra: DraDrivers | None = None,
        dra_listeners: tuple[ActorRef, ...] = NO_LISTENERS,
    ) -> None:
        super().__init__()
        self._sockets = sockets
        self._drivers = drivers
        self._csi_node = csi_node
        self._listeners = listeners
        self._device_plugins = device_plugins
        self._dra = dra
        self._dra_listeners = dra_listeners
        self._plugins: dict[str, Plugin] = {}
        self._listing = False
        self._look_again = False
        self._unwatched = ""
        self._watch: PluginWatch | None = None
        self._inherited: tuple[str, ...] = ()
        """Drivers that an earlier life of this actor registered, until the first listing shows which are left."""
        self._dra_inherited: tuple[str, ...] = ()
        """The same for drivers of claims."""

    def on_start(self) -> None:
        self._inherited = self._drivers.names()
        self._dra_inherited = self._dra.names() if self._dra is not None else ()
        ref = self.ref
        self._watch = self._sockets.watch(lambda: ref.tell(LookForPlugins()))
        ref.tell(LookForPlugins())
        self.every(LOOK_NS, LookForPlugins())

    def on_stop(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life watches anew

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        self.ref.tell(LookForPlugins())

    @handles(CountPlugins)
    def count(self, _: CountPlugins) -> PluginCount:
        registered = (socket for socket, plugin in self._plugins.items() if plugin.registered)
        return PluginCount(tuple(sorted(self._plugins)), tuple(sorted(registered)))

    # --- which sockets there are ------------------------------------------------------------------------------------

    @handles(LookForPlugins)
    def look(self, _: LookForPlugins) -> None:
        if self._listing:
            self._look_again = True
            return
        self._listing, self._look_again = True, False
        watch, sockets = self._watch, self._sockets

        def list_them() -> SocketsListed:
            trouble = watch.renew() if watch is not None else ""
            return SocketsListed(FrozenMap(sockets.sockets()), trouble)

        self._on_lane("", list_them, LOOK_LIMIT_NS, lambda found, error: found or SocketsListed(None, error))

    @handles(SocketsListed)
    def listed(self, message: SocketsListed) -> None:
        self._listing = False
        if message.error and message.error != self._unwatched:
            self.log.warning("new plugins are not noticed at once: %s", message.error)
        self._unwatched = message.error
        if message.sockets is None:
            return
        for socket in sorted(self._plugins.keys() - message.sockets.keys()):
            self._forget(self._plugins.pop(socket))
        for socket, identity in sorted(message.sockets.items()):
            known = self._plugins.get(socket)
            if known is not None and known.visit.identity == identity:
                continue
            # A new socket at the same path: the plugin has restarted. It stays registered while it is asked again.
            before = known if known is not None and known.registered else None
            plugin = Plugin(Visit(socket, identity))
            if before is not None:
                plugin.taken, plugin.registered, plugin.info = before.taken, True, before.info
                plugin.dra = before.dra
            self._plugins[socket] = plugin
            self._ask(plugin)
        if not any(plugin.busy for plugin in self._plugins.values()):
            self._drop_inherited()
        if self._look_again:
            self.ref.tell(LookForPlugins())

    def _drop_inherited(self) -> None:
        for name in self._inherited:
            if not self._is_claimed(name):
                self._withdraw(name)
        self._inherited = ()
        for name in self._dra_inherited:
            if not any(plugin.dra is not None and plugin.dra.name == name for plugin in self._plugins.values()):
                self._drop_all_dra(name)
        self._dra_inherited = ()

    def _forget(self, plugin: Plugin) -> None:
        self.cancel_timer(plugin.visit.socket)
        self._drop_dra(plugin)
        if plugin.registered and plugin.taken is not None and self._holder_of(plugin.taken.name) is None:
            self._withdraw(plugin.taken.name)

    def _withdraw(self, name: str) -> None:
        self.log.info("storage driver %s has gone", name)
        self._drivers.unregister(name)
        self._csi_node.tell(WithdrawDriver(name))
        self._tell_names()

    # --- who a plugin is --------------------------------------------------------------------------------------------

    def _ask(self, plugin: Plugin) -> None:
        plugin.busy = True
        visit, sockets = plugin.visit, self._sockets
        self._on_lane(
            visit.socket,
            lambda: sockets.ask(visit.socket),
            ASK_LIMIT_NS,
            lambda info, error: PluginIntroduced(visit, info, error),
        )

    @handles(TryPlugin)
    def try_plugin(self, message: TryPlugin) -> None:
        plugin = self._current(message.visit)
        if plugin is not None and plugin.busy:
            self.after(SOON_NS, message, key=message.visit.socket)
        elif plugin is not None:
            self._ask(plugin)

    @handles(PluginIntroduced)
    def introduced(self, message: PluginIntroduced) -> None:
        plugin = self._current(message.visit)
        if plugin is None:
            return
        if message.info is None:
            plugin.busy = False
            # It does not answer, so it is not notified either.
            self._failed(plugin, f"the plugin at {message.visit.socket} does not say who it is: {message.error}")
            return
        judgement = judge(message.info, message.visit.socket, self._holder_of(message.info.name))
        if isinstance(judgement, PluginRefused):
            self._refuse(plugin, judgement.reason, for_good=judgement.for_good)
            return
        if isinstance(judgement, DevicesTaken):
            self._hand_over(plugin, judgement)
            return
        if isinstance(judgement, DraTaken):
            self._take_dra(plugin, judgement)
            return
        if plugin.taken is not None and plugin.taken.name != judgement.name:
            self._unregister(plugin)
        plugin.taken = judgement
        self._ask_driver(plugin, judgement)

    def _hand_over(self, plugin: Plugin, taken: DevicesTaken) -> None:
        if self._device_plugins is None:
            self._refuse(plugin, f"device plugins are not served on this node: {taken.name} is not used", for_good=True)
            return
        self._device_plugins.tell(PluginRegistered(PluginFound(taken.name, taken.endpoint)))
        plugin.registered, plugin.failures, plugin.said = True, 0, ""
        self._notify(plugin, "")

    def _take_dra(self, plugin: Plugin, taken: DraTaken) -> None:
        if self._dra is None:
            text = f"drivers for claims of devices are not served on this node: {taken.name} is not used"
            self._refuse(plugin, text, for_good=True)
            return
        if plugin.dra is not None and plugin.dra != taken:
            self._drop_dra(plugin)
        try:
            self._dra.register(taken.name, taken.endpoint, taken.service)
        except PluginError as failure:
            self._refuse(plugin, str(failure), for_good=True)
            return
        self.log.info("driver %s for claims of devices is registered at %s", taken.name, taken.endpoint)
        plugin.dra, plugin.registered, plugin.failures, plugin.said = taken, True, 0, ""
        self._notify(plugin, "")
        self._tell_dra()

    def _drop_dra(self, plugin: Plugin) -> None:
        taken, plugin.dra = plugin.dra, None
        if taken is not None and self._dra is not None:
            self.log.info("driver %s for claims of devices has gone from %s", taken.name, taken.endpoint)
            self._dra.unregister(taken.name, taken.endpoint)
            self._tell_dra()

    def _drop_all_dra(self, name: str) -> None:
        """Nobody is left of this driver."""
        while self._dra is not None and (driver := self._dra.find(name)) is not None:
            self._dra.unregister(name, driver.endpoint)
        self._tell_dra()

    def _tell_dra(self) -> None:
        for listener in self._dra_listeners:
            listener.tell(DraDriversChanged(self._dra.names() if self._dra is not None else ()))

    # --- what its driver calls this node ----------------------------------------------------------------------------

    def _ask_driver(self, plugin: Plugin, taken: Taken) -> None:
        plugin.busy = True
        visit, drivers = plugin.visit, self._drivers
        self._on_lane(
            visit.socket,
            lambda: drivers.register(taken.name, taken.endpoint).info(),
            DRIVER_LIMIT_NS,
            lambda info, error: DriverAnswered(visit, taken.name, info, error),
        )

    @handles(DriverAnswered)
    def driver_answered(self, message: DriverAnswered) -> None:
        plugin = self._current(message.visit)
        if plugin is None or plugin.taken is None:
            # The socket has gone while its driver was asked, so undo the registration.
            if not self._is_claimed(message.name):
                self._drivers.unregister(message.name)
            return
        info, name = message.info, plugin.taken.name
        if message.again:
            plugin.busy = False
            if info is not None and info.node_id:
                self._publish(plugin, None, name, info)
        elif info is None:
            self._refuse(plugin, f"driver {name} does not say what it calls this node: {message.error}")
        elif not info.node_id:
            self._refuse(plugin, f"driver {name} has no name for this node: its nodeID is empty")
        else:
            self._publish(plugin, message.visit, name, info)

    def _publish(self, plugin: Plugin, tag: Visit | None, name: str, info: NodeInfo) -> None:
        plugin.info = info
        self._csi_node.tell(PublishDriver(self.ref, tag, name, info))

    @handles(CsiNodeStarted)
    def publish_again(self, _: CsiNodeStarted) -> None:
        """Publish all drivers again: the restarted actor has lost them and the pending answers."""
        for plugin in self._plugins.values():
            if plugin.taken is not None and plugin.info is not None:
                tag = None if plugin.registered else plugin.visit
                self._publish(plugin, tag, plugin.taken.name, plugin.info)

    @handles(DriverPublished)
    def driver_published(self, message: DriverPublished) -> None:
        plugin = self._current(message.tag) if isinstance(message.tag, Visit) else None
        if plugin is None or plugin.taken is None:
            return
        if message.error:
            self._refuse(plugin, message.error)
            return
        if not plugin.registered:
            self.log.info("storage driver %s is registered at %s", plugin.taken.name, plugin.taken.endpoint)
        self._displace(plugin, plugin.taken.name)
        plugin.registered = True
        plugin.failures = 0
        plugin.said = ""
        self._notify(plugin, "")
        self._tell_names()

    def _displace(self, newcomer: Plugin, name: str) -> None:
        """Take the name from any other plugin: it belongs to the newcomer now."""
        for plugin in self._plugins.values():
            if plugin is not newcomer and _is_named(plugin, name):
                plugin.registered, plugin.taken, plugin.info = False, None, None

    @handles(AskDriverAgain)
    def ask_driver_again(self, message: AskDriverAgain) -> None:
        for plugin in self._plugins.values():
            if plugin.registered and not plugin.busy and _is_named(plugin, message.name):
                self._count_again(plugin, message.name)

    def _count_again(self, plugin: Plugin, name: str) -> None:
        visit, driver = plugin.visit, self._drivers.find(name)
        if driver is not None:
            plugin.busy = True
            self._on_lane(
                visit.socket,
                driver.info,
                DRIVER_LIMIT_NS,
                lambda info, error: DriverAnswered(visit, name, info, error, again=True),
            )

    # --- what becomes of it -----------------------------------------------------------------------------------------

    def _refuse(self, plugin: Plugin, reason: str, *, for_good: bool = False) -> None:
        """Tell the plugin the reason, and retry unless it is refused for good."""
        self._unregister(plugin)
        self._notify(plugin, reason)
        if for_good:
            self.log.warning("%s", reason)
            plugin.said = reason
        else:
            self._failed(plugin, reason)

    def _failed(self, plugin: Plugin, reason: str) -> None:
        if reason != plugin.said:
            self.log.warning("%s", reason)
            plugin.said = reason
        plugin.failures += 1
        self.after(retry_ns(plugin.failures), TryPlugin(plugin.visit), key=plugin.visit.socket)

    def _unregister(self, plugin: Plugin) -> None:
        taken, plugin.taken, plugin.info = plugin.taken, None, None
        was, plugin.registered = plugin.registered, False
        if taken is not None and self._holder_of(taken.name) is None:
            if was:
                self._withdraw(taken.name)
            else:
                self._drivers.unregister(taken.name)

    def _notify(self, plugin: Plugin, error: str) -> None:
        plugin.busy = True
        visit, sockets = plugin.visit, self._sockets

        def say() -> None:
            sockets.notify(visit.socket, registered=not error, error=error)

        self._on_lane(visit.socket, say, ASK_LIMIT_NS, lambda _, error: PluginTold(visit, error))

    @handles(PluginTold)
    def plugin_told(self, message: PluginTold) -> None:
        plugin = self._current(message.visit)
        if plugin is None:
            return
        plugin.busy = False
        if message.error and plugin.registered:
            # Like the kubelet: a plugin that did not hear of its registration is asked again from the start.
            self._failed(plugin, f"the plugin at {message.visit.socket} cannot be told of it: {message.error}")

    def _tell_names(self) -> None:
        names = tuple(
            sorted(plugin.taken.name for plugin in self._plugins.values() if plugin.registered and plugin.taken)
        )
        for listener in self._listeners:
            listener.tell(DriversChanged(names))

    # --- parts ------------------------------------------------------------------------------------------------------

    def _current(self, visit: Visit) -> Plugin | None:
        plugin = self._plugins.get(visit.socket)
        return plugin if plugin is not None and plugin.visit == visit else None

    def _is_claimed(self, name: str) -> bool:
        return any(_is_named(plugin, name) for plugin in self._plugins.values())

    def _holder_of(self, name: str) -> Holder | None:
        for plugin in self._plugins.values():
            if plugin.registered and plugin.taken is not None and plugin.taken.name == name:
                return Holder(plugin.visit.socket, plugin.taken.version)
        return None

    def _on_lane(
        self, key: str, call: Callable[[], T], limit_ns: int, then: Callable[[T | None, str], Message]
    ) -> None:
        lane = self.lane("plugins", size=2, per_key=2)
        self.attempt(lambda: lane.submit(key, call, deadline_ns=limit_ns), then)


def _is_named(plugin: Plugin, name: str) -> bool:
    return plugin.taken is not None and plugin.taken.name == name
