"""A part of `VolumeReconcilerActor`: devices that pods share, and when they are unstaged.

See spec 8.3 and 8.4.

The pass of the first pod that needs a device stages it (`plan.py`). A device goes when no pod wants it and no volume
of any pod is, or may be, on it. Both are known only after the first full disk scan and once every pod source is ready.
Until then no device is unstaged. Nor is any volume reported as not in use, because it would be detached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actors.kernel import Actor, ActorRef, Message
from actors.messages.node import VolumesInUseObserved
from actors.volumes.actual import ActualWorld, Device
from actors.volumes.desired import DesiredVolume
from actors.volumes.plan import PodPlan, VolumeStep, plan_device
from actors.volumes.state import Found


class DeviceDue(Message, frozen=True):
    """To the actor itself: retry unstaging this device."""

    name: str


class VolumeDevices:
    """See the module. `begin` begins a step; `node` gets the volumes in use."""

    def __init__(
        self, actor: Actor, actual: ActualWorld, begin: Callable[[VolumeStep], None], node: ActorRef | None
    ) -> None:
        self._actor = actor
        self._actual = actual
        self._begin_step = begin
        self._node = node
        self._of_pod: dict[str, frozenset[str]] = {}
        self._wanted: dict[str, set[str]] = {}
        self._in_use: dict[str, frozenset[str]] = {}
        self._scanned = False
        self._ready = False
        self._told = VolumesInUseObserved((), False)

    def desired(self, uid: str, volumes: Sequence[DesiredVolume]) -> None:
        """Record the volumes that a pod wants now; none when it is released."""
        if not volumes and uid not in self._of_pod and uid not in self._in_use:
            return
        devices = frozenset(volume.at.device for volume in volumes if volume.at is not None and volume.at.device)
        before = self._of_pod.get(uid, frozenset())
        _put(self._of_pod, uid, devices)
        _put(self._in_use, uid, frozenset(volume.in_use for volume in volumes if volume.in_use))
        for name in sorted(devices - before):
            self._wanted.setdefault(name, set()).add(uid)
        for name in sorted(before - devices):
            self._wanted[name].discard(uid)
            if not self._wanted[name]:
                del self._wanted[name]
            self.look_at(name)
        self.tell_in_use()

    def wanted_by(self, name: str) -> tuple[str, ...]:
        """UIDs of the pods that want a volume on this device, sorted."""
        return tuple(sorted(self._wanted.get(name, ())))

    def found(self, names: Sequence[str]) -> None:
        """The disk scan is complete and found these devices."""
        for name in names:
            self._actual.meet(Device(name), Found())
        self._scanned = True
        self._look_at_all()

    def sources_are_ready(self) -> None:
        """Every pod source is ready."""
        if not self._ready:
            self._ready = True
            self._look_at_all()

    def _look_at_all(self) -> None:
        for name in sorted(self._actual.devices):
            self.look_at(name)
        self.tell_in_use()

    def look_at(self, name: str) -> None:
        """Unstage the device if nobody needs it."""
        if self._scanned and self._ready:
            plan = self._plan(name)
            while plan.steps:
                for step in plan.steps:
                    self._begin_step(step)
                plan = self._plan(name)
            if plan.wake_ns:
                self._actor.after(plan.wake_ns - self._actor.now_ns(), DeviceDue(name), key=("device", name))
        self.tell_in_use()

    def _plan(self, name: str) -> PodPlan:
        return plan_device(name, name in self._wanted, self._actual, self._actor.now_ns())

    def tell_in_use(self) -> None:
        """Report which attachable volumes must not be detached, if that has changed."""
        if self._node is None:
            return
        complete = self._scanned and self._ready
        devices = self._actual.devices.items()
        names = {name if device.in_use is None else device.in_use for name, device in devices} - {""}
        now = VolumesInUseObserved(tuple(sorted(names.union(*self._in_use.values()))), complete)
        if now != self._told:
            self._told = now
            self._node.tell(now)

    def tell_again(self) -> None:
        """Repeat the last report: the receiver has lost it."""
        if self._node is not None:
            self._node.tell(self._told)


def _put(index: dict[str, frozenset[str]], uid: str, names: frozenset[str]) -> None:
    if names:
        index[uid] = names
    else:
        index.pop(uid, None)
