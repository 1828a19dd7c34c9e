"""A part of `VolumeReconcilerActor`: devices that pods share, and when they are unstaged.

See spec 8.3 and 8.4.

The first volume that needs a device has it staged (`plan.py`). A device goes when no pod wants it and no volume
of any pod is, or may be, on it. Both are known only after the first full disk scan and once every pod source is ready.
Until then no device is unstaged. Nor is any volume reported as not in use, because it would be detached.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from actors.kernel import Actor, ActorRef, Message, SoleMessage
from actors.messages.node import VolumesInUseObserved
from actors.volumes.actual import ActualWorld, Device
from actors.volumes.desired import DesiredVolume
from actors.volumes.plan import Do, Plan, VolumeStep, plan_device
from actors.volumes.state import Found

SECOND_NS = 1_000_000_000
DEVICES_AT_ONCE = 64
SHORT_LIST = 256
"""A list of volumes in use up to this length is told at once, a longer one once a second."""


class DeviceDue(Message, frozen=True):
    """To the actor itself: retry unstaging this device."""

    name: str


class TellInUse(SoleMessage, frozen=True):
    """To the actor itself: the volumes in use may have changed."""


class DevicesDue(SoleMessage, frozen=True):
    """To the actor itself: look at the next devices that nobody may need."""


class VolumeDevices:
    """See the module. `begin` begins a step; `node` gets the volumes in use."""

    def __init__(
        self, actor: Actor, actual: ActualWorld, begin: Callable[[VolumeStep], None], node: ActorRef | None
    ) -> None:
        self._actor = actor
        self._actual = actual
        self._begin_step = begin
        self._node = node
        self._wanted: dict[str, Counter[str]] = {}
        """By device: how many volumes on it each pod wants."""
        self._in_use: Counter[str] = Counter()
        """How many volumes of pods are known in `volumesInUse` by this name."""
        self._scanned = False
        self._ready = False
        self._told = VolumesInUseObserved((), False)
        self._tells = False
        self._unseen: deque[str] = deque()
        """Devices to look at."""

    def want(self, uid: str, volume: DesiredVolume | None, before: DesiredVolume | None) -> None:
        """A volume of a pod has another form than `before`; None: the pod does not want it (any more)."""
        device, old = _device_of(volume), _device_of(before)
        if device:
            self._wanted.setdefault(device, Counter())[uid] += 1
        if old:
            self._unwant(old, uid)
        name, last = volume.in_use if volume is not None else "", before.in_use if before is not None else ""
        if name == last:
            return
        if name:
            self._in_use[name] += 1
        if last:
            self._in_use[last] -= 1
            if not self._in_use[last]:
                del self._in_use[last]
        self.tell_soon()

    def _unwant(self, name: str, uid: str) -> None:
        wanted = self._wanted[name]
        wanted[uid] -= 1
        if not wanted[uid]:
            del wanted[uid]
        if not wanted:
            del self._wanted[name]
            self.look_at(name)

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
        self._unseen.extend(sorted(self._actual.devices))
        self.look_on()

    def look_on(self) -> None:
        """Look at the next devices, at most `DEVICES_AT_ONCE`."""
        for _ in range(min(DEVICES_AT_ONCE, len(self._unseen))):
            self.look_at(self._unseen.popleft())
        if self._unseen:
            self._actor.after(0, DevicesDue())
        self.tell_soon()

    def look_at(self, name: str) -> None:
        """Unstage the device if nobody needs it."""
        self.tell_soon()
        if not (self._scanned and self._ready):
            return
        plan = self._plan(name)
        if plan.step is not None:
            self._begin_step(plan.step)
            if plan.step.do is Do.SAY_AGAIN:
                plan = self._plan(name)
        if plan.retry_at_ns:
            self._actor.after(plan.retry_at_ns - self._actor.now_ns(), DeviceDue(name), key=("device", name))

    def _plan(self, name: str) -> Plan:
        return plan_device(name, name in self._wanted, self._actual, self._actor.now_ns())

    # --- what is in use ---------------------------------------------------------------------------------------------

    def tell_soon(self) -> None:
        """The volumes in use may have changed: tell them when what waits now has been handled."""
        if self._node is None or self._tells:
            return
        self._tells = True
        is_short = len(self._actual.devices) + len(self._in_use) <= SHORT_LIST
        self._actor.after(0 if is_short else SECOND_NS, TellInUse())

    def tell_in_use(self) -> None:
        """Report which attachable volumes must not be detached, if that has changed."""
        self._tells = False
        if self._node is None:
            return
        complete = self._scanned and self._ready
        devices = self._actual.devices.items()
        names = {name if device.in_use is None else device.in_use for name, device in devices} - {""}
        now = VolumesInUseObserved(tuple(sorted(names.union(self._in_use))), complete)
        if now != self._told:
            self._told = now
            self._node.tell(now)

    def tell_again(self) -> None:
        """Repeat the last report: the receiver has lost it."""
        if self._node is not None:
            self._node.tell(self._told)


def _device_of(volume: DesiredVolume | None) -> str:
    return volume.at.device if volume is not None and volume.at is not None else ""
