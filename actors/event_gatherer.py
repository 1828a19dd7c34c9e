"""`EventGatherer`: what the runtime tells, and nobody waits for, comes to the `PlegActor` once a second, in one.

Most events are the echo of what a worker has just done and seen: a sandbox or container was made, was started, was
removed, or a sandbox was stopped. They are told all the same, for it may have been another hand, but so late that the
handful that belongs to the start or the end of a pod is one word to its worker. That a container has stopped is passed
on at once, past this actor.

What is lost when this actor fails, a list finds (`actors.pleg`).
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.runtime_shown import Shown, both
from runtime.cri.enums import ContainerEventType
from runtime.cri.messages import ContainerEventResponse

SECOND_NS = 1_000_000_000
TOLD_AT_MOST = 50_000
"""In one."""
STOPPED = ContainerEventType.CONTAINER_STOPPED_EVENT
"""Only what tells of this may have to be heard of at once."""


class Told:
    """What the runtime has told, one after the other. As long as it is open it waits for the `EventGatherer`: till then
    whoever reads the stream, on whatever thread, adds to it and tells nobody.
    """

    __slots__ = ("_told", "open")

    def __init__(self, uid: str, shown: Shown) -> None:
        self._told = deque([(uid, shown)])
        self.open = True

    def add(self, uid: str, shown: Shown) -> bool:
        """Whether that has come in time; otherwise it is to be told anew. In doubt it is told twice: so it does not
        matter when another thread closes this.
        """
        if not self.open or len(self._told) >= TOLD_AT_MOST:
            return False
        self._told.append((uid, shown))
        return self.open

    def include(self, later: Told) -> None:
        """What was told `later` becomes part of it."""
        later.open = False
        self._told.extend(tuple(later._told))

    def by_pod(self) -> dict[str, Shown]:
        """All of it by UID, once it is closed."""
        shown: dict[str, Shown] = {}
        for uid, news in tuple(self._told):
            shown[uid] = both(news, shown[uid]) if uid in shown else news
        return shown


class EventsGathered(Message, frozen=True):
    """The stream of events -> EventGatherer -> PlegActor."""

    told: Told

    def coalesce_key(self) -> str:
        return "events"

    def merged(self, waiting: EventsGathered) -> EventsGathered:
        waiting.told.include(self.told)
        return waiting


class EventGatherer(Actor):
    """See the module. A child of the `PlegActor`."""

    linger_ns: ClassVar[int] = SECOND_NS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, pleg: ActorRef) -> None:
        super().__init__()
        self._pleg = pleg

    @handles(EventsGathered)
    def gathered(self, message: EventsGathered) -> None:
        message.told.open = False
        self._pleg.tell(message)


def can_wait(event: ContainerEventResponse) -> bool:
    """Whether it does no harm that a worker hears of this a second later."""
    if event.container_event_type != STOPPED:
        return True
    sandbox = event.pod_sandbox_status
    return sandbox is not None and sandbox.id == event.container_id
