"""Removes everything that a pod has on disk: a part of the `VolumeReconcilerActor`.

`plan.py` gives the order; the pod's directory goes last. Failed steps are retried with a back-off.
The disk may hold volumes without a record, made by an earlier life of the agent or by a late call. While there are
any, removing the directory fails and reports them. The requester hears when all is gone, or what cannot be removed.
A second request is answered too, and retries everything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from actors.kernel import Actor, ActorRef, Message
from actors.messages.volumes import VolumesReleased
from actors.volumes.actual import ActualWorld, PodDirectory, VolumeProblem
from actors.volumes.plan import POD_ITSELF, VolumeStep, plan_unwanted
from actors.volumes.state import Failed, Found, ThingStage
from runtime.volumes.capability import LocatedVolume

STILL_THERE = VolumeProblem("volumes that were taken down are there again")


class ReleaseDue(Message, frozen=True):
    """To the actor itself: retry the removal of what a pod has on disk."""

    uid: str


class _Leaving(msgspec.Struct):
    """A pod that is being released.

    `asked`: its worker waits for an answer. `told`: the last error reported.
    """

    worker: ActorRef | None
    asked: bool = True
    told: str = ""


class VolumeReleases:
    """See the module. `begin` begins a step; `gone` is called for each pod that has nothing left."""

    def __init__(
        self,
        actor: Actor,
        actual: ActualWorld,
        begin: Callable[[VolumeStep], None],
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
        """Remove all that the pod has; no back-off applies."""
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
        """Stop the release: the pod needs its volumes after all."""
        if self._leaving.pop(uid, None) is not None:
            self._actor.cancel_timer(("release", uid))

    def due(self, message: ReleaseDue) -> None:
        self.advance(message.uid)

    def found(self, directory: PodDirectory, volumes: tuple[LocatedVolume, ...]) -> None:
        """The directory was not removed because these volumes lie in it.

        They go first; a second time is an error.
        """
        thing = self._actual.thing(directory)
        if thing.failures:
            thing.failed(STILL_THERE, self._actor.now_ns())
        thing.failures = max(thing.failures, 1)
        self._actual.found(volumes)
        self._actual.meet(directory, Failed())

    def advance(self, uid: str) -> None:
        """Begin what can begin now; once nothing is under way, report the result."""
        leaving = self._leaving.get(uid)
        if leaving is None:
            return
        plan = plan_unwanted(uid, self._actual, self._actor.now_ns())
        while plan.steps:
            for step in plan.steps:
                self._begin_step(step)
            if plan.begins_calls:
                return  # `advance` is called again when a call ends
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
        """Report to the requester, and whenever the error changes."""
        if error != leaving.told:
            self._actor.log.warning("the files of pod %s cannot be removed: %s", uid, error)
        if leaving.worker is not None and (leaving.asked or error != leaving.told):
            leaving.worker.tell(VolumesReleased(uid, error))
        leaving.asked, leaving.told = False, error

    def _wake_in(self, uid: str, ns: int) -> None:
        self._actor.after(ns, ReleaseDue(uid), key=("release", uid))


def _text(name: str, trouble: VolumeProblem) -> str:
    return trouble.text if name == POD_ITSELF else f'volume "{name}": {trouble.text}'
