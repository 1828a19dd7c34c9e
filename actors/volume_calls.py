"""The calls that make volumes and take them down, on lanes, each watched: a part of the `VolumeReconcilerActor`.

One call per thing at a time, in the thing's own slots of the lane: a dead mount costs its own pod and nobody else. A
call has no deadline on the lane. When it is late the actor goes on, but the call is still known: only when it has ended
(`CallEnded`) is it sure that it does no more (`volume_state`). One timer watches all of them (`LookForLate`): they are
late in the order in which they were begun, and nearly all end long before. The actor's slow tick looks too, should the
message of that timer be lost.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from actors.event_messages import pod_event
from actors.kernel import Actor, ActorRef, Message, Pending, outcome_of
from actors.volume_actual import SET_UP, Device, PodDirectory, Trouble
from actors.volume_plan import DEVICE_STEP, Do, Step
from config.objects import Pod
from runtime.volumes.capability import LocatedVolume, NodeVolumes, Say, VolumeError, VolumePlace

SECOND_NS = 1_000_000_000
CALL_LIMIT_NS = 123 * SECOND_NS
"""How long anything is waited for (spec 8.1)."""
MAP, MAP_DEVICE = "MapVolume.MapPodDevice", "MapVolume.SetUpDevice"
LANE_SIZE = 3
LANE_PER_THING = 2
"""One for a call that hangs, one so that what it was to make can still be taken down."""

_HANGS = (
    f"it has not ended within {CALL_LIMIT_NS // SECOND_NS} s and is still under way; its server or disk may be dead"
)


class Call(msgspec.Struct):
    """A call under way. `uid`: of the pod that it concerns, empty for none; `pod`: for which something is made.
    `due_ns`: when it is late.
    """

    number: int
    step: Step
    uid: str
    pod: Pod | None
    due_ns: int
    late: bool = False


class CallEnded(Message, frozen=True):
    """To the actor itself. `trouble` is None when it went well. `path`: where the volume is now. `found`: volumes that
    lie in a directory that was to be removed.
    """

    number: int
    trouble: Trouble | None = None
    path: str = ""
    found: tuple[LocatedVolume, ...] = ()


class LookForLate(Message, frozen=True):
    """To the actor itself: a call may not have ended in its time."""


class VolumeCalls:
    """See the module. `actor` begins them and is told; it hands the messages in here."""

    def __init__(self, actor: Actor, volumes: NodeVolumes, events: ActorRef) -> None:
        self._actor = actor
        self._volumes = volumes
        self._events = events
        self._under_way: dict[int, Call] = {}
        self._number = 0
        self._watched = False
        """There is a timer for the first of those under way that is not late."""

    def start(self) -> None:
        """Its actor begins a life."""
        self._lane = self._actor.lane("volumes", size=LANE_SIZE, per_key=LANE_PER_THING)

    def __contains__(self, number: int) -> bool:
        """Whether this call is still under way."""
        return number in self._under_way

    def begin(self, step: Step, pod: Pod | None) -> None:
        """Begin what the step says. `pod`: for which it is, None where something is taken down."""
        self._number += 1
        number = self._number
        uid = pod.metadata.uid if pod is not None else "" if isinstance(step.key, Device) else step.key.uid
        self._under_way[number] = Call(number, step, uid, pod, self._actor.now_ns() + CALL_LIMIT_NS)
        if not self._watched:
            self._watch()
        self._actor.begin(partial(self._submit, step, pod), partial(_ended, number, step))

    def ended(self, message: CallEnded) -> Call:
        """The call that has ended."""
        return self._under_way.pop(message.number)

    def late(self) -> list[Call]:
        """Those that are late since now."""
        self._watched = False
        now_ns = self._actor.now_ns()
        late = [call for call in self._under_way.values() if not call.late and call.due_ns <= now_ns]
        for call in late:
            call.late = True
        self._watch()
        return late

    def _watch(self) -> None:
        due_ns = next((call.due_ns for call in self._under_way.values() if not call.late), None)
        if due_ns is not None:
            self._watched = True
            self._actor.after(due_ns - self._actor.now_ns(), LookForLate())

    def tell_mapped(self, call: Call, path: str) -> None:
        """A device is there for the containers of its pod; of file systems nothing is said."""
        if call.pod is not None and call.step.volume is not None and call.step.volume.spec.block:
            name, field_path = call.step.volume.spec.name, call.step.volume.spec.field_path
            text = f'{MAP} succeeded for volume "{name}" volumeMapPath "{path}"'
            self._teller(call.pod, field_path)("Normal", "SuccessfulMountVolume", text)

    def _submit(self, step: Step, pod: Pod | None) -> Pending[Any]:
        lane, volumes, key = self._lane, self._volumes, step.key
        if isinstance(key, PodDirectory):
            deed = volumes.make_pod if step.do is Do.MAKE_DIRECTORY else volumes.remove_pod
            return lane.submit(key, deed, key.uid)
        if step.volume is None or pod is None:
            if isinstance(key, VolumePlace):
                return lane.submit(key, volumes.release, key)
            return lane.submit(key, volumes.unstage, key.name)
        spec = step.volume.spec
        if step.do is Do.ADOPT:
            return lane.submit(key, volumes.usable, pod.metadata.uid, spec)
        make = volumes.stage if step.do is Do.STAGE else volumes.prepare
        return lane.submit(key, make, pod, spec, self._teller(pod, spec.field_path))

    def _teller(self, pod: Pod, field_path: str) -> Say:
        events = self._events
        return lambda kind, reason, text: events.tell(pod_event(pod, kind, reason, text, field_path))


def late_trouble(step: Step) -> Trouble:
    """What is wrong with a thing whose call hangs."""
    return _trouble(step, _HANGS, "FailedMount")


def _ended(number: int, step: Step, done: Pending[Any]) -> CallEnded:
    outcome = outcome_of(done)
    error = outcome.error
    if error is None:
        value = outcome.value
        return CallEnded(number, found=value) if isinstance(value, tuple) else CallEnded(number, path=value or "")
    reason = error.reason if isinstance(error, VolumeError) else "FailedMount"
    return CallEnded(number, _trouble(step, str(error) or type(error).__name__, reason))


def _trouble(step: Step, text: str, reason: str) -> Trouble:
    if step.volume is not None and step.volume.spec.block:
        reason = "FailedMapVolume" if reason == "FailedMount" else reason
        return Trouble(text, reason, MAP_DEVICE if step.do is Do.STAGE else MAP)
    return Trouble(text, reason, DEVICE_STEP if step.do is Do.STAGE else SET_UP)
