"""Taking down all that a pod has on disk: a part of the `VolumeReconcilerActor`.

Everything goes in the order that `volume_plan` says, the pod's directory last, as often as it takes, with a back-off.
The disk may know of volumes that no record does, made by another life of the agent or by a call that was late: as long
as there are any the directory stays, and its removal tells of them. Who asked is told when all is gone, and when
something cannot be taken down; who asks again is answered again, and everything is tried at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from actors.kernel import Actor, ActorRef, Message
from actors.messages.volumes import VolumesReleased
from actors.volumes.actual import ActualWorld, PodDirectory, Trouble
from actors.volumes.plan import POD_ITSELF, Step, plan_unwanted
from actors.volumes.state import Failed, Found, ThingStage
from runtime.volumes.capability import LocatedVolume

STILL_THERE = Trouble("volumes that were taken down are there again")


class ReleaseDue(Message, frozen=True):
    """To the actor itself: try again to take down what a pod has."""

    uid: str


class _Leaving(msgspec.Struct):
    """A pod that is to have nothing. `asked`: somebody waits for an answer."""

    worker: ActorRef | None
    asked: bool = True
    told: str = ""


class VolumeReleases:
    """See the module. `begin`: begins a step; `gone`: is told of each pod of which nothing is left."""

    def __init__(
        self,
        actor: Actor,
        actual: ActualWorld,
        begin: Callable[[Step], None],
        gone: Callable[[str], None],
    ) -> None:
        self._actor = actor
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
        if things.directory.life.stage is ThingStage.ABSENT:
            self._actual.meet(PodDirectory(uid), Found())  # unless the disk says otherwise
        self.advance(uid)

    def forget(self, uid: str) -> None:
        """The pod is to have its volumes after all."""
        if self._leaving.pop(uid, None) is not None:
            self._actor.cancel_timer(("release", uid))

    def due(self, message: ReleaseDue) -> None:
        self.advance(message.uid)

    def found(self, directory: PodDirectory, volumes: tuple[LocatedVolume, ...]) -> None:
        """These lie in a pod's directory, which was not removed for their sake. They go first; twice is a trouble."""
        thing = self._actual.thing(directory)
        if thing.failures:
            thing.failed(STILL_THERE, self._actor.now_ns())
        thing.failures = max(thing.failures, 1)
        self._actual.found(volumes)
        self._actual.meet(directory, Failed())

    def advance(self, uid: str) -> None:
        """Begin what can be begun now; at the end say how it stands."""
        leaving = self._leaving.get(uid)
        if leaving is None:
            return
        plan = plan_unwanted(uid, self._actual, self._actor.now_ns())
        while plan.steps:
            for step in plan.steps:
                self._begin_step(step)
            if plan.begins_calls:
                return  # the end of them is a reason to go on
            plan = plan_unwanted(uid, self._actual, self._actor.now_ns())
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
