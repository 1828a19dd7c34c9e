"""How well the volumes of storage drivers are (gate CSIVolumeHealth): a part of the reconciler.

Once a period every driver that can tell is asked about each volume of a pod. A volume that is not well gives its pod
the event `VolumeConditionAbnormal`, period by period, as long as its driver says so. A driver that hangs is not asked
about that volume again before it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from actors.kernel import Actor, ActorRef, Message, Pending, outcome_of
from actors.messages.events import pod_event
from config.objects import Pod
from runtime.volumes.capability import NodeVolumes, VolumeCondition, VolumePlace

LANE_SIZE = 4
JITTER = 1.0
ABNORMAL = "VolumeConditionAbnormal"


class HealthDue(Message, frozen=True):
    """To the actor itself: ask about every volume."""


class ConditionTold(Message, frozen=True):
    """To the actor itself: the condition of a volume from its driver; None: not reported."""

    place: VolumePlace
    pod: Pod
    name: str
    condition: VolumeCondition | None


class VolumeHealth:
    """See the module. `every_ns`: the period; zero or less: drivers are not asked."""

    def __init__(self, actor: Actor, volumes: NodeVolumes, events: ActorRef, every_ns: int) -> None:
        self._actor = actor
        self._volumes = volumes
        self._events = events
        self._every_ns = every_ns
        self._asking: set[VolumePlace] = set()
        self._told: dict[VolumePlace, bool] = {}
        """Whether the volume is abnormal, where its driver has said so."""

    def start(self) -> None:
        """Ask for the first time after a period."""
        if self._every_ns > 0:
            delay_ns = int(self._every_ns * (1 + JITTER * self._actor.chance.random()))
            self._actor.after(delay_ns, HealthDue(), key="health")

    def ask(self, volumes: Iterable[tuple[VolumePlace, Pod, str]]) -> None:
        """Ask about these volumes: place, pod, and name in the pod. Others are forgotten."""
        wanted = tuple(volumes)
        there = {place for place, _, _ in wanted}
        self._told = {place: abnormal for place, abnormal in self._told.items() if place in there}
        lane = self._actor.lane("volume-health", size=LANE_SIZE, per_key=1)
        for place, pod, name in wanted:
            if place not in self._asking:
                self._asking.add(place)
                make = partial(lane.submit, place, self._volumes.condition, place)
                self._actor.begin(make, partial(_ended, place, pod, name))
        self.start()

    def told(self, message: ConditionTold) -> None:
        """Keep what the driver has said, and tell the pod if its volume is not well."""
        self._asking.discard(message.place)
        condition = message.condition
        if condition is None:
            self._told.pop(message.place, None)
            return
        self._told[message.place] = condition.abnormal
        if condition.abnormal:
            text = f"Volume {message.name}: {condition.message}"
            self._events.tell(pod_event(message.pod, "Warning", ABNORMAL, text))

    @property
    def abnormal(self) -> Mapping[VolumePlace, bool]:
        """Abnormal conditions by the place of the volume."""
        return self._told


def _ended(place: VolumePlace, pod: Pod, name: str, done: Pending[VolumeCondition | None]) -> ConditionTold:
    """A driver that fails says nothing of the volume."""
    return ConditionTold(place, pod, name, outcome_of(done).value)
