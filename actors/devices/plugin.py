"""`DevicePluginActor`: the plugin of one resource, its devices, and the calls to it (spec 10.11).

Calls run on a lane with the resource as key, each with a deadline. So a plugin that hangs costs its own pods, and holds
up no other (kubernetes/kubernetes#129249).

A plugin that ends its list has stopped. Its devices count as unhealthy at once, and as capacity for five minutes more:
plugins restart. A list that breaks the limits counts as such an end. The list is read at most every `LIST_PAUSE_NS`,
however often it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, Message, SoleMessage, handles
from actors.messages.devices import (
    AllocateDevices,
    AnnounceStart,
    DevicesAllocated,
    DevicesOffered,
    DevicesPreferred,
    DevicesWithdrawn,
    PluginRegistered,
    PreferDevices,
    StartAnnounced,
    TellOffers,
)
from actors.model.devices import Offer
from runtime.cri.errors import StatusCode
from runtime.device_plugins.capability import (
    Device,
    DevicePlugin,
    DevicePlugins,
    DeviceSetup,
    Following,
    PluginFound,
    PluginOptions,
)
from runtime.metrics import devices as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.plugins.errors import PluginError

SECOND_NS = 1_000_000_000
LIST_PAUSE_NS = SECOND_NS // 10
GRACE_NS = 300 * SECOND_NS
"""How long the devices of a plugin that stopped count as capacity: `endpointStopGracePeriod`."""
CONNECT_NS = 15 * SECOND_NS
READ_NS = 15 * SECOND_NS
CALL_NS = 75 * SECOND_NS
"""For a call that does not keep its own deadline, which is shorter."""
T = TypeVar("T")


class ListChanged(SoleMessage, frozen=True):
    """To itself: the plugin has sent a list of its devices."""


class ListRead(Message, frozen=True):
    """To itself: the newest list; None: none yet, or it is of no use (`error`)."""

    life: int
    devices: tuple[Device, ...] | None
    error: str


class PluginStopped(Message, frozen=True):
    """To itself: the plugin of this life tells no more of its devices."""

    life: int
    reason: str


class GraceOver(SoleMessage, frozen=True):
    """To itself: the plugin has not come back."""


class DevicePluginActor(Actor):
    """See the module. `listener` gets `DevicesOffered` and `DevicesWithdrawn`."""

    max_effects: ClassVar[int] = 64
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(self, resource: str, plugins: DevicePlugins, listener: ActorRef, meters: Meters = UNMEASURED) -> None:
        super().__init__()
        self._meters = meters
        self._resource = resource
        self._plugins = plugins
        self._listener = listener
        self._offer = Offer(connected=False)
        self._trouble = ""
        """Why the plugin is away."""
        self._plugin: DevicePlugin | None = None
        self._following: Following | None = None
        self._life = 0
        """Counts registrations: what an earlier plugin says late counts for nothing."""
        self._read_at_ns = -LIST_PAUSE_NS
        self._reading = False

    def on_stop(self) -> None:
        self._leave()

    def on_failure(self, *_: Any) -> None:
        self._leave()  # the plugin sees its stream end, and registers anew

    # --- its life ---------------------------------------------------------------------------------------------------

    @handles(PluginRegistered)
    async def registered(self, message: PluginRegistered) -> None:
        self._leave()
        self._life += 1
        self._reading = False
        ref, life, found = self.ref, self._life, message.found
        connecting = self._submit(self._connect, found, deadline_ns=CONNECT_NS)
        try:
            plugin, options = await self.wait(connecting, what="a device plugin")
            self._plugin = plugin
            self._following = plugin.follow(
                lambda: ref.tell(ListChanged()), lambda reason: ref.tell(PluginStopped(life, reason))
            )
        except (PluginError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._stopped(str(failure))
            return
        self._offer = Offer(self._offer.devices, options, connected=False)
        self.log.info("device plugin %s is registered at %s", self._resource, found.endpoint)

    def _connect(self, found: PluginFound) -> tuple[DevicePlugin, PluginOptions]:
        """On the lane. Raises PluginError."""
        plugin = self._plugins.connect(found.endpoint)
        return plugin, plugin.options() if found.options is None else found.options

    def _leave(self) -> None:
        if self._following is not None:
            self._following.close()
        if self._plugin is not None:
            self._plugin.close()
        self._following = self._plugin = None

    @handles(PluginStopped)
    def plugin_stopped(self, message: PluginStopped) -> None:
        if message.life == self._life:
            self._stopped(message.reason)

    def _stopped(self, reason: str) -> None:
        self._leave()
        self.log.warning("device plugin %s has stopped: %s", self._resource, reason)
        sick = tuple(msgspec.structs.replace(each, healthy=False) for each in self._offer.devices)
        self._offer = Offer(sick, self._offer.options, connected=False)
        self._trouble = reason
        self._listener.tell(DevicesOffered(self._resource, self._offer, reason))
        self.after(GRACE_NS, GraceOver(), key="grace")

    @handles(GraceOver)
    def grace_over(self, _: GraceOver) -> None:
        self._offer = Offer(connected=False)
        self._listener.tell(DevicesWithdrawn(self._resource))

    @handles(TellOffers)
    def tell_offers(self, _: TellOffers) -> None:
        """Work: constant."""
        if self._offer.devices or self._offer.connected:
            self._listener.tell(DevicesOffered(self._resource, self._offer, self._trouble))

    # --- its devices ------------------------------------------------------------------------------------------------

    @handles(ListChanged)
    def list_changed(self, _: ListChanged) -> None:
        following, life = self._following, self._life
        left_ns = self._read_at_ns + LIST_PAUSE_NS - self.now_ns()
        if following is None:
            return
        if self._reading or left_ns > 0:
            self.after(max(left_ns, LIST_PAUSE_NS), ListChanged(), key="list")
            return
        self._reading = True
        self.attempt(
            lambda: self._submit(following.newest, deadline_ns=READ_NS),
            lambda devices, error: ListRead(life, devices, error),
        )

    @handles(ListRead)
    def list_read(self, message: ListRead) -> None:
        """Work: the devices of the plugin."""
        if message.life != self._life:
            return
        self._reading, self._read_at_ns = False, self.now_ns()
        if message.error:
            self._stopped(message.error)
        elif message.devices is not None and self._plugin is not None:
            self.cancel_timer("grace")
            offer = Offer(message.devices, self._offer.options)
            if offer != self._offer:
                self._offer, self._trouble = offer, ""
                self._listener.tell(DevicesOffered(self._resource, offer))

    # --- calls ------------------------------------------------------------------------------------------------------

    @handles(AllocateDevices)
    def allocate(self, asked: AllocateDevices) -> None:
        plugin = self._plugin
        of_whom = (asked.resource, asked.uid, asked.container, asked.ids)
        if plugin is None:
            asked.asker.tell(DevicesAllocated(*of_whom, None, self._gone(), gone=True))
            return

        began_ns = self.now_ns()

        def tell(setup: DeviceSetup | None, error: str) -> None:
            self._meters.observe(names.ALLOC_DURATION, (self.now_ns() - began_ns) / SECOND_NS, self._resource)
            gone = self._plugin is not plugin or (setup is None and not error)
            asked.asker.tell(DevicesAllocated(*of_whom, setup, error or ("" if setup else self._gone()), gone=gone))

        self._call(lambda: _unless_away(lambda: plugin.allocate(asked.ids)), tell)

    @handles(PreferDevices)
    def prefer(self, asked: PreferDevices) -> None:
        plugin = self._plugin

        def tell(ids: tuple[str, ...] | None, error: str) -> None:
            if error:
                self.log.warning("device plugin %s does not say which devices it prefers: %s", self._resource, error)
            asked.asker.tell(DevicesPreferred(asked.resource, asked.uid, asked.container, ids or ()))

        if plugin is None or not self._offer.options.prefers:
            tell((), "")
        else:
            self._call(lambda: plugin.prefer(asked.available, asked.included, asked.size), tell)

    @handles(AnnounceStart)
    def announce_start(self, asked: AnnounceStart) -> None:
        plugin = self._plugin

        def tell(_: None, error: str) -> None:
            why = f"device plugin PreStartContainer rpc failed with err: {error}" if error else ""
            asked.asker.tell(StartAnnounced(asked.resource, asked.uid, asked.container, why))

        if not self._offer.options.pre_start:
            tell(None, "")
        elif plugin is None:
            tell(None, self._gone())
        else:
            self._call(lambda: plugin.pre_start(asked.ids), tell)

    def _gone(self) -> str:
        return f"endpoint {self._resource} has been stopped"

    def _call(self, call: Callable[[], T], then: Callable[[T | None, str], None]) -> None:
        self.attempt(lambda: self._submit(call, deadline_ns=CALL_NS), then)

    def _submit(self, call: Callable[..., T], *arguments: Any, deadline_ns: int) -> Any:
        lane = self.lane("device-plugins", size=8, per_key=2)
        return lane.submit(self._resource, call, *arguments, deadline_ns=deadline_ns)


def _unless_away(call: Callable[[], T]) -> T | None:
    """The answer of a plugin; None: it is away, which its stream will say, too. Raises PluginError."""
    try:
        return call()
    except PluginError as failure:
        if failure.code is StatusCode.UNAVAILABLE:
            return None
        raise
