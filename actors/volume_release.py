"""Taking down all that a pod has on disk: a part of the `VolumeReconcilerActor`.

The disk is listed first, because it knows of volumes that no record does, made by another life of the agent or by a
call that was late. Then everything goes in the order that `volume_plan` says, as often as it takes, with a back-off.
Who asked is told when all is gone, and when something cannot be taken down; who asks again is answered again, and
everything is tried at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from actors.kernel import Actor, ActorRef, Message, Pending, outcome_of
from actors.volume_actual import ActualWorld, PodDirectory, Trouble, back_off_ns
from actors.volume_calls import LANE_PER_THING, LANE_SIZE
from actors.volume_messages import VolumesReleased
from actors.volume_plan import POD_ITSELF, PodPlan, Step, plan_unwanted
from actors.volume_state import Found
from runtime.volumes.capability import LocatedVolume, NodeVolumes

SECOND_NS = 1_000_000_000
LIST_LIMIT_NS = 60 * SECOND_NS


class VolumesListed(Message, frozen=True):
    """To the actor itself: what a pod that is to go has on disk."""

    uid: str
    volumes: tuple[LocatedVolume, ...]
    error: str


class ReleaseDue(Message, frozen=True):
    """To the actor itself: try again to take down what a pod has."""

    uid: str


class _Leaving(msgspec.Struct):
    """A pod that is to have nothing. `asked`: somebody waits for an answer; `listed`: the disk has been looked at."""

    worker: ActorRef | None
    asked: bool = True
    listing: bool = False
    listed: bool = False
    failures: int = 0
    told: str = ""


class VolumeReleases:
    """See the module. `begin`: begins a step; `gone`: is told of each pod of which nothing is left."""

    def __init__(
        self,
        actor: Actor,
        volumes: NodeVolumes,
        actual: ActualWorld,
        begin: Callable[[Step], None],
        gone: Callable[[str], None],
    ) -> None:
        self._actor = actor
        self._volumes = volumes
        self._actual = actual
        self._begin_step = begin
        self._gone = gone
        self._leaving: dict[str, _Leaving] = {}

    def uids(self) -> Collection[str]:
        """The pods that are being released."""
        return self._leaving.keys()

    def begin(self, uid: str, worker: ActorRef | None) -> None:
        """Take down all that the pod has; everything is due at once."""
        leaving = self._leaving.setdefault(uid, _Leaving(worker))
        leaving.worker = worker or leaving.worker
        leaving.asked = True
        things = self._actual.pod(uid)
        for thing in (things.directory, *things.volumes.values()):
            thing.retry_at_ns = 0
        self._list(uid, leaving)

    def forget(self, uid: str) -> None:
        """The pod is to have its volumes after all."""
        if self._leaving.pop(uid, None) is not None:
            self._actor.cancel_timer(("release", uid))

    def due(self, message: ReleaseDue) -> None:
        leaving = self._leaving.get(message.uid)
        if leaving is not None and not leaving.listed:
            self._list(message.uid, leaving)
        self.advance(message.uid)

    def _list(self, uid: str, leaving: _Leaving) -> None:
        if leaving.listing:
            return
        leaving.listing = True
        lane = self._actor.lane("volumes", size=LANE_SIZE, per_key=LANE_PER_THING)
        key = PodDirectory(uid)
        self._actor.begin(
            lambda: lane.submit(key, self._volumes.volumes_of, uid, deadline_ns=LIST_LIMIT_NS),
            lambda done: _listed(uid, done),
        )

    def listed(self, message: VolumesListed) -> None:
        leaving = self._leaving.get(message.uid)
        if leaving is None:
            return
        leaving.listing = False
        if message.error:
            self._say(message.uid, leaving, f"what it has cannot be listed: {message.error}")
            leaving.failures += 1
            self._wake_in(message.uid, back_off_ns(leaving.failures))
            return
        leaving.listed, leaving.failures = True, 0
        self._actual.found(message.volumes)
        self._actual.meet(PodDirectory(message.uid), Found())
        self.advance(message.uid)

    def advance(self, uid: str) -> None:
        """Begin what can be begun now; at the end say how it stands."""
        leaving = self._leaving.get(uid)
        if leaving is None or not leaving.listed:
            return
        plan = self._plan(uid)
        while plan.steps:
            for step in plan.steps:
                self._begin_step(step)
            plan = self._plan(uid)
        if plan.busy:
            return
        if plan.troubles:
            self._say(uid, leaving, "; ".join(_text(name, trouble) for name, trouble in plan.troubles.items()))
            self._wake_in(uid, max(plan.wake_ns - self._actor.now_ns(), 0))
            return
        self.forget(uid)
        if leaving.worker is not None:
            leaving.worker.tell(VolumesReleased(uid))
        self._gone(uid)

    def _plan(self, uid: str) -> PodPlan:
        return plan_unwanted(uid, self._actual, self._actor.now_ns())

    def _say(self, uid: str, leaving: _Leaving, error: str) -> None:
        """To who asked, and at each other trouble."""
        if error != leaving.told:
            self._actor.log.warning("what pod %s has on disk cannot be removed: %s", uid, error)
        if leaving.worker is not None and (leaving.asked or error != leaving.told):
            leaving.worker.tell(VolumesReleased(uid, error))
        leaving.asked, leaving.told = False, error

    def _wake_in(self, uid: str, ns: int) -> None:
        self._actor.after(ns, ReleaseDue(uid), key=("release", uid))


def _text(name: str, trouble: Trouble) -> str:
    return trouble.text if name == POD_ITSELF else f'volume "{name}": {trouble.text}'


def _listed(uid: str, done: Pending[tuple[LocatedVolume, ...]]) -> VolumesListed:
    outcome = outcome_of(done)
    return VolumesListed(uid, outcome.value or (), "" if outcome.error is None else str(outcome.error))
