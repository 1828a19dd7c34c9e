"""A part of `DeviceKeeper`: asks plugins what they prefer, and what containers need (spec 10.11).

A pod has its devices before the first question, and no other pod gets them. Its containers are asked for one after
another. An answer to an earlier question counts for nothing. A question whose answer was lost is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.devices import AllocateDevices, DevicesAllocated, DevicesPreferred, PreferDevices
from actors.resources.device_records import DeviceRecords
from actors.resources.devices.book import choice_of, left_before, with_pod, with_setup, with_wish

SECOND_NS = 1_000_000_000
ANSWER_NS = 90 * SECOND_NS
"""A plugin's actor answers earlier, unless it has failed."""


class AnswerIsLate(Message, frozen=True):
    """To itself: the answer that the pod waits for was lost."""

    uid: str


class Answered(msgspec.Struct, frozen=True):
    """All plugins of a pod have said what its containers need.

    Or one has refused (`error`), or went away (`gone`).
    """

    error: str = ""
    gone: bool = False


ALL_SAID = Answered()


@dataclass(slots=True)
class _Due:
    """A pod whose plugins are being asked. `left`: (container, resource), in the order of asking."""

    left: list[tuple[str, str]]
    wished: bool = False
    """The plugin of the first has said what it prefers."""


class PluginQuestions:
    """See the module. `plugins`: DevicePluginsActor; `any_node`: there is no topology policy.

    `records`: None before the checkpoint is read. `on_answered` gets the UID of a pod whose plugins have answered.
    """

    def __init__(
        self,
        manager: Actor,
        plugins: ActorRef | None,
        any_node: bool,
        records: Callable[[], DeviceRecords | None],
        on_answered: Callable[[str, Answered], None],
    ) -> None:
        self._manager = manager
        self._plugins = plugins
        self._any_node = any_node
        self._records = records
        self._on_answered = on_answered
        self.due: dict[str, _Due] = {}
        """Pods whose plugins are being asked, by UID."""

    def ask(self, uid: str, left: list[tuple[str, str]]) -> None:
        """Ask for (container, resource) of a pod, which has the devices in the book."""
        self.due[uid] = _Due(left)
        self._ask_next(uid)

    def asked_now(self, uid: str) -> str:
        """The resource whose plugin is asked for the pod."""
        return self.due[uid].left[0][1]

    def forget(self, uid: str) -> None:
        """The pod needs no answer any more."""
        if self.due.pop(uid, None) is not None:
            self._manager.cancel_timer(("devices", uid))

    def _ask_next(self, uid: str) -> None:
        plugins, records, due = self._plugins, self._records(), self.due[uid]
        if plugins is None or records is None:
            return
        container, resource = due.left[0]
        held, offer = records.book[uid][container][resource], records.offers[resource]
        ref = self._manager.ref
        if offer.options.prefers and not due.wished:
            size = len(held.devices)
            choice = choice_of(records.book, offer, uid, container, resource, any_node=self._any_node)
            included = tuple(sorted(left_before(records.book[uid], container, resource)))
            plugins.tell(PreferDevices(ref, resource, uid, container, choice, included, size))
        else:
            plugins.tell(AllocateDevices(ref, resource, uid, container, held.ids))
        self._manager.after(ANSWER_NS, AnswerIsLate(uid), key=("devices", uid))

    @handles(AnswerIsLate)
    def answer_is_late(self, message: AnswerIsLate) -> None:
        """Ask once more: the plugin's actor has failed meanwhile.

        Work: the devices of the plugin.
        """
        if message.uid in self.due:
            self._ask_next(message.uid)

    @handles(DevicesPreferred)
    def preferred(self, message: DevicesPreferred) -> None:
        """Work: the devices that pods have."""
        records, uid = self._records(), message.uid
        due = self._due_of(uid, message.container, message.resource)
        if due is None or due.wished or records is None:
            return
        if message.ids:
            where, offer = (uid, message.container, message.resource), records.offers[message.resource]
            records.book = with_wish(records.book, offer, *where, message.ids, any_node=self._any_node)
        due.wished = True
        self._ask_next(uid)

    @handles(DevicesAllocated)
    def allocated(self, message: DevicesAllocated) -> None:
        """Work: one reference to each pod that has devices."""
        records, uid = self._records(), message.uid
        due = self._due_of(uid, message.container, message.resource)
        if due is None or records is None:
            return
        devices = records.book[uid]
        if devices[message.container][message.resource].ids != message.ids:
            return  # the answer to an earlier question
        if message.setup is None:
            self.forget(uid)
            self._on_answered(uid, Answered(message.error, message.gone))
            return
        changed = with_setup(devices, message.container, message.resource, message.setup)
        records.book = with_pod(records.book, uid, changed)
        due.left.pop(0)
        due.wished = False
        if due.left:
            self._ask_next(uid)
        else:
            self.forget(uid)
            self._on_answered(uid, ALL_SAID)

    def _due_of(self, uid: str, container: str, resource: str) -> _Due | None:
        due = self.due.get(uid)
        return due if due is not None and due.left[0] == (container, resource) else None
