"""Hollow nodes in several processes: each runs its share of them, on a core of its own.

A process says every second how its nodes are. One that dies leaves its nodes silent, and the others go on. All end
when the command does, and none outlives it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Protocol

from cli.simulate.side_process import Channel, DiedError, Side, SideProcess, first_over
from simulation.node.hollow_nodes import HollowPlan, HollowStatus

LOOK_EVERY_SECONDS = 1.0


class Nodes(Protocol):
    """What a process runs: `HollowNodes`."""

    def status(self) -> HollowStatus: ...

    def stop(self, *, remove: bool) -> Sequence[str]: ...


def shares_of(plan: HollowPlan, processes: int) -> list[HollowPlan]:
    """The plan in parts of nearly equal size, one for each process; fewer where there are fewer nodes."""
    count = min(processes, plan.count)
    bounds = [plan.count * number // count for number in range(count + 1)]
    return [replace(plan, first=plan.first + begin, count=end - begin) for begin, end in pairwise(bounds)]


def sum_of(statuses: Sequence[HollowStatus]) -> HollowStatus:
    """The status of all nodes together. There is at least one."""
    return HollowStatus(
        nodes=sum(each.nodes for each in statuses),
        live=sum(each.live for each in statuses),
        pods=sum(each.pods for each in statuses),
        containers=sum(each.containers for each in statuses),
        calls=sum(each.calls for each in statuses),
        failures=sum(each.failures for each in statuses),
        last_failure=next((each.last_failure for each in reversed(statuses) if each.last_failure), ""),
    )


class Share:
    """The process of some nodes. `run` begins them there, and undoes with the stack what it has begun.

    Raises `NoProcessError`.
    """

    def __init__(self, plan: HollowPlan, run: Callable[[HollowPlan, ExitStack], Nodes], *, remove: bool) -> None:
        self.names = f"{plan.name(plan.numbers()[0])} to {plan.name(plan.numbers()[-1])}"
        self._statuses: Channel[HollowStatus] = Channel()
        self._status = HollowStatus(plan.count, 0, 0, 0, 0, 0, "")
        operation = partial(_live, partial(run, plan), self._statuses, remove)
        self.process: SideProcess[list[str]] = SideProcess(operation, "`--processes 1` needs none")
        self._statuses.listen()

    def status(self) -> HollowStatus:
        """How they were a second ago. None is live after the process has died."""
        try:
            self._status = self._statuses.latest(self._status)
        except EOFError:
            self._status = replace(self._status, live=0, pods=0, containers=0)
        return self._status

    def take(self) -> list[str]:
        """What did not stop in order, once the process is over."""
        try:
            return self.process.take()
        except DiedError as died:
            return [f"the nodes {self.names} are gone: {died}"]
        finally:
            self._statuses.close()

    def kill(self) -> None:
        self.process.kill()


class Shares:
    """All of them. `close` kills what still runs."""

    def __init__(self) -> None:
        self._running: list[Share] = []
        self._last: list[HollowStatus] = []

    def add(self, share: Share) -> None:
        self._running.append(share)

    def close(self) -> None:
        for each in self._running:
            each.kill()

    def status(self) -> HollowStatus:
        return sum_of([each.status() for each in self._running] + self._last)

    def newly_over(self) -> list[str]:
        """What is to be said of processes that have ended since the last call, though nobody asked them to."""
        return self._take(0.0)

    def stop(self, within_s: float) -> list[str]:
        """End all nodes in order; what did not."""
        for each in self._running:
            each.process.let_end()
        troubles: list[str] = []
        while self._running:
            before = len(self._running)
            troubles += self._take(within_s)
            if len(self._running) == before:
                troubles += [f"the nodes {each.names} did not end within {within_s:g} s" for each in self._running]
                break
        return troubles

    def _take(self, within_s: float) -> list[str]:
        over = first_over([each.process for each in self._running], within_s)
        ended = [each for each in self._running if each.process in over]
        self._running = [each for each in self._running if each not in ended]
        self._last += [replace(each.status(), live=0, pods=0, containers=0) for each in ended]
        return [trouble for each in ended for trouble in each.take()]


def _live(begin: Callable[[ExitStack], Nodes], statuses: Channel[HollowStatus], remove: bool, side: Side) -> list[str]:
    """The life of the process; what did not stop in order."""
    statuses.speak()
    with ExitStack() as after:
        nodes = begin(after)
        while not side.must_stop() and statuses.say(nodes.status()):
            if signal.sigtimedwait({signal.SIGTERM}, LOOK_EVERY_SECONDS) is not None:
                break
        return list(nodes.stop(remove=remove))
