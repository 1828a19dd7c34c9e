"""Removes everything that a pod has on disk: a part of the `VolumeReconcilerActor`.

Each volume is planned alone (`plan.py`): once at the beginning, again when a call about it ends, and after its
back-off. The pod's directory goes last. The disk may hold volumes without a record, made by an earlier life of the
agent or by a late call. While there are any, removing the directory fails and reports them. The requester hears when
all is gone, or what cannot be removed. A second request is answered too, and retries everything at once.

A message looks at no more than `LOOKS_AT_ONCE` volumes of a pod, and a pod has few calls under way at a time. While
all of these hang, the other volumes of their lane are reported as held up. Only the list of what is to go is made at
once; it costs a pointer each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from heapq import heappop, heappush

import msgspec

from actors.kernel import Actor, ActorRef, Message
from actors.messages.volumes import VolumesReleased
from actors.volumes.actual import ActualWorld, Key, PodDirectory, VolumeProblem
from actors.volumes.calls import HELD_UP, VolumeCalls, Window, is_remote
from actors.volumes.plan import Do, VolumeStep, plan_removal
from actors.volumes.problems import joined
from actors.volumes.state import Failed, Found, ThingStage, may_unmake
from runtime.volumes.capability import LocatedVolume, VolumePlace

STILL_THERE = VolumeProblem("volumes that were taken down are there again")
LOOKS_AT_ONCE = 64


class ReleaseDue(Message, frozen=True):
    """To the actor itself: go on with the removal of what a pod has on disk."""

    uid: str


class _Leaving(msgspec.Struct):
    """A pod that is being released.

    `asked`: its worker waits for an answer. `told`: the last error reported. `left`: volumes to look at, and `blocked`
    those for whose calls there is no room. `found`: those that lay in the directory, without a record yet. `waiting`:
    things whose calls must end first. `resting`: things in their back-off by the end of it, with a number that keeps
    the order; `troubles`: why they are.
    """

    worker: ActorRef | None
    asked: bool = True
    told: str = ""
    left: deque[VolumePlace] = msgspec.field(default_factory=deque)
    blocked: dict[Window, deque[VolumePlace]] = msgspec.field(default_factory=dict)
    found: list[LocatedVolume] = msgspec.field(default_factory=list)
    waiting: set[Key] = msgspec.field(default_factory=set)
    resting: list[tuple[int, int, Key]] = msgspec.field(default_factory=list)
    troubles: dict[Key, VolumeProblem] = msgspec.field(default_factory=dict)
    number: int = 0


class VolumeReleases:
    """See the module. `begin` begins a step; `gone` is called for each pod that has nothing left.

    `unwant` drops so many of the volumes that a pod is known to want, and says whether none is left.
    """

    def __init__(
        self,
        actor: Actor,
        actual: ActualWorld,
        calls: VolumeCalls,
        begin: Callable[[VolumeStep], None],
        unwant: Callable[[str, int], bool],
        gone: Callable[[str], None],
    ) -> None:
        self._actor = actor
        self._actual = actual
        self._calls = calls
        self._begin_step = begin
        self._unwant = unwant
        self._gone = gone
        self._leaving: dict[str, _Leaving] = {}

    def uids(self) -> Collection[str]:
        """The pods that are being released."""
        return self._leaving.keys()

    def begin(self, uid: str, worker: ActorRef | None) -> None:
        """Remove all that the pod has; no back-off applies."""
        leaving = self._leaving.get(uid)
        things = self._actual.pod(uid)
        if leaving is None:
            leaving = self._leaving[uid] = _Leaving(worker, left=deque(things.volumes))
        leaving.worker = worker or leaving.worker
        leaving.asked = True
        if things.directory.life.stage is ThingStage.ABSENT:
            self._actual.meet(PodDirectory(uid), Found())  # unless the disk says otherwise
        self.try_now(uid)

    def try_now(self, uid: str) -> None:
        """Retry everything, because there is news."""
        leaving = self._leaving[uid]
        leaving.left.extend(key for key in leaving.troubles if isinstance(key, VolumePlace))
        leaving.resting, leaving.troubles = [], {}
        self._actual.pod(uid).directory.retry_at_ns = 0
        self.advance(uid)

    def forget(self, uid: str) -> None:
        """Stop the release: the pod needs its volumes after all."""
        if self._leaving.pop(uid, None) is not None:
            self._actor.cancel_timer(("release", uid))

    def due(self, message: ReleaseDue) -> None:
        """Look again at what has rested long enough."""
        leaving = self._leaving.get(message.uid)
        if leaving is None:
            return
        now_ns = self._actor.now_ns()
        for _ in range(min(LOOKS_AT_ONCE, len(leaving.resting))):
            if leaving.resting[0][0] > now_ns:
                break
            _, _, key = heappop(leaving.resting)
            del leaving.troubles[key]
            if isinstance(key, VolumePlace):
                leaving.left.append(key)
        self.advance(message.uid)

    def found(self, directory: PodDirectory, volumes: tuple[LocatedVolume, ...]) -> None:
        """The directory was not removed because these volumes lie in it.

        They go first; a second time is an error.
        """
        thing = self._actual.thing(directory)
        if thing.failures:
            thing.failed(STILL_THERE, self._actor.now_ns())
        thing.failures = max(thing.failures, 1)
        self._actual.meet(directory, Failed())
        leaving = self._leaving.get(directory.uid)
        if leaving is not None:
            leaving.found.extend(volumes)

    def call_ended(self, key: Key, uid: str) -> None:
        """A call about this thing of the pod has ended or is late."""
        leaving = self._leaving[uid]
        leaving.waiting.discard(key)
        if isinstance(key, VolumePlace):
            self._look_at(leaving, key)
        self.advance(uid)

    def advance(self, uid: str) -> None:
        """Begin what can begin now; once nothing is under way, report the result."""
        leaving = self._leaving.get(uid)
        if leaving is None:
            return
        looks = LOOKS_AT_ONCE
        while looks and leaving.found:
            looks -= 1
            volume = leaving.found.pop()
            self._actual.found(volume)
            leaving.left.append(volume.place)
        while looks and (place := self._take_next(leaving)) is not None:
            looks -= 1
            self._look_at(leaving, place, fresh=True)
        if not self._unwant(uid, LOOKS_AT_ONCE) or not looks:
            self._wake_in(uid, 0)
        elif not leaving.waiting:
            self._end(uid, leaving)

    def _take_next(self, leaving: _Leaving) -> VolumePlace | None:
        """The next volume to look at, if there is room for its call."""
        if leaving.left:
            return leaving.left.popleft()
        for window, places in leaving.blocked.items():
            if places and (self._calls.has_room(window) or self._calls.only_hang(window)):
                return places.popleft()
        return None

    def _look_at(self, leaving: _Leaving, place: VolumePlace, *, fresh: bool = False) -> None:
        """Plan one volume. `fresh`: no back-off applies."""
        thing = self._actual.pod(place.uid).volumes.get(place)
        if thing is None:
            return
        if fresh:
            thing.retry_at_ns = 0
        window = Window(place.uid, is_remote(place), True)
        if may_unmake(thing.life) and thing.retry_at_ns <= self._actor.now_ns() and not self._calls.has_room(window):
            if not self._calls.only_hang(window):
                leaving.blocked.setdefault(window, deque()).append(place)
                return
            thing.failed(thing.trouble or HELD_UP, self._actor.now_ns())
        self._plan(leaving, place)

    def _plan(self, leaving: _Leaving, key: VolumePlace | PodDirectory) -> None:
        """Begin the removal of a thing, or note what it waits for."""
        now_ns = self._actor.now_ns()
        thing = self._actual.thing(key)
        plan = plan_removal(key, thing, now_ns)
        if plan.step is not None:
            self._begin_step(plan.step)
            if plan.step.do is Do.SAY_AGAIN:
                plan = plan_removal(key, thing, now_ns)
        if plan.step is not None or plan.busy is not None:
            leaving.waiting.add(key)
        elif plan.trouble is not None and key not in leaving.troubles:
            leaving.number += 1
            heappush(leaving.resting, (plan.retry_at_ns, leaving.number, key))
            leaving.troubles[key] = plan.trouble

    def _end(self, uid: str, leaving: _Leaving) -> None:
        """Nothing of its volumes is under way: remove the directory, or report."""
        things = self._actual.pod(uid)
        if not leaving.troubles and things.directory.life.stage is not ThingStage.ABSENT:
            self._plan(leaving, PodDirectory(uid))
        if leaving.waiting:
            return
        if leaving.troubles:
            self._say(uid, leaving, joined([_text(key, trouble) for key, trouble in leaving.troubles.items()]))
            self._wake_in(uid, max(leaving.resting[0][0] - self._actor.now_ns(), 0))
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


def _text(key: Key, trouble: VolumeProblem) -> str:
    return f'volume "{key.name}": {trouble.text}' if isinstance(key, VolumePlace) else trouble.text
