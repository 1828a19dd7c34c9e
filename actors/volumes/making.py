"""Makes what the children order: a part of the `VolumeReconcilerActor`.

Each volume is planned alone (`plan.py`): when it is ordered, and when a call ends that it waits for. So a pod costs
steps in proportion to its volumes, and each message plans at most `PLANS_AT_ONCE`. What is left takes turns with what
other pods have left, one slice a message.

A pod has a window of `MAKES_AT_ONCE` calls in each lane, those that hang included. A volume beyond it waits, and its
call begins when another one ends. While only calls that hang are left in the window, it is refused until they return.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from itertools import groupby

import msgspec

from actors.kernel import Actor, Message
from actors.volumes.actual import ActualWorld, Key, PodDirectory
from actors.volumes.books import VolumeBooks
from actors.volumes.calls import HELD_UP, VolumeCalls, Window, is_remote
from actors.volumes.desired import DesiredVolume, without_secrets
from actors.volumes.orders import OrderVolumes, VolumeOutcome, VolumesSettled
from actors.volumes.plan import POD_ITSELF, TAKING_DOWN, Do, Plan, VolumeStep, plan_directory, plan_volume
from actors.volumes.state import is_under_way
from config.objects import Pod

PLANS_AT_ONCE = 64
"""Volumes planned in one message."""
OUTCOMES_AT_ONCE = 64
"""Outcomes in one message, at least, while more orders of a pass are open."""


class PlanMore(Message, frozen=True):
    """To the actor itself: plan the next volumes that are due."""


class _Order(msgspec.Struct):
    """An order that is not settled.

    `kept`: the volume without its secrets; None for the pod's directory alone.
    """

    number: int
    since_ns: int
    volume: DesiredVolume | None
    kept: DesiredVolume | None


class _Orders(msgspec.Struct):
    """The open orders of one pod by name.

    `due`: to be planned; `blocked`: by a window that is full. `number`: of the newest pass, and `left`: how many of its
    orders are open. `settled`: outcomes that the child has not heard of; it waits for all of a pass.
    """

    pod: Pod
    number: int = 0
    left: int = 0
    open: dict[str, _Order] = msgspec.field(default_factory=dict)
    due: deque[str] = msgspec.field(default_factory=deque)
    blocked: dict[Window, deque[str]] = msgspec.field(default_factory=dict)
    settled: list[tuple[int, VolumeOutcome]] = msgspec.field(default_factory=list)

    def open_one(self, name: str, order: _Order) -> None:
        """Open an order of the newest pass, in the place of an earlier one of its name."""
        before = self.open.get(name)
        self.left += before is None or before.number != self.number
        self.open[name] = order
        self.due.append(name)

    def settle_one(self, name: str, outcome: VolumeOutcome) -> None:
        """An order is settled."""
        order = self.open.pop(name)
        self.left -= order.number == self.number
        self.settled.append((order.number, outcome))


class VolumeMaking:
    """See the module. `begin` begins a step for a pod; `tell` sends a message to the child of a pod.

    Every method costs the same however many volumes a pod has, but for `take`: it costs its orders.
    """

    def __init__(
        self,
        actor: Actor,
        actual: ActualWorld,
        books: VolumeBooks,
        calls: VolumeCalls,
        begin: Callable[[VolumeStep, Pod], None],
        tell: Callable[[str, Message], None],
    ) -> None:
        self._actor = actor
        self._actual = actual
        self._books = books
        self._calls = calls
        self._begin = begin
        self._tell = tell
        self._pods: dict[str, _Orders] = {}
        self._turns: OrderedDict[str, None] = OrderedDict()
        """The pods with orders that are due, in the order of their turns."""
        self._waiting: dict[Key, dict[str, list[str]]] = {}
        """By the thing whose call must end: the orders that wait for it, by pod."""
        self._for_others: dict[Hashable, dict[str, None]] = {}
        """By what another pod has to give back: the pods that wait for it."""

    def take(self, message: OrderVolumes) -> None:
        """Open these orders, or replace those of the same names."""
        uid, now_ns = message.pod.metadata.uid, self._actor.now_ns()
        orders = self._pods.get(uid)
        if orders is None:
            orders = self._pods[uid] = _Orders(message.pod)
        orders.pod = message.pod
        if orders.number != message.number:
            orders.number, orders.left = message.number, 0
        if message.fresh and uid in self._actual.pods:
            self._forget_back_off(uid, message.volumes)
        for volume in message.volumes:
            kept = without_secrets(volume)
            orders.open_one(volume.name, _Order(message.number, now_ns, volume, kept))
            self._books.want(uid, kept)
        if not message.volumes:
            orders.open_one(POD_ITSELF, _Order(message.number, now_ns, None, None))
        self._turns[uid] = None

    def _forget_back_off(self, uid: str, volumes: tuple[DesiredVolume, ...]) -> None:
        things = self._actual.pod(uid)
        things.directory.retry_at_ns = 0
        for volume in volumes:
            if volume.at is None:
                continue
            for thing in (things.volumes.get(volume.at.place), self._actual.devices.get(volume.at.device)):
                if thing is not None:
                    thing.retry_at_ns = 0

    def forget(self, uid: str) -> None:
        """The pod wants no volumes any more."""
        self._pods.pop(uid, None)
        self._turns.pop(uid, None)

    def call_ended(self, key: Key, uid: str) -> None:
        """A call about this thing has ended or is late. `uid`: the pod that it was for, or empty."""
        for waiting, names in self._waiting.pop(key, {}).items():
            if waiting in self._pods:
                self._pods[waiting].due.extend(names)
                self._turns[waiting] = None
        if uid in self._pods:
            self._turns[uid] = None  # it may have been gated by its directory, or by a window

    def given_back(self, name: Hashable) -> tuple[str, ...]:
        """Who waited for a pod to give this back. They may try again."""
        return tuple(self._for_others.pop(name, ()))

    def go_on(self) -> None:
        """Plan the orders of the pods whose turn it is, at most `PLANS_AT_ONCE` together."""
        plans = PLANS_AT_ONCE
        while self._turns and plans:
            uid, _ = self._turns.popitem(last=False)
            orders = self._pods[uid]
            while plans and (name := self._take_next(uid, orders)) is not None:
                self._plan(uid, orders, name)
                plans -= 1
            if not orders.left or len(orders.settled) >= OUTCOMES_AT_ONCE:
                self._tell_settled(uid, orders)
            if not orders.open:
                self.forget(uid)
            elif not plans:
                self._turns[uid] = None
        if self._turns:
            self._actor.after(0, PlanMore())  # a timer, because its message is never refused

    def _take_next(self, uid: str, orders: _Orders) -> str | None:
        """The next order to plan: none while the directory is being made, or while the windows are full."""
        if is_under_way(self._actual.pod(uid).directory.life):
            return None
        if orders.due:
            return orders.due.popleft()
        for window, names in orders.blocked.items():
            if names and (self._calls.has_room(window) or self._calls.only_hang(window)):
                return names.popleft()
        return None

    def _plan(self, uid: str, orders: _Orders, name: str) -> None:
        order = orders.open.get(name)
        if order is None:
            return
        plan = self._next(uid, order)
        if plan.step is not None and plan.step.do is Do.SAY_AGAIN:
            self._begin(plan.step, orders.pod)
            plan = self._next(uid, order)
        if plan.step is not None:
            window = Window(uid, is_remote(plan.step.key), plan.step.do in TAKING_DOWN)
            if not self._calls.has_room(window):
                if self._calls.only_hang(window):
                    held_up = msgspec.structs.replace(plan, step=None, trouble=HELD_UP)
                    self._settle(uid, orders, name, order, held_up)
                else:
                    orders.blocked.setdefault(window, deque()).append(name)
                return
            self._begin(plan.step, orders.pod)
            plan = Plan(busy=plan.step.key)
        if plan.busy is None:
            self._settle(uid, orders, name, order, plan)
        elif isinstance(plan.busy, PodDirectory):
            orders.due.appendleft(name)
        else:
            self._waiting.setdefault(plan.busy, {}).setdefault(uid, []).append(name)

    def _next(self, uid: str, order: _Order) -> Plan:
        if order.volume is None:
            return plan_directory(uid, self._actual, self._actor.now_ns())
        return plan_volume(uid, order.volume, self._actual, self._actor.now_ns())

    def _settle(self, uid: str, orders: _Orders, name: str, order: _Order, plan: Plan) -> None:
        usable = plan.usable or (order.volume is None and plan.trouble is None)
        tried = plan.failed_ns >= order.since_ns
        outcome = VolumeOutcome(
            name, order.kept, usable, plan.host_path, plan.trouble, tried, plan.waits, plan.retry_at_ns
        )
        orders.settle_one(name, outcome)
        if plan.usable:
            self._books.is_there(uid, name, plan.host_path)
        if plan.frees is not None:
            self._for_others.setdefault(plan.frees, {})[uid] = None

    def _tell_settled(self, uid: str, orders: _Orders) -> None:
        for number, group in groupby(orders.settled, key=lambda each: each[0]):
            self._tell(uid, VolumesSettled(number, tuple(outcome for _, outcome in group)))
        orders.settled.clear()
