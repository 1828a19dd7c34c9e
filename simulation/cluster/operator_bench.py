"""The operators under test of a cluster: it runs them, lets them rest, and records one of them.

A recorded operator has a `Door` between it and the API server, which may have one fault. At rest, no object changes
for a while of the cluster's time, but those of nodes, leases and events. And for a while of real time the operator
neither asks anything nor uses its CPU. One that sleeps for longer looks as if it were at rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from config.values.harmless_text import harmless_line
from runtime.io.event_loop import leave_to_others
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.requests.answers import Answer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.cluster.clients import AutoClients
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.explained import is_well
from simulation.cluster.operator_orders import (
    OperatorOrder,
    Outputs,
    PlanSweep,
    RecordRun,
    RunOperator,
    Settle,
    SweepOrder,
    TakeRecord,
    TakeRun,
)
from simulation.cluster.orders import OrderError, ns_of
from simulation.cluster.pod_faults import PodFaults
from simulation.cluster.reset import Beginning
from simulation.operators.door import Door
from simulation.operators.faults import Fault, read_fault
from simulation.operators.process import OperatorProcess, Started, words_of
from simulation.operators.records import Record
from simulation.sweep.book import SweepBook
from simulation.sweep.state import state_of

SECOND_NS = 10**9
LEAP_NS = 5 * SECOND_NS
SHORT_STILL_S, LOOKS_EVERY_S = 0.06, 0.02
COMES_WITHIN_NS = 60 * SECOND_NS
"""How long nothing may change until a pod is Ready, or until what is Terminating is gone."""
STILL_WITHIN_S = 4.0
"""An operator that is never still does not keep the cluster's time from passing."""
RESTLESS_LOOKS = 3
"""How often in a row an operator may be found at work at the end without asking for anything.

Then it is one that is never still. One look is too few: on a busy machine an operator ends, starts again and imports
for longer. One that asks again and again does not start; it is never still after one look.
"""
SETTLES_WITHIN_S = 30.0
WRITES_AT_MOST = 2000
OUTPUT_LINES, OUTPUT_CHARACTERS = 60, 300
UNMINDED = (
    *("nodes", "leases.coordination.k8s.io", "csinodes.storage.k8s.io", "events", "events.events.k8s.io"),
    "runtimeclasses.node.k8s.io",
)
"""Resources whose changes do not keep a run from its end."""

Json = dict[str, Any]


