"""`NodeStatusActor`: the only writer of this node's Node object (spec 9.1 to 9.5).

It writes through its `NodeWriter`.

It registers the node, or corrects an existing object. Then it looks every `nodeStatusUpdateFrequency` and writes any
change; without a change it writes after `nodeStatusReportFrequency`. Whatever makes the node ready or not triggers a
look at once, so nothing polls at the start. A child reads the machine on a lane and lists the images. A look
does not wait for it: it uses the last value of each. While the API does not answer, a look waits for it, bounded;
messages that arrive meanwhile are handled right after.

A child follows the object to see the changes of others; while it cannot, the object is read before each look. Actors
that need the node (labels, addresses, resources) get `NodeObserved` when it changes.

A deleted Node stays away until the agent starts again, as with a kubelet, or until somebody makes it. The pods of the
node run on meanwhile.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles
from actors.messages.devices import DeviceAmountsObserved
from actors.messages.events import RecordEvent
from actors.messages.island import NodeRecalled
from actors.messages.node import (
    DiskObserved,
    ImagesChanged,
    ImagesObserved,
    MachineObserved,
    NetworkObserved,
    NodePressureObserved,
    NodeProblemObserved,
    NodeSeen,
    NodeStatusStarted,
    RefusedOwnersObserved,
    RuntimeDescribed,
    RuntimeListed,
    SayNodeAgain,
    SurveyAgain,
    TellConditions,
    VolumesInUseObserved,
)
from actors.messages.plugins import DriversOnNodeObserved
from actors.messages.pods import FollowNode, NodeObserved, RuntimeStateObserved
from actors.node.status.startup import NodeStartup
from actors.node.status.survey import NodeSurveyActor
from actors.node.status.watch import NodeWatchActor
from actors.node.status.writer import NodeWriter, status_of
from actors.node_object import capacity as amounts
from actors.node_object.addresses import node_ips
from actors.node_object.conditions import ConditionVerdict, is_ready
from actors.node_object.events import events_of, node_event
from actors.node_object.node_info import has_rebooted
from actors.node_object.readiness import SILENCE_NS, look_again_ns
from actors.node_object.settings import NodeSettings
from actors.node_object.status import Seen, next_node, volumes_in_use, wanted_conditions
from config.objects import Node, NodeStatus
from runtime.api import Api
from runtime.cri import Cri
from runtime.host.facts import HostFacts
from runtime.host.machine import MachineFacts
from runtime.host.network import NetworkFacts
from runtime.metrics.meters import UNMEASURED, Meters

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
FIRST_NS = 100 * MILLISECOND_NS
"""Before the first look, and the first step of the registration's back-off.

