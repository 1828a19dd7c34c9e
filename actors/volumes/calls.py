"""The calls that make volumes and take them down, on lanes: a part of the `VolumeReconcilerActor`.

Each thing has one call at a time, and each pod its own turns in a lane, so a dead mount delays only its own pod.
Volumes that depend on a server or a driver have a lane of their own, so a dead server never delays volumes of the
machine. Of a pod, `MAKES_AT_ONCE` calls make something in a lane. So few calls wait for their turn, and what was never
begun is never late.

A call has no deadline on its lane. When it is late the actor goes on but keeps its record: only `VolumeCallEnded`
proves that the call does no more (`state.py`). One timer watches all calls (`LookForLate`), because they become late in
the order of their beginning, and nearly all end long before. The actor's slow tick checks too, in case that timer's
message is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from actors.kernel import Actor, ActorRef, Lane, Message, Pending, Rank, outcome_of
from actors.messages.events import pod_event
from actors.volumes.actual import SET_UP, Device, Key, PodDirectory, VolumeProblem
from actors.volumes.plan import DEVICE_STEP, TAKING_DOWN, Do, VolumeStep
from config.objects import Pod
from config.pods.identity import is_critical
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.api.token_bucket import SHARE, PodShares, TokenBucket
from runtime.volumes.capability import LocatedVolume, NodeVolumes, Say, VolumeFailedError, VolumePlace

SECOND_NS = 1_000_000_000
CALL_LIMIT_NS = 123 * SECOND_NS
"""How long to wait for any call (spec 8.1)."""
MAP, MAP_DEVICE = "MapVolume.MapPodDevice", "MapVolume.SetUpDevice"
LANE_SIZE = 3
"""Of either lane: each call has a thread.

Two that hang at once hold up nobody. Every three hold up their own lane once, for the patience of a lane: one second.
"""
PER_POD, PER_POD_REMOTE = 2, 3
"""Storage drivers mount the volumes of a pod side by side."""
MAKES_AT_ONCE = 3
"""How many calls of a pod make something in a lane, those that hang included.

A lane lets four calls of a key hang; the fourth must be one that takes something down.
"""
REMOVALS_AT_ONCE = 4
"""The same for calls that take something down."""
PACE_PER_SECOND, AT_ONCE = 250, 256
"""A pod has this many calls at once, and then so many a second.

A call takes about a millisecond of the processor, and all pods share one interpreter. At full speed 5,000 volumes take
most of it for seconds.
"""
LOCAL_PLUGINS = tuple(kind.plugin for kind in VOLUME_SOURCES.values() if kind.served and not kind.remote)

_HANGS = (
    f"it has not ended within {CALL_LIMIT_NS // SECOND_NS} s and is still under way; its server or disk may be dead"
)
_NO_TURN = f"it has waited {CALL_LIMIT_NS // SECOND_NS} s for its turn; other calls of the pod or its lane hang"

HELD_UP = VolumeProblem("it waits for other volumes of the pod, whose calls hang", reason="")


class VolumeLanes:
    """Where calls about volumes run: `local` needs this machine alone, `remote` a server or a driver too."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    @property
    def local(self) -> Lane:
        return self._actor.lane("volumes", size=LANE_SIZE, per_key=PER_POD)

    @property
    def remote(self) -> Lane:
        return self._actor.lane("remote-volumes", size=LANE_SIZE, per_key=PER_POD_REMOTE)

    def of(self, key: Key) -> Lane:
        """The lane of all calls about this thing."""
        return self.remote if is_remote(key) else self.local


def is_remote(key: Key) -> bool:
    """Whether calls about this thing depend on more than this machine.

    Pure. A kind that is unknown, such as that of a FlexVolume driver, may do so.
    """
    if isinstance(key, Device):
        return not key.name.startswith(tuple(f"{plugin}/" for plugin in LOCAL_PLUGINS))
    return isinstance(key, VolumePlace) and key.plugin not in LOCAL_PLUGINS


class Window(NamedTuple):
    """What the calls of a pod share that are alike: a lane, and whether they take something down."""

    uid: str
    remote: bool
    removes: bool


