"""A part of `ResourceManagerActor`: the book of devices of plugins (spec 10.11).

The rules are pure (`actors.resources.devices`). This part has the offers of the plugins and the book at hand. A device
is in the book from the decision on. Only then its plugin is asked (`PluginQuestions`). The worker is told when the
checkpoint is on the disk. `BookKeeper` writes it beside the allocations.

No pod fails because a plugin is late. A pod waits for a plugin that this node had and that is not here, up to a limit.
A static pod waits so for a plugin that the node never had.
Pods that were admitted before keep what they have, whether or not their plugin has come back.

A checkpoint that cannot be used is never overwritten: pods that ask for devices wait, and the reason says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.kernel import Actor, ActorRef, Message, Rank, handles, part
from actors.messages.devices import DevicesGiven, DevicesOffered, DevicesWithdrawn, NodeDevices, TellOffers
from actors.model.devices import NO_DEVICES, DeviceBook, Offer
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.resources.device_records import DeviceRecords
from actors.resources.devices.amounts import device_amounts
from actors.resources.devices.book import NOTHING, with_pod, without_pod
from actors.resources.devices.checkpoint import KeptDevices, read_checkpoint, written_checkpoint
from actors.resources.devices.choosing import NO_SEARCH, DeviceSearch, unexpected
from actors.resources.devices.health import sick_devices
from actors.resources.devices.wanted import never_listed, plugins_of, without_healthy
from actors.resources.plugin_questions import ALL_SAID, Answered, PluginQuestions
from actors.resources.verdict import Rejected
from actors.resources.what_if import KnownNode
from config.frozen_map import FrozenMap
from config.objects import Node, Pod
from config.pods.requests import has_domain_requests
from config.values.quantity import QuantityError
from runtime.state.device_file import DeviceFile

SECOND_NS = 1_000_000_000
READ_NS = 15 * SECOND_NS
READ_AGAIN_NS = 30 * SECOND_NS
ASK_AGAIN_NS = SECOND_NS
"""After a plugin went away while it was asked."""
AWAY_NS = 300 * SECOND_NS
"""How long a node that has begun leaves the published amounts of plugins that have not come yet."""
TOLD_AT_MOST = 4
"""Plugins that a pod waits for. It may ask for thousands."""
WAITS_FOR_CHECKPOINT = "the record of the devices that pods have is being read"
NOTHING_KEPT = KeptDevices()
ABSENT = Offer(connected=False)


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """What the book is made from.

    `plugins`: DevicePluginsActor; `node`: NodeStatusActor, told of the amounts. `patience_ns`: how long a pod waits for
    a plugin; 0: it fails at once, as with a kubelet. `any_node`: there is no topology policy. `shows_health`,
    `says_why`: gates ResourceHealthStatus and ResourceHealthStatusMessage.
    """

    file: DeviceFile
    plugins: ActorRef
    patience_ns: int
    node: ActorRef | None = None
    any_node: bool = True
    shows_health: bool = True
    says_why: bool = True

    def read(self) -> KeptDevices:
        """Read the checkpoint; may block. Raises OSError, and ValueError with what to do."""
        content = self.file.load()
        if content is None:
            return NOTHING_KEPT
        try:
            return read_checkpoint(content)
        except ValueError as fault:
            way_out = "stop the pods that have devices, remove the file, and start the agent again"
            raise ValueError(f"{self.file.path}: {fault}; {way_out}") from None


class DevicesRead(Message, frozen=True):
    """To itself: the checkpoint has been read, or why not."""

    kept: KeptDevices | None
    error: str


class ReadDevicesAgain(Message, frozen=True):
    """To itself: try to read it once more."""


class LookAtWaits(Message, frozen=True):
    """To itself: a pod may have waited for long enough, or its plugin may be back."""


class PatienceOver(Message, frozen=True):
    """To itself: pods that were admitted before wait for their plugins no more."""


class PluginsAreLate(Message, frozen=True):
    """To itself: plugins that have not come by now take their amounts with them."""


class Taken(msgspec.Struct, frozen=True):
    """All plugins of the pod have said what its containers need."""


class Away(msgspec.Struct, frozen=True):
    """A plugin of the pod went away while it was asked. The pod has nothing now, and waits."""


TAKEN, AWAY = Taken(), Away()


class DeviceKeeper:
    """See the module. `settings` None: this node has no plugins.

    `workers`: those of admitted pods, by UID. It calls `on_news` when pods that wait may be looked at again,
    `on_decided` with the UID of a pod whose plugins have answered, and `on_changed` when the checkpoint is another.
    """

    questions = part(PluginQuestions)

    def __init__(
        self,
        manager: Actor,
        settings: DeviceSettings | None,
        workers: Callable[[], Mapping[str, ActorRef]],
        on_news: Callable[[], None],
        on_decided: Callable[[str, Taken | Away | Rejected], None],
        on_changed: Callable[[], None],
    ) -> None:
        self._manager = manager
        self._settings = settings
        self._workers = workers
        self._on_news, self._on_decided, self._on_changed = on_news, on_decided, on_changed
        self._node: DeviceRecords | None = None
        self._early: dict[str, DevicesOffered] = {}
        """What plugins offered before the checkpoint was read."""
        self._waits_for_file = WAITS_FOR_CHECKPOINT
        """Why the checkpoint is not read yet."""
        plugins, any_node = (None, True) if settings is None else (settings.plugins, settings.any_node)
        self.questions = PluginQuestions(manager, plugins, any_node, lambda: self._node, self._answered)
        self._since_ns: dict[str, int] = {}
        """UID -> since when the pod waits for a plugin."""
        self._writes = False
        """Whether there is a checkpoint. A node that never had a plugin needs none."""
        self._told: dict[str, DevicesGiven] = {}
        """UID -> what its worker was told last."""

    @property
    def due(self) -> dict[str, Any]:
        """Pods whose plugins are being asked, by UID. They have their devices, and no other pod gets them."""
        return self.questions.due

    # --- reading and writing ----------------------------------------------------------------------------------------

    def read(self) -> None:
        """Begin: the actor has started."""
        settings = self._settings
        if settings is None:
            return
        lane = self._manager.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._manager.attempt(
            lambda: lane.submit("devices", settings.read, deadline_ns=READ_NS, rank=Rank.FIRST), DevicesRead
        )

    @handles(DevicesRead)
    def devices_read(self, message: DevicesRead) -> None:
        """Work: all pods, and the devices of all plugins."""
        settings = self._settings
        if settings is None or self._node is not None:
            return
        if message.kept is None:
            self._waits_for_file = message.error
            self._manager.log.error("no pod gets devices: %s", message.error)
            self._manager.after(READ_AGAIN_NS, ReadDevicesAgain())
        else:
            had = frozenset(message.kept.registered)
            self._node = DeviceRecords(message.kept.book, dict.fromkeys(had, ABSENT), {}, had, had)
            settings.plugins.tell(TellOffers())
            for offered in self._early.values():
                self.offered(offered)
            self._early.clear()
            if settings.patience_ns:
                self._manager.after(AWAY_NS, PluginsAreLate())
                self._manager.after(settings.patience_ns, PatienceOver())
            else:
                self._node.uncounted = self._node.expected = frozenset()
            self.tell_amounts()
        self._on_news()

    @handles(ReadDevicesAgain)
    def read_again(self, _: ReadDevicesAgain) -> None:
        """Work: constant."""
        self.read()

    def writing(self) -> Callable[[], None] | None:
        """What writes the checkpoint as it is now, on a lane; None: there is nothing to write."""
        settings, node = self._settings, self._node
        if settings is None or node is None:
            return None
        registered = {name: _healthy(node.offers[name]) for name in node.offers if name not in node.withdrawn}
        kept = KeptDevices(self._confirmed(node.book), FrozenMap(registered))
        self._writes = self._writes or kept != NOTHING_KEPT
        file = settings.file
        return (lambda: file.save(written_checkpoint(kept))) if self._writes else None

    def _confirmed(self, book: DeviceBook) -> DeviceBook:
        """The book without pods whose plugins are being asked."""
        return FrozenMap({uid: has for uid, has in book.items() if uid not in self.due}) if self.due else book

    # --- what plugins offer -----------------------------------------------------------------------------------------

    @handles(DevicesOffered)
    def offered(self, message: DevicesOffered) -> None:
        """Work: the pods that have devices or wait for some, and the devices of the plugin."""
        node = self._node
        if node is None:
            self._early[message.resource] = message
            return
        resource, before = message.resource, node.offers.get(message.resource, ABSENT)
        node.offers[resource] = message.offer
        if message.offer.connected:
            node.troubles.pop(resource, None)
            node.expected -= {resource}
        else:
            node.troubles[resource] = message.trouble
        node.uncounted -= {resource}
        node.withdrawn -= {resource}
        self._changed(resource, before, message.offer)

    @handles(DevicesWithdrawn)
    def withdrawn(self, message: DevicesWithdrawn) -> None:
        """Work: the pods that have devices or wait for some."""
        node = self._node
        if node is None:
            self._early.pop(message.resource, None)
            return
        before, node.offers[message.resource] = node.offers.get(message.resource, ABSENT), ABSENT
        node.withdrawn |= {message.resource}
        self._changed(message.resource, before, ABSENT)

    def _changed(self, resource: str, before: Offer, now: Offer) -> None:
        if _healthy(before) != _healthy(now) or ABSENT in (before, now):
            self._on_changed()
        self.tell_amounts()
        self._tell_workers(resource)
        if self._since_ns:
            self._on_news()

    @handles(PluginsAreLate)
    def plugins_are_late(self, _: PluginsAreLate) -> None:
        """Work: the resources with a plugin."""
        if self._node is not None:
            self._node.uncounted = frozenset()
            self.tell_amounts()

    def tell_amounts(self) -> None:
        """Tell the node how many devices it has."""
        settings, node = self._settings, self._node
        if settings is not None and settings.node is not None and node is not None:
            counted = {name: offer for name, offer in node.offers.items() if name not in node.uncounted}
            settings.node.tell(device_amounts(counted, ()))

    def _concern(self, pod: Pod) -> bool:
        """Whether devices of plugins concern the pod."""
        return self._settings is not None and has_domain_requests(pod.spec)

    # --- pods that wait for a plugin --------------------------------------------------------------------------------

    def waits_for_file(self, pod: Pod) -> str:
        """Why nothing can be said of the pod yet, for people; or empty."""
        return self._waits_for_file if self._node is None and self._concern(pod) else ""

    def waits_for(self, pod: Pod, here: Node | None) -> str:
        """What a new pod waits for, for people; empty: it can be decided on. Raises QuantityError.

        `here`: this node, None while it is unknown.
        """
        settings, node, uid = self._settings, self._node, pod.metadata.uid
        if settings is None or node is None or not self._concern(pod):
            return ""
        away = without_healthy(pod, node.offers)
        if here is not None and here.status is not None:
            away = (*away, *never_listed(pod, node.offers, here.status.allocatable))
        if not away or not settings.patience_ns:
            return ""
        left_ns = self._left_ns(uid, settings.patience_ns)
        if left_ns <= 0:
            return ""
        self._manager.after(left_ns, LookAtWaits(), key=("devices wait", uid))
        return " and ".join(map(self._absence, away[:TOLD_AT_MOST]))

    def _left_ns(self, uid: str, patience_ns: int) -> int:
        since_ns = self._since_ns.setdefault(uid, self._manager.now_ns())
        return since_ns + patience_ns - self._manager.now_ns()

    def _absence(self, resource: str) -> str:
        node = self._node
        trouble = node.troubles.get(resource, "") if node is not None else ""
        if trouble:
            return f"the device plugin of {resource} has stopped: {trouble}"
        if node is not None and node.offers.get(resource, ABSENT).connected:
            return f"the device plugin of {resource} has no healthy device"
        return f"the device plugin of {resource} has not registered yet"

    @handles(LookAtWaits)
    def look_at_waits(self, _: LookAtWaits) -> None:
        """Work: the pods that wait for an answer."""
        self._on_news()

    @handles(PatienceOver)
    def patience_over(self, _: PatienceOver) -> None:
        """Work: the pods that have devices."""
        if self._node is not None:
            self._node.expected = frozenset()
            self._tell_workers()

    # --- decisions --------------------------------------------------------------------------------------------------

    def search(self, pod: Pod) -> DeviceSearch:
        """The search for devices of a new pod. Raises QuantityError.

        What is in the book of it counts for nothing: a crash between two files may have left a part.
        """
        node = self._node
        if node is None or not self._concern(pod):
            return NO_SEARCH
        return DeviceSearch(node.offers, without_pod(node.book, pod.metadata.uid), pod)

    def known(self, known: KnownNode) -> KnownNode:
        """The same with the devices of plugins."""
        waits = self._settings is not None and self._settings.patience_ns > 0
        return msgspec.structs.replace(known, devices=self.node_devices, waits_for_plugins=waits)

    def take(self, pod: Pod, search: DeviceSearch) -> bool:
        """Give the pod what was found, and ask the plugins. Returns whether they have to answer."""
        node, uid, found = self._node, pod.metadata.uid, search.found()
        if node is None:
            return False
        node.book = with_pod(node.book, uid, found)
        left = [(container, resource) for container, resources in found.items() for resource in sorted(resources)]
        if not left:
            return False
        self.questions.ask(uid, left)
        return True

    def asks(self, uid: str) -> str:
        """What a pod waits for whose plugins are being asked, for people."""
        return f"the device plugin of {self.questions.asked_now(uid)} is asked what its containers need"

    def _answered(self, uid: str, answer: Answered) -> None:
        settings, node = self._settings, self._node
        if answer is ALL_SAID or settings is None or node is None:
            self._on_decided(uid, TAKEN)
            return
        node.book = without_pod(node.book, uid)
        if answer.gone and settings.patience_ns and self._left_ns(uid, settings.patience_ns) > 0:
            self._on_decided(uid, AWAY)
            self._manager.after(ASK_AGAIN_NS, LookAtWaits(), key=("devices again", uid))
        else:
            self._on_decided(uid, unexpected(answer.error))

    def must_be_found(self, pod: Pod) -> bool:
        """Whether devices have to be found for a pod of the book of which nothing runs.

        It asks for devices of plugins and has none; or nobody waits for its plugin, which is away or has no healthy
        device. Then the search fails with a kubelet's words.
        """
        settings, node = self._settings, self._node
        if settings is None or node is None or not self._concern(pod):
            return False
        try:
            if pod.metadata.uid not in node.book:
                return bool(plugins_of(pod, node.offers))
            return not settings.patience_ns and bool(without_healthy(pod, node.offers))
        except QuantityError:
            return False  # it was admitted so

    def release(self, uid: str) -> bool:
        """The pod has ended, or is not admitted. Returns whether the book has changed."""
        self._told.pop(uid, None)
        self._since_ns.pop(uid, None)
        self.questions.forget(uid)
        node = self._node
        if node is None or uid not in node.book:
            return False
        node.book = without_pod(node.book, uid)
        return True

    @property
    def offers(self) -> FrozenMap[str, Offer]:
        """Of all plugins that this node has or had."""
        return FrozenMap(self._node.offers) if self._node is not None else FrozenMap()

    @property
    def book(self) -> DeviceBook:
        return self._node.book if self._node is not None else NO_DEVICES

    @property
    def node_devices(self) -> NodeDevices:
        """All devices and who has which, for whoever asks. What no plugin has confirmed is left out."""
        node = self._node
        if node is None:
            return NodeDevices()
        return NodeDevices(FrozenMap(node.offers), self._confirmed(node.book))

    # --- the workers ------------------------------------------------------------------------------------------------

    def tell(self, pod: Pod, worker: ActorRef) -> None:
        """Tell a worker what its pod has. Pods that ask for no such resource are told nothing."""
        if self._concern(pod):
            uid = pod.metadata.uid
            self._since_ns.pop(uid, None)
            self._told[uid] = given = self._given(uid)
            worker.tell(given)

    def _given(self, uid: str) -> DevicesGiven:
        settings, node = self._settings, self._node
        if settings is None or node is None:
            return DevicesGiven()
        devices, offers = node.book.get(uid, NOTHING), node.offers
        resources = {resource for has in devices.values() for resource in has}
        sick = None
        if settings.shows_health:
            sick = sick_devices(devices, offers, node.troubles, node.expected, says_why=settings.says_why)
        announced = frozenset(each for each in resources if each in offers and offers[each].options.pre_start)
        return DevicesGiven(devices, tuple(sorted(resources & node.expected)), announced, sick)

    def _tell_workers(self, resource: str = "") -> None:
        """Tell the workers of pods that have such devices, if they know something else. Empty: of all pods."""
        node, workers = self._node, self._workers()
        if node is None:
            return
        for uid, devices in node.book.items():
            if uid not in self._told or uid not in workers:
                continue
            if not resource or any(resource in resources for resources in devices.values()):
                given = self._given(uid)
                if given != self._told[uid]:
                    self._told[uid] = given
                    workers[uid].tell(given)


def _healthy(offer: Offer) -> tuple[str, ...]:
    return tuple(each.id for each in offer.devices if each.healthy)