Other actors report in that time.
"""
REGISTER_MAX_NS = 7 * SECOND_NS
JITTER = 0.04
SOON_NS = SECOND_NS
"""The least time between two looks, once the node has been ready; before that it is `FIRST_NS`."""

NOBODY: tuple[ActorRef, ...] = ()


class Compute(SoleMessage, frozen=True):
    """To itself: time to look, and to write if needed."""


class Reconsider(Message, frozen=True):
    """To itself: a source may have been silent for too long now."""


class NodeStatusActor(Actor):
    """See the module.

    `api`: the line for heartbeats (`ApiLines.leases`), which has no limit and drops connections that do not answer.
    None: the node stands alone, and only this actor has its object. `listeners` get `NodeObserved`. `expected` gets it
    even before registration, with the object to be registered, since static pods start without an API server.
    `informants` report only changes, so they are asked to report again at the start. `recalls`: an `IslandActor` tells
    what it remembers of the node. Nobody hears of an expected node before.
    """

    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(
        self,
        api: Api | None,
        cri: Cri,
        host: HostFacts,
        settings: NodeSettings,
        events: ActorRef,
        listeners: tuple[ActorRef, ...] = NOBODY,
        expected: ActorRef | None = None,
        meters: Meters = UNMEASURED,
        informants: tuple[ActorRef, ...] = NOBODY,
        *,
        recalls: bool = False,
    ) -> None:
        super().__init__()
        self._recalled = not recalls
        self._api = api
        self._cri = cri
        self._host = host
        self._settings = settings
        self._events = events
        self._expected = expected
        self._informants = informants
        self._machine: MachineFacts | None = None
        self._network: NetworkFacts | None = None
        self._seen = Seen(ips=settings.registration.found)
        self._starting: frozenset[str] = frozenset()
        """Sources of troubles that only say that they have begun."""
        self._wanted: tuple[ConditionVerdict, ...] = ()
        """The verdicts of the last look."""
        self._writer = NodeWriter(
            self,
            api,
            settings,
            events,
            listeners,
            NodeStartup(meters, self.now_ns()),
            compose=self._next,
            events_of=self._events_of,
            taking_over=self._take_over,
        )
        self._register_step_ns = FIRST_NS
        self._began_ns = self._looked_at_ns = self.now_ns()

    def on_start(self) -> None:
        self._events.tell(node_event(self._settings.name, "Normal", "Starting", "Starting kubelet."))
        for informant in self._informants:
            informant.tell(NodeStatusStarted())
        settings, children = self._settings, self.children
        for remark in settings.remarks:
            self._events.tell(node_event(settings.name, "Warning", remark.reason, remark.message))
        if "survey" in children:  # this actor was restarted
            children["survey"].tell(SurveyAgain())
        else:
            period_ns = settings.configuration.node_status_update_frequency
            host, directory = self._host, settings.root_directory
            self.spawn(NodeSurveyActor, self._cri, host, settings.name, directory, period_ns, self.ref, name="survey")
        if "watch" in children:
            children["watch"].tell(SayNodeAgain())
        elif self._api is not None:
            self.spawn(NodeWatchActor, self._api, settings.name, self.ref, name="watch")
        self.after(FIRST_NS, Compute())

    # --- the look ---------------------------------------------------------------------------------------------------

    @handles(Compute)
    async def compute(self, _: Compute) -> None:
        """Work: the Node object."""
        next_ns = await self._attempt()
        if self._writer.failing and self._machine is not None:
            self._writer.tell_remembered(self._machine)
        self._looked_at_ns = self.now_ns()
        self.after(next_ns, Compute())
        self._wait_for_silence()

    async def _attempt(self) -> int:
        """Register or update. Returns the time until the next look."""
        if self._machine is None:
            return FIRST_NS
        if self._writer.registered or not self._settings.configuration.register_node:
            self._writer.registered = True
            await self._writer.update()
        elif not await self._writer.register(self._machine):
            self._register_step_ns = min(2 * self._register_step_ns, REGISTER_MAX_NS)
            return self._register_step_ns
        self._register_step_ns = FIRST_NS
        return self._frequency_ns()

    def _frequency_ns(self) -> int:
        frequency_ns = self._settings.configuration.node_status_update_frequency
        return int(frequency_ns * (1 + JITTER * self.chance.random()))

    def _take_over(self, existing: Node) -> None:
        """Keep an earlier agent's Ready on this boot for a while.

        Missing knowledge is no reason to withdraw it.
        """
        machine, published = self._machine, status_of(existing)
        if is_ready(published.conditions) and machine and not has_rebooted(published.node_info, machine):
            known = {source: text for source, text in self._seen.troubles.items() if source not in self._starting}
            self._learn(troubles=known)
            self._health(keeps_ready_until_ns=self._began_ns + SILENCE_NS)

    def _next(self, node: Node) -> Node:
        assert self._machine is not None, "nothing is registered before the machine is known"
        self._wanted = self._wanted_now(status_of(node), self._machine)
        now_ns, wall_ns = self.now_ns(), self.wall_ns()
        return next_node(node, self._machine, self._seen, self._settings, now_ns=now_ns, wall_ns=wall_ns)

    # --- the object as it is ----------------------------------------------------------------------------------------

    @handles(NodeSeen)
    def node_seen(self, message: NodeSeen) -> None:
        # A missing node may have been deleted, or be too new for the watch: the next look asks the API.
        """Work: the Node object."""
        self._writer.watched = message.live and message.node is not None
        if not self._writer.registered:
            return
        if message.node is not None:
            self._writer.hold(message.node)
        elif message.live and self._writer.node is not None:
            self._look_soon(SOON_NS)

    @handles(FollowNode)
    def follow_node(self, message: FollowNode) -> None:
        """Work: constant."""
        self._writer.follow(message.follower)
        if message.follower == self._expected:
            self._tell_expected()

    # --- reports of other actors ------------------------------------------------------------------------------------

    @handles(RuntimeStateObserved)
    def runtime_state(self, message: RuntimeStateObserved) -> None:
        """Work: constant."""
        self._health(state=message)

    @handles(RuntimeListed)
    def runtime_listed(self, message: RuntimeListed) -> None:
        """Work: constant."""
        self._health(listed_at_ns=message.at_ns)

    @handles(RuntimeDescribed)
    def runtime_described(self, message: RuntimeDescribed) -> None:
        """Work: constant."""
        self._learn(
            runtime_name=message.name,
            runtime_version=message.version,
            handlers=message.handlers,
            features=message.features,
        )

    @handles(NodePressureObserved)
    def pressure(self, message: NodePressureObserved) -> None:
        """Work: constant."""
        self._learn(pressures=message)
        self._consider()

    @handles(RefusedOwnersObserved)
    def refused_owners(self, message: RefusedOwnersObserved) -> None:
        """Work: constant."""
        self._learn(refused=message)
        self._consider()

    @handles(NodeProblemObserved)
    def trouble(self, message: NodeProblemObserved) -> None:
        """Work: constant."""
        if message.starting:
            if self._writer.registered or not self._settings.configuration.register_node:
                return
            self._starting |= {message.source}
        self._learn(troubles={**self._seen.troubles, message.source: message.reason})
        self._consider()

    @handles(VolumesInUseObserved)
    def volumes_in_use(self, message: VolumesInUseObserved) -> None:
        """Publish soon. Pods wait for it: until the node lists a volume, the controller might detach it.

        Work: the volumes that are in use.
        """
        self._learn(volumes_in_use=message)
        status = status_of(self._writer.node) if self._writer.node is not None else None
        if status is not None and status.volumes_in_use != volumes_in_use(status, message):
            self._publish_soon()

    @handles(DriversOnNodeObserved)
    def drivers_on_node(self, message: DriversOnNodeObserved) -> None:
        """Work: constant."""
        self._learn(drivers=message)
        self._publish_soon()

    @handles(DeviceAmountsObserved)
    def device_amounts(self, message: DeviceAmountsObserved) -> None:
        """Publish soon: pods wait for devices.

        Work: the resources with a plugin.
        """
        if message != self._seen.devices:
            self._learn(devices=message)
            self._publish_soon()

    @handles(TellConditions)
    def tell_conditions(self, _: TellConditions) -> tuple[ConditionVerdict, ...]:
        """Work: constant."""
        return self._wanted

    @handles(Reconsider)
    def reconsider(self, _: Reconsider) -> None:
        """Work: constant."""
        self._consider()

    def _health(self, **fields: Any) -> None:
        self._learn(health=msgspec.structs.replace(self._seen.health, **fields))
        self._consider()

    def _learn(self, **fields: Any) -> None:
        self._seen = msgspec.structs.replace(self._seen, **fields)

    def _consider(self) -> None:
        """Look soon when the conditions would change since the last look.

        After a failure, the back-off applies.
        """
        node = self._writer.node
        if not self._writer.registered or self._writer.failing or node is None or self._machine is None:
            return
        status = status_of(node)
        if self._wanted_now(status, self._machine) != self._wanted:
            self._look_soon(SOON_NS if is_ready(status.conditions) else FIRST_NS)
        self._wait_for_silence()

    def _publish_soon(self) -> None:
        """Look soon for a change other than a condition. After a failure, the back-off applies."""
        if self._writer.registered and not self._writer.failing:
            self._look_soon(SOON_NS)

    def _look_soon(self, pause_ns: int) -> None:
        """Look at once, but keep the pause after the last look."""
        self.after(max(0, self._looked_at_ns + pause_ns - self.now_ns()), Compute())

    def _wanted_now(self, status: NodeStatus, machine: MachineFacts) -> tuple[ConditionVerdict, ...]:
        configuration = self._settings.configuration
        capacity = amounts.capacity(status.capacity, machine, self._seen.disk_bytes, configuration)
        return wanted_conditions(self._seen, self._settings, capacity, self.now_ns())

    def _wait_for_silence(self) -> None:
        left_ns = look_again_ns(self._seen.health, self.now_ns())
        if left_ns is not None:
            self.after(left_ns, Reconsider())

    # --- facts of the machine and the runtime -----------------------------------------------------------------------

    @handles(MachineObserved)
    def machine_observed(self, message: MachineObserved) -> None:
        """Work: constant."""
        self._machine = message.machine
        self._tell_expected()

    @handles(NodeRecalled)
    def node_recalled(self, message: NodeRecalled) -> None:
        """Work: the Node object."""
        self._recalled, self._writer.remembered = True, message.node
        self._tell_expected()

    def _tell_expected(self) -> None:
        if not self._recalled:
            return
        if self._writer.told is None and self._expected is not None and self._machine is not None:
            self._expected.tell(NodeObserved(self._writer.expected(self._machine)))

    @handles(NetworkObserved)
    def network_observed(self, message: NetworkObserved) -> None:
        """Work: constant."""
        network = message.network
        if network.looked_up is None and self._network is not None:
            network = replace(network, looked_up=self._network.looked_up)  # the last answer for the name still holds
        if network == self._network:
            return
        self._network = network
        ips = node_ips(self._settings.name, self._settings.registration.node_ips, network)
        if ips.fault and self._seen.ips != ips:
            self.log.warning("the node's address: %s", ips.fault)
        self._learn(ips=ips)

    @handles(DiskObserved)
    def disk_observed(self, message: DiskObserved) -> None:
        """Work: constant."""
        self._learn(disk_bytes=message.size_bytes)
        self._tell_expected()

    @handles(ImagesObserved)
    def images_observed(self, message: ImagesObserved) -> None:
        """Work: the images that the Node object shows."""
        self._learn(images=message.images)

    @handles(ImagesChanged)
    def images_changed(self, message: ImagesChanged) -> None:
        """Work: constant."""
        self.children["survey"].tell(message)

    # --- events -----------------------------------------------------------------------------------------------------

    def _events_of(self, before: Node, after: Node) -> dict[str, RecordEvent]:
        """The events of a change, by reason."""
        return events_of(self._settings.name, self._machine, status_of(before), status_of(after))