class VolumeCall(msgspec.Struct):
    """A call under way.

    `uid`: of its pod, empty for a device that is taken down. `pod`: the pod to make something for. `due_ns`: when it is
    late. `has_begun`: its lane has begun it.
    """

    number: int
    step: VolumeStep
    uid: str
    pod: Pod | None
    due_ns: int
    late: bool = False
    has_begun: bool = False

    @property
    def window(self) -> Window:
        return Window(self.uid, is_remote(self.step.key), self.step.do in TAKING_DOWN)

    def about(self) -> str:
        """The thing being made or taken down, in words for people."""
        key, do = self.step.key, self.step.do
        if isinstance(key, Device):
            return f"{do} of {key.name}"
        return f"{do} of volume {key.name} of pod {key.uid}" if isinstance(key, VolumePlace) else f"{do} {key.uid}"


class VolumeWork:
    """The work of a call on its lane, which notes that it has begun."""

    __slots__ = ("__qualname__", "_call", "_work")

    def __init__(self, call: VolumeCall, work: Callable[..., Any]) -> None:
        self._call = call
        self._work = work
        self.__qualname__ = work.__qualname__

    def begin(self) -> None:
        """Note it."""
        self._call.has_begun = True

    def __call__(self, *args: Any) -> Any:
        self.begin()
        return self._work(*args)


class VolumeCallEnded(Message, frozen=True):
    """To the actor itself.

    `trouble` is None on success. `path`: where the volume is now. `found`: volumes that still lie in the directory to
    remove.
    """

    number: int
    trouble: VolumeProblem | None = None
    path: str = ""
    found: tuple[LocatedVolume, ...] = ()


class CallsDue(Message, frozen=True):
    """To the actor itself: begin the work of calls of a pod that had had its share."""

    uid: str


class LookForLate(Message, frozen=True):
    """To the actor itself: a call may be late."""


