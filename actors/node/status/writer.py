"""`NodeWriter`: holds the Node object as the API shows it, and writes changes.

A part of `NodeStatusActor`.

It registers the node or corrects an existing object, writes differences with retries, and keeps the answer. Its owner
composes the wanted object and decides when to look. Events of a change go out once the API shows it, even when the
answer to the write was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from actors.kernel import Actor, ActorRef, DeadlineExceededError
from actors.messages.events import RecordEvent
from actors.messages.pods import NodeObserved
from actors.node.status.startup import NodeStartup
from actors.node_object.change import (
    delay_after_change_ns,
    is_older,
    is_report_due,
    node_has_changed,
    status_has_changed,
)
from actors.node_object.conditions import is_ready
from actors.node_object.events import status_event
from actors.node_object.patch import node_patch
from actors.node_object.registration import initial_node, reconciled
from actors.node_object.settings import NodeSettings
from config.api.resources import NODES
from config.objects import Node, NodeStatus
from runtime.api import Api, ApiCall, ApiError, create, get, patch
from runtime.api.errors import TIMEOUT
from runtime.host.machine import MachineFacts

R = TypeVar("R")

SECOND_NS = 1_000_000_000
TRIES = 5
SLACK_NS = SECOND_NS
"""The slack for an API client that misses its own deadline."""


class NodeWriter:
    """See the module.

    `api` None: only this agent has the object. `compose` returns the wanted form of an object. `events_of` returns the
    events of a change. `taking_over` is called with an object that existed before this agent.
    """

    def __init__(
        self,
        actor: Actor,
        api: Api | None,
        settings: NodeSettings,
        events: ActorRef,
        listeners: tuple[ActorRef, ...],
        startup: NodeStartup,
        *,
        compose: Callable[[Node], Node],
        events_of: Callable[[Node, Node], dict[str, RecordEvent]],
        taking_over: Callable[[Node], None],
    ) -> None:
        self._actor = actor
        self._api = api
        self._settings = settings
        self._events = events
        self._listeners = listeners
        self._startup = startup
        self._compose = compose
        self._events_of = events_of
        self._taking_over = taking_over
        self.node: Node | None = None
        """As the API shows it."""
        self.told: Node | None = None
        """As the followers know it."""
        self.remembered: Node | None = None
        """As an island node remembers it: of use until the API shows it."""
        self._alone: Node | None = None
        """As the followers know it from memory."""
        self.watched = False
        """Whether changes of others arrive by the watch."""
        self.registered = False
        self.failing = ""
        """Why the last write failed, or ""."""
        self._cordoned = False
        self._last_report_ns: int | None = None
        self._report_delay_ns = 0
        self._unsaid: dict[str, RecordEvent] = {}
        """Events of a write that is not confirmed yet."""

    def expected(self, machine: MachineFacts) -> Node:
        """The object as it will be: the one to create, with what is remembered of it."""
        initial = self._initial(machine)
        return initial if self.remembered is None else self._compose(reconciled(self.remembered, initial))

    def _initial(self, machine: MachineFacts) -> Node:
        """The object to create."""
        return self._compose(initial_node(self._settings, machine, NodeStatus()))

    def tell_remembered(self, machine: MachineFacts) -> None:
        """The API does not show the node: tell the followers what is remembered of it, once."""
        if self.told is None and self._alone is None and self.remembered is not None:
            self._alone = self.expected(machine)
            for listener in self._listeners:
                listener.tell(NodeObserved(self._alone))

    def follow(self, follower: ActorRef) -> None:
        """Tell the follower of the node, now and at every change."""
        if follower not in self._listeners:
            self._listeners = (*self._listeners, follower)
        told = self.told or self._alone
        if told is not None:
            follower.tell(NodeObserved(told))

    async def register(self, machine: MachineFacts) -> bool:
        """Create the Node object, or correct an existing one. False when that failed."""
        self._startup.registering(self._actor.now_ns())
        initial = self._initial(machine)
        if self._api is None:
            self.registered = True
            self.hold(initial)
            return True
        try:
            try:
                node = await self._call(self._api, create(NODES, "", initial))
            except ApiError as failure:
                # A node that may not create its object may still use one that somebody made for it.
                if not (failure.already_exists or failure.forbidden):
                    raise
                await self._take_over(self._api, initial, failure)
            else:
                self._written(Node(), node, changed=True)
                self._actor.log.info("registered as node %s", self._settings.name)
        except (ApiError, DeadlineExceededError) as failure:
            self._failed(f"cannot register node {self._settings.name}: {failure}")
            return False
        self.registered = True
        self._startup.registered(self._actor.now_ns())
        self._well()
        return True

    async def _take_over(self, api: Api, initial: Node, refusal: ApiError) -> None:
        """Correct the existing Node object.

        Raises ApiError; when there is no object, the `refusal` to create one.
        """
        try:
            existing = await self._call(api, get(NODES, "", self._settings.name))
        except ApiError as failure:
            raise (refusal if failure.not_found else failure) from None
        self._actor.log.info("node %s has been registered before", self._settings.name)
        self._taking_over(existing)
        after = self._compose(reconciled(existing, initial))
        if _differ(existing, after):
            await self._post(api, existing, after, changed=True)
        else:
            self._last_report_ns = self._actor.now_ns()
            self.hold(existing)

    async def update(self) -> None:
        """Write if needed, in up to `TRIES` tries."""
        if self._api is None:
            self._update_alone()
            return
        failure: Exception | None = None
        for attempt in range(TRIES):
            try:
                await self._try_update(self._api, attempt)
            except (ApiError, DeadlineExceededError) as error:
                if attempt and isinstance(error, ApiError) and error.not_found:
                    self._lost()  # the first try may have asked a cache
                    return
                failure = error
                if isinstance(error, DeadlineExceededError) or error.reason == TIMEOUT:
                    self._actor.log.info("a write of node %s is given up: %s", self._settings.name, error)
            else:
                self._well()
                return
        self._failed(f"cannot write the status of node {self._settings.name}: {failure}")

    async def _try_update(self, api: Api, attempt: int) -> None:
        """One try. The first may use the object known here, or one from the API server's cache."""
        node = self.node
        if attempt or not self.watched or node is None:
            version = "" if attempt else "0"
            node = self.hold(await self._call(api, get(NODES, "", self._settings.name, resource_version=version)))
        after = self._compose(node)
        changed = _differ(node, after)
        frequency_ns = self._settings.configuration.node_status_report_frequency
        if changed or is_report_due(self._last_report_ns, self._actor.now_ns(), frequency_ns, self._report_delay_ns):
            await self._post(api, node, after, changed=changed)
        else:
            self._confirm()

    async def _post(self, api: Api, before: Node, after: Node, *, changed: bool) -> None:
        """Write the difference. Raises ApiError."""
        self._unsaid.update(self._events_of(before, after))
        body = node_patch(before, after)
        answer = await self._call(api, patch(NODES, "", self._settings.name, body, subresource="status"))
        self._written(before, answer, changed=changed)

    def _update_alone(self) -> None:
        node = self.node
        assert node is not None, "a node that stands alone registers with itself"
        after = self._compose(node)
        if status_has_changed(status_of(node), status_of(after)):
            self._written(node, after, changed=True)

    def _written(self, before: Node, node: Node, *, changed: bool) -> None:
        """The write is done: the API shows `node` instead of `before`."""
        self._last_report_ns = self._actor.now_ns()
        frequency_ns = self._settings.configuration.node_status_report_frequency
        self._report_delay_ns = delay_after_change_ns(frequency_ns, self._actor.chance.random()) if changed else 0
        self._unsaid.update(self._events_of(before, node))
        self._confirm()
        self.hold(node)

    def _confirm(self) -> None:
        """The API shows the last write: send its events."""
        for event in self._unsaid.values():
            self._events.tell(event)
        self._unsaid.clear()

    def _lost(self) -> None:
        """The Node object is gone, or nobody has made it (see `NodeStatusActor`)."""
        name = self._settings.name
        if self._settings.configuration.register_node:
            text = f"the Node object {name} was deleted: make one, or restart this agent, which registers it again"
        else:
            text = f"there is no Node object {name}, and registerNode is false: make one"
        self._failed(text)
        self.node = self.told = None
        self._last_report_ns = None

    async def _call(self, api: Api, call: ApiCall[R]) -> R:
        configuration = self._settings.configuration
        timeout_ns = min(
            configuration.node_status_update_frequency, configuration.node_lease_duration_seconds * SECOND_NS
        )
        pending = api.call(call, timeout_ns=timeout_ns)
        return await self._actor.wait(pending, timeout_ns=timeout_ns + SLACK_NS, what=call.verb)

    def _failed(self, text: str) -> None:
        """Log a new failure."""
        if text != self.failing:
            self._actor.log.warning("%s", text)
            self.failing = text

    def _well(self) -> None:
        if self.failing:
            self.failing = ""
            self._actor.log.info("the status of node %s is written again", self._settings.name)

    def hold(self, node: Node) -> Node:
        """Keep `node` unless a newer one is known, and tell the followers. Returns the kept one."""
        known = self.node
        if known is not None and _is_older(node, known):
            return known
        self.node = node
        if self.registered and node.status is not None and is_ready(node.status.conditions):
            self._startup.ready(self._actor.now_ns())
        cordoned = bool(node.spec.unschedulable)
        if cordoned != self._cordoned:
            self._cordoned = cordoned
            self._events.tell(
                status_event(self._settings.name, "NodeNotSchedulable" if cordoned else "NodeSchedulable")
            )
        if node_has_changed(self.told, node):
            self.told = node
            for listener in self._listeners:
                listener.tell(NodeObserved(node))
        return node


def status_of(node: Node) -> NodeStatus:
    """The status, or an empty one."""
    return node.status or NodeStatus()


def _differ(before: Node, after: Node) -> bool:
    return before.metadata != after.metadata or status_has_changed(status_of(before), status_of(after))


def _is_older(node: Node, known: Node) -> bool:
    old, new = known.metadata, node.metadata
    return old.uid == new.uid and is_older(new.resource_version, old.resource_version)
