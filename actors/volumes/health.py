"""How well the volumes of storage drivers are (gate CSIVolumeHealth): a part of the reconciler.

Once a period every driver that can tell is asked about each volume of a pod. A volume that is not well gives its pod
the event `VolumeConditionAbnormal`, period by period, as long as its driver says so. A driver that hangs is not asked
about that volume again before it answers. Questions begin `QUESTIONS_AT_ONCE` a message.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from actors.kernel import Actor, ActorRef, Message, Pending, SoleMessage, outcome_of
from actors.messages.events import pod_event
from actors.volumes.books import VolumeBooks
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumeCondition, VolumePlace

LANE_SIZE = 4
QUESTIONS_AT_ONCE = 64
JITTER = 1.0
ABNORMAL = "VolumeConditionAbnormal"


class HealthDue(Message, frozen=True):
    """To the actor itself: ask about every volume."""


class AskMore(SoleMessage, frozen=True):
    """To the actor itself: ask about the next volumes."""


class ConditionTold(Message, frozen=True):
    """To the actor itself: the condition of a volume from its driver; None: not reported."""

    place: VolumePlace
    pod: Pod
    name: str
    condition: VolumeCondition | None


class VolumeHealth:
    """See the module. `every_ns`: the period; zero or less: drivers are not asked."""

    def __init__(self, actor: Actor, volumes: NodeVolumes, events: ActorRef, books: VolumeBooks, every_ns: int) -> None:
        self._actor = actor
        self._volumes = volumes
        self._events = events
        self._every_ns = every_ns
        self._books = books
        self._asking: set[VolumePlace] = set()
        self._unasked: deque[VolumePlace] = deque()

    def start(self) -> None:
        """Ask for the first time after a period."""
        if self._every_ns > 0:
            delay_ns = int(self._every_ns * (1 + JITTER * self._actor.chance.random()))
            self._actor.after(delay_ns, HealthDue(), key="health")

    def ask(self) -> None:
        """Ask about every volume of a storage driver."""
        self._unasked = deque(self._books.of_drivers())
        self.start()
        self.ask_more()

    def ask_more(self) -> None:
        """Ask about the next volumes, at most `QUESTIONS_AT_ONCE`."""
        lane = self._actor.lane("volume-health", size=LANE_SIZE, per_key=1)
        for _ in range(min(QUESTIONS_AT_ONCE, len(self._unasked))):
            place = self._unasked.popleft()
            uid, name = self._books.of_drivers().get(place, ("", ""))
            book = self._books.pod(uid)
            if book is not None and place not in self._asking:
                self._asking.add(place)
                make = partial(lane.submit, uid, self._volumes.condition, place)
                self._actor.begin(make, partial(_ended, place, book.pod, name))
        if self._unasked:
            self._actor.after(0, AskMore())

    def told(self, message: ConditionTold) -> None:
        """Keep what the driver has said, and tell the pod if its volume is not well."""
        self._asking.discard(message.place)
        condition = message.condition
        self._books.told_of(message.place, None if condition is None else condition.abnormal)
        if condition is not None and condition.abnormal:
            text = f"Volume {message.name}: {condition.message}"
            self._events.tell(pod_event(message.pod, "Warning", ABNORMAL, text))


def _ended(place: VolumePlace, pod: Pod, name: str, done: Pending[VolumeCondition | None]) -> ConditionTold:
    """A driver that fails says nothing of the volume."""
    return ConditionTold(place, pod, name, outcome_of(done).value)