class OperatorBench:
    """`leap`: lets that much of the cluster's time pass. `act_as`: writes the kubeconfig of a user."""

    def __init__(
        self,
        world: ClusterWorld,
        clients: Clients,
        leap: Callable[[int], Awaitable[None]],
        act_as: Callable[[str, tuple[str, ...]], Awaitable[str]],
        beginning: Beginning,
    ) -> None:
        self._world = world
        self._clients = clients
        self._leap = leap
        self._act_as = act_as
        self._beginning = beginning
        self._operators: dict[str, OperatorProcess] = {}
        self._recording = False
        self._fault: Fault | None = None
        self._door: Door | None = None
        self._pods: PodFaults | None = None
        self._settled = True
        self._states: list[Json | None] = []
        """After each step of the recorded run."""
        self._book: SweepBook | None = None

    async def obey(self, order: OperatorOrder) -> Json:
        """The answer to an order. Raises OrderError."""
        if isinstance(order, RunOperator):
            return {"kubeconfig": await self.run(order)}
        if isinstance(order, RecordRun):
            await self.end()
            self._record(order.fault)
        elif isinstance(order, Settle):
            return {"settled": await self._settle(order)}
        elif isinstance(order, TakeRecord):
            return {"record": await self._take(order)}
        elif isinstance(order, Outputs):
            return {"outputs": {name: list(operator.lines()) for name, operator in self._operators.items()}}
        else:
            return self._of_sweep(order)
        return {}

    def _of_sweep(self, order: SweepOrder) -> Json:
        try:
            if isinstance(order, PlanSweep):
                self._book = SweepBook(order.first, order.second, order.kinds, order.at_most)
                return {
                    "faults": [str(fault) for fault in self._book.plan.faults],
                    "left_out": self._book.plan.left_out,
                }
            if self._book is None:
                raise ValueError("no sweep has begun; the first order is plan-sweep")
            if isinstance(order, TakeRun):
                self._book.take(order.fault, order.record, again=order.again)
                return {}
        except ValueError as error:
            raise OrderError(str(error)) from None
        return {"findings": self._book.found(), "unmet": self._book.unmet()}

    async def run(self, order: RunOperator) -> str:
        """Start an operator; returns the path of its kubeconfig. Raises OrderError."""
        if order.user in self._operators:
            raise OrderError(f"an operator runs as {order.user!r}; give the other one another user")
        kubeconfig = await self._act_as(order.user, order.groups)
        try:
            started = Started(
                words_of(order.command), {**order.environment, "KUBECONFIG": kubeconfig}, order.directory or "."
            )
        except ValueError as error:
            raise OrderError(str(error)) from None
        operator = OperatorProcess(started, self._world, self._clients, self._starts)
        if self._recording and self._door is None:
            self._door = Door(self._world.server, self._world, order.user, self._fault, operator.kill)
            self._door.on_request = operator.has_asked
            self._pods = PodFaults(self._world, self._fault, self._step)
            self._pods.start()
        self._operators[order.user] = operator
        try:
            await operator.start()
        except OSError as error:
            del self._operators[order.user]
            raise OrderError(f"{order.command[0]} does not start: {error.strerror}") from None
        return kubeconfig

    def ended(self) -> tuple[str, ...]:
        """One line for each operator that has ended by itself."""
        return tuple(
            f"the operator {name} has ended {len(one.ends)} times, the last time {one.ends[-1]}"
            for name, one in self._operators.items()
            if one.ends
        )

    async def end(self) -> None:
        """End all operators, and what is recorded."""
        self._recording = False
        self._fault = None
        self._settled = True
        self._states = []
        if self._pods is not None:
            self._pods.stop()
        if self._door is not None:
            self._door.is_closed = True
        self._door = self._pods = None
        operators, self._operators = self._operators, {}
        for operator in operators.values():
            await operator.end()

    async def answer(self, asked: ApiRequest, agent: str, carry_out: Callable[[], Awaitable[Answer]]) -> Answer:
        """See `http_front.Between`."""
        if self._door is not None:
            return await self._door.answer(self._clients, asked, agent, carry_out)
        operator = self._operators.get(asked.user.name) if self._operators else None
        if operator is not None:
            operator.has_asked()
        return await carry_out()

    def user_changes(self) -> None:
        """A user has changed something by an order."""
        if self._door is not None:
            self._door.user_changes()

    # --- records ----------------------------------------------------------------------------------------------------

    def _record(self, fault: str) -> None:
        try:
            self._fault = read_fault(fault) if fault else None
        except ValueError as error:
            raise OrderError(str(error)) from None
        self._recording = True

    def _starts(self, life: int) -> None:
        if self._door is not None:
            self._door.life = life

    def _step(self) -> int:
        return 0 if self._door is None else self._door.step

    async def _take(self, order: TakeRecord) -> Record:
        door, pods = self._door, self._pods
        if door is None or pods is None:
            await self.end()
            if order.failure:
                return Record(failure=order.failure, settled=False, struck=False)
            raise OrderError("the scenario has run no operator; give it `run`")
        operator = self._operators[door.user]
        output = tuple(harmless_line(line, OUTPUT_CHARACTERS) for line in operator.lines()[-OUTPUT_LINES:])
        record = Record(
            asked=tuple(door.asked),
            shown=tuple(door.shown),
            pods=tuple(pods.ready),
            struck=door.struck or (self._fault is not None and pods.struck and self._fault.at.verb == "READY"),
            settled=self._settled,
            runs=operator.runs,
            ends=tuple(operator.ends),
            state={"the oracle": order.state} if order.has_state else state_of(self._objects()),
            steps=tuple(self._states),
            output=output,
            failure=order.failure,
        )
        await self.end()
        return record

    def _objects(self) -> list[tuple[str, Json]]:
        return [
            (resource.group_resource, version.object)
            for resource, version in self._beginning.newcomers()
            if resource.store_key not in UNMINDED
        ]

    # --- rest -------------------------------------------------------------------------------------------------------

    async def _settle(self, order: Settle) -> bool:
        clients = self._clients
        if not isinstance(clients, AutoClients):
            raise OrderError("an operator comes to rest in a cluster with the time `auto` only")
        quiet_ns, within_ns, still_s = ns_of(order.quiet), ns_of(order.within), ns_of(order.still) / SECOND_NS
        clock = asyncio.get_running_loop().time
        began_ns, until_s = self._world.now_ns(), clock() + SETTLES_WITHIN_S + 20 * still_s
        revision, since_ns = self._world.server.store.revision, began_ns
        settled, restless = False, 0
        while not settled:
            now_ns = self._world.now_ns()
            quiet = now_ns - since_ns
            is_last = quiet >= quiet_ns and not self._waits(order.lasting) and not self._is_on_its_way(quiet)
            with clients.held():  # of a minute that passes meanwhile nobody learns anything, and nodes work in it
                asked = self._asked()
                is_still = await self._still(clients, still_s if is_last else min(still_s, SHORT_STILL_S))
            if not is_last or is_still:
                restless = 0
            else:
                restless += RESTLESS_LOOKS if self._asked() > asked else 1
            if self._has_changed(revision):
                revision, since_ns = self._world.server.store.revision, self._world.now_ns()
            elif is_last and not self._waits(order.lasting) and (is_still or restless >= RESTLESS_LOOKS):
                settled = True
                continue
            if any(operator.starts for operator in self._operators.values()):
                until_s = clock() + SETTLES_WITHIN_S + 20 * still_s
            if now_ns - began_ns > within_ns or clock() > until_s or self._writes_on():
                break
            await self._leap(LEAP_NS)
        self._settled = self._settled and settled
        if self._door is not None and not order.lasting:
            is_over = not self._door.lags and not self._is_upset()
            self._states.append(state_of(self._objects()) if is_over else None)
            self._door.next_step()
        return settled

    def _waits(self, lasting: bool) -> bool:
        """Whether something is still to come."""
        if any(not operator.runs or operator.starts for operator in self._operators.values()):
            return True
        if self._is_upset():
            return True
        return lasting and self._door is not None and self._door.lags

    def _is_upset(self) -> bool:
        """Whether what a fault has done to pods and nodes is not over."""
        return self._pods is not None and self._pods.until_ns > self._world.now_ns()

    def _is_on_its_way(self, quiet_ns: int) -> bool:
        """Whether an object is Terminating, or a pod not yet Ready: nothing may change for long meanwhile."""
        return quiet_ns < COMES_WITHIN_NS and any(
            "deletionTimestamp" in version.object["metadata"]
            or (resource.store_key == "pods" and not is_well(version.object))
            for resource, version in self._beginning.newcomers()
        )

    def _asked(self) -> int:
        return 0 if self._door is None else len(self._door.asked)

    def _writes_on(self) -> bool:
        return self._asked() > WRITES_AT_MOST

    def _has_changed(self, revision: int) -> bool:
        of = self._world.server.store.of
        return any(of[key].changed_after(revision) for key in tuple(of) if key not in UNMINDED)

    async def _still(self, clients: AutoClients, still_s: float) -> bool:
        """Wait until nobody has asked or heard anything, and no operator wanted CPU, for so long.

        False: it took too long.
        """
        clock = asyncio.get_running_loop().time
        until_s = clock() + STILL_WITHIN_S + 2 * still_s
        cpu_ns, idle_s = self._cpu_ns(), clock()
        while clock() < until_s:
            doings = clients.doings(in_order=True, ordered=True)
            awaited = self._door is not None and self._door.awaits(clock())
            if not doings.served and not awaited and min(doings.request_s, clock() - idle_s) >= still_s:
                if not any(operator.wants_cpu() for operator in self._operators.values()):
                    return True
                idle_s = clock()
            await leave_to_others(LOOKS_EVERY_S)
            if (now_cpu_ns := self._cpu_ns()) != cpu_ns:
                cpu_ns, idle_s = now_cpu_ns, clock()
        return False

    def _cpu_ns(self) -> int:
        return sum(operator.cpu_ns() for operator in self._operators.values())
