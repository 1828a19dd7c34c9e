"""`EventGatherer` collects the runtime's less urgent events.

`PlegActor` gets them once a second, in one message.

Most events only repeat what a worker has just done: a sandbox or container was made, started or removed, or a sandbox
was stopped. Somebody else may have done it, so they are passed on all the same. Thanks to the delay, the events of one
start or end of a pod are one message to its worker. The end of a container bypasses this actor and is told at once.

If this actor fails and loses events, the next list finds what they told (`actors.pleg.pleg`).
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.model.runtime_shown import Shown, both
from config.frozen_map import FrozenMap
from runtime.cri.messages import ContainerEventResponse, ContainerEventType

SECOND_NS = 1_000_000_000
STOPPED = ContainerEventType.CONTAINER_STOPPED_EVENT
"""The only kind of event that may be urgent."""


class PodEventSeen(Message, frozen=True):
    """The stream of events -> EventGatherer: what an event told of the pod."""

    uid: str
    shown: Shown

    def coalesce_key(self) -> str:
        return self.uid

    def merged(self, waiting: PodEventSeen) -> PodEventSeen:
        return PodEventSeen(self.uid, both(self.shown, waiting.shown))


class EventsGathered(Message, frozen=True):
    """EventGatherer -> PlegActor: by UID of a pod, what events told of it."""

    shown: FrozenMap[str, Shown]


class EventGatherer(Actor):
    """See the module. A child of the `PlegActor`."""

    batch_window_ns: ClassVar[int] = SECOND_NS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, pleg: ActorRef) -> None:
        super().__init__()
        self._pleg = pleg
        self._shown: dict[str, Shown] = {}

    @handles(PodEventSeen)
    def event_seen(self, message: PodEventSeen) -> None:
        """Work: the states in an event, and a copy of those that wait for its pod."""
        before = self._shown.get(message.uid)
        self._shown[message.uid] = message.shown if before is None else both(message.shown, before)
        if not self.has_mail():
            self._pleg.tell(EventsGathered(FrozenMap(self._shown)))
            self._shown = {}


def can_wait(event: ContainerEventResponse) -> bool:
    """Whether a worker may hear of this a second later: anything but the end of a container."""
    if event.container_event_type != STOPPED:
        return True
    sandbox = event.pod_sandbox_status
    return sandbox is not None and sandbox.id == event.container_id