class VolumeCalls:
    """See the module. `actor` runs the calls and passes the messages about them in here."""

    def __init__(self, actor: Actor, lanes: VolumeLanes, volumes: NodeVolumes, events: ActorRef) -> None:
        self._actor = actor
        self._lanes = lanes
        self._volumes = volumes
        self._events = events
        self._under_way: dict[int, VolumeCall] = {}
        """In the order of their beginning, which is that of their being late."""
        self._late: dict[int, VolumeCall] = {}
        """Those that are late, and under way still."""
        self._in_window: Counter[Window] = Counter()
        """How many calls are under way, those that are late included."""
        self._hanging: Counter[Window] = Counter()
        """How many of those are late."""
        self._shares = PodShares(TokenBucket(SHARE * PACE_PER_SECOND, SHARE * AT_ONCE))
        self._resting: dict[str, list[VolumeCall]] = {}
        """By pod: the calls that wait for its share to come back."""
        self._number = 0
        self._watched = False
        """A timer is set for the first call that is not late yet."""

    def __contains__(self, number: int) -> bool:
        """Whether this call is still under way."""
        return number in self._under_way or number in self._late

    def has_room(self, window: Window) -> bool:
        """Whether one more such call may begin."""
        return self._in_window[window] < (REMOVALS_AT_ONCE if window.removes else MAKES_AT_ONCE)

    def only_hang(self, window: Window) -> bool:
        """Whether all such calls that are under way are late."""
        return self._hanging[window] == self._in_window[window]

    def begin(self, step: VolumeStep, pod: Pod | None) -> None:
        """Begin the call of a step. `pod`: the pod that it serves, None when something is taken down."""
        self._number += 1
        number = self._number
        uid = pod.metadata.uid if pod is not None else "" if isinstance(step.key, Device) else step.key.uid
        call = self._under_way[number] = VolumeCall(number, step, uid, pod, self._actor.now_ns() + CALL_LIMIT_NS)
        _count(self._in_window, call.window, 1)
        if not self._watched:
            self._watch()
        self._begin_in_turn(call)

    def due(self, message: CallsDue) -> None:
        """Begin the work of the calls of a pod that had to wait."""
        for call in self._resting.pop(message.uid):
            self._begin_in_turn(call)

    def _begin_in_turn(self, call: VolumeCall) -> None:
        uid, now_ns = call.uid, self._actor.now_ns()
        if uid in self._resting:
            self._resting[uid].append(call)
        elif not uid or self._shares.take(uid, now_ns):
            self._actor.begin(partial(self._submit, call), partial(_ended, call.number, call.step))
        else:
            self._resting[uid] = [call]
            wait_ns = self._shares.wait_ns(uid, now_ns, spare=MAKES_AT_ONCE - 1)
            self._actor.after(wait_ns, CallsDue(uid))  # a timer, because its message is never refused

    def ended(self, message: VolumeCallEnded) -> VolumeCall:
        """Remove and return the call that has ended."""
        call = self._under_way.pop(message.number, None)
        if call is None:
            call = self._late.pop(message.number)
            _count(self._hanging, call.window, -1)
        _count(self._in_window, call.window, -1)
        return call

    def late(self) -> Iterator[VolumeCall]:
        """The calls that have become late since the last check."""
        self._watched = False
        now_ns = self._actor.now_ns()
        while (first := self._first()) is not None and first.due_ns <= now_ns:
            del self._under_way[first.number]
            self._late[first.number] = first
            first.late = True
            _count(self._hanging, first.window, 1)
            yield first
        self._watch()

    def _first(self) -> VolumeCall | None:
        return next(iter(self._under_way.values()), None)

    def _watch(self) -> None:
        first = self._first()
        if first is not None:
            self._watched = True
            self._actor.after(first.due_ns - self._actor.now_ns(), LookForLate())

    def tell_mapped(self, call: VolumeCall, path: str) -> None:
        """Send the event that a block device is mapped; file systems get no event."""
        if call.pod is not None and call.step.volume is not None and call.step.volume.spec.block:
            name, field_path = call.step.volume.spec.name, call.step.volume.spec.field_path
            text = f'{MAP} succeeded for volume "{name}" volumeMapPath "{path}"'
            self._teller(call.pod, field_path)("Normal", "SuccessfulMountVolume", text)

    def _submit(self, call: VolumeCall) -> Pending[Any]:
        volumes, step, pod, uid = self._volumes, call.step, call.pod, call.uid
        key = step.key
        if isinstance(key, PodDirectory):
            if step.do is Do.MAKE_DIRECTORY:
                return self._on_lane(call, volumes.make_pod, uid)
            return self._on_lane(call, volumes.remove_pod, uid)
        if step.volume is None or pod is None:
            if isinstance(key, VolumePlace):
                return self._on_lane(call, volumes.release, key)
            return self._on_lane(call, volumes.unstage, key.name)
        spec = step.volume.spec
        if step.do is Do.ADOPT:
            return self._on_lane(call, volumes.usable, uid, spec)
        make = volumes.stage if step.do is Do.STAGE else volumes.prepare
        return self._on_lane(call, make, pod, spec, self._teller(pod, spec.field_path))

    def _on_lane(self, call: VolumeCall, work: Callable[..., Any], *args: Any) -> Pending[Any]:
        """Run it among the calls of its pod, or of the device that nobody needs."""
        key = call.step.key
        return self._lanes.of(key).submit(
            call.uid or str(key),
            VolumeWork(call, work),
            *args,
            rank=Rank.FIRST if call.pod is not None and is_critical(call.pod) else Rank.NORMAL,
            ends=call.step.do in TAKING_DOWN,
        )

    def _teller(self, pod: Pod, field_path: str) -> Say:
        events = self._events
        return lambda kind, reason, text: events.tell(pod_event(pod, kind, reason, text, field_path))


def _count(counts: Counter[Window], window: Window, by: int) -> None:
    counts[window] += by
    if not counts[window]:
        del counts[window]


def late_trouble(step: VolumeStep, *, has_begun: bool = True) -> VolumeProblem:
    """The trouble of a thing whose call hangs, or waits for calls that hang."""
    return _trouble(step, _HANGS if has_begun else _NO_TURN, "FailedMount")


def _ended(number: int, step: VolumeStep, done: Pending[Any]) -> VolumeCallEnded:
    outcome = outcome_of(done)
    error = outcome.error
    if error is None:
        value = outcome.value
        return (
            VolumeCallEnded(number, found=value)
            if isinstance(value, tuple)
            else VolumeCallEnded(number, path=value or "")
        )
    reason = error.reason if isinstance(error, VolumeFailedError) else "FailedMount"
    return VolumeCallEnded(number, _trouble(step, str(error) or type(error).__name__, reason))


def _trouble(step: VolumeStep, text: str, reason: str) -> VolumeProblem:
    if step.volume is not None and step.volume.spec.block:
        reason = "FailedMapVolume" if reason == "FailedMount" else reason
        return VolumeProblem(text, reason, MAP_DEVICE if step.do is Do.STAGE else MAP)
    return VolumeProblem(text, reason, DEVICE_STEP if step.do is Do.STAGE else SET_UP)
