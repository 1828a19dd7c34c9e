"""`EventGatherer`: what the runtime tells, and nobody waits for, comes to the `PlegActor` once a second, in one.

Most events are the echo of what a worker has just done and seen: a sandbox or container was made, was started, was
removed, or a sandbox was stopped. They are told all the same, for it may have been another hand, but so late that the
handful that belongs to the start or the end of a pod is one word to its worker. That a container has stopped is passed
on at once, past this actor.

What is lost when this actor fails, a list finds (`actors.pleg.pleg`).
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.model.runtime_shown import Shown, both
from runtime.cri.enums import ContainerEventType
from runtime.cri.messages import ContainerEventResponse

SECOND_NS = 1_000_000_000
STOPPED = ContainerEventType.CONTAINER_STOPPED_EVENT
"""Only what tells of this may have to be heard of at once."""


class EventsGathered(Message, frozen=True):
    """The stream of events -> EventGatherer -> PlegActor: by UID of a pod, what was told of it."""

    shown: dict[str, Shown]

    def coalesce_key(self) -> str:
        return "events"

    def merged(self, waiting: EventsGathered) -> EventsGathered:
        # Nobody has seen what still waits, and in a burst a new one for each event would cost the square of them.
        told = waiting.shown
        for uid, shown in self.shown.items():
            told[uid] = both(shown, told[uid]) if uid in told else shown
        return waiting


class EventGatherer(Actor):
    """See the module. A child of the `PlegActor`."""

    batch_window_ns: ClassVar[int] = SECOND_NS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, pleg: ActorRef) -> None:
        super().__init__()
        self._pleg = pleg

    @handles(EventsGathered)
    def gathered(self, message: EventsGathered) -> None:
        self._pleg.tell(message)


def can_wait(event: ContainerEventResponse) -> bool:
    """Whether it does no harm that a worker hears of this a second later."""
    if event.container_event_type != STOPPED:
        return True
    sandbox = event.pod_sandbox_status
    return sandbox is not None and sandbox.id == event.container_id
