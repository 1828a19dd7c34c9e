"""The process of a simulated cluster: `actorlet.testing` starts it and sends it orders.

Each line of standard input is an order; a line of standard output answers it. The process ends when its standard input
ends, or when its parent dies, and leaves nothing behind. The world, its API server and the orders share one loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import IO, Any

import msgspec

from actors.kernel import PoolDispatcher
from config.credentials.kubeconfig import kubeconfig_document
from runtime.files.passing_directory import passing_directory
from runtime.io.event_loop import LoopThread, leave_to_others
from simulation.apiserver.http_front import HttpFront
from simulation.cluster import orders
from simulation.cluster.agents import ClusterAgents
from simulation.cluster.applied import apply
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.orders import Begin, OrderError, ns_of, read_order, speed_of, start_of
from simulation.cluster.pace import Pace
from simulation.cluster.reset import Beginning
from simulation.controllers.node_lifecycle import NodeLifecycle

PREFIX = "actorlet-cluster-"
ORDER_BYTES_AT_MOST = 2**24
NODES_READY_WITHIN_NS = 120 * 10**9
LOOK_FOR_PARENT_EVERY_S = 1.0
RESET_WITHIN_S = 120

Json = dict[str, Any]


def main() -> int:
    """Run until the input ends or the parent dies; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    # Other writes to standard output must not disturb the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.disable(logging.WARNING)
    gc.set_threshold(200_000, 20, 100)
    loop = LoopThread("cluster")
    with closing(loop):
        loop.submit(_serve(loop, answers, parent)).result()
    return 0


async def _serve(loop: LoopThread, answers: IO[bytes], parent: int) -> None:
    reader = asyncio.StreamReader(limit=ORDER_BYTES_AT_MOST)
    ended = asyncio.Event()
    await asyncio.get_running_loop().connect_read_pipe(lambda: _Orders(reader, ended), sys.stdin)
    # Also during an order, which may be a leap of a year.
    tasks: tuple[asyncio.Task[Any], ...] = (
        asyncio.create_task(ended.wait()),
        asyncio.create_task(_until_orphaned(parent)),
        asyncio.create_task(_live(loop, reader, answers)),
    )
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task not in done:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    for task in done:
        task.result()


class _Orders(asyncio.StreamReaderProtocol):
    """Reads orders until the input ends."""

    def __init__(self, reader: asyncio.StreamReader, ended: asyncio.Event) -> None:
        super().__init__(reader)
        self._no_more = ended

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._no_more.set()


async def _until_orphaned(parent: int) -> None:
    """Wait for the parent's death. A fork of the parent may keep our standard input open."""
    while os.getppid() == parent:
        await leave_to_others(LOOK_FOR_PARENT_EVERY_S)


async def _live(loop: LoopThread, reader: asyncio.StreamReader, answers: IO[bytes]) -> None:
    cluster: _Cluster | None = None
    with ExitStack() as after:
        directory = after.enter_context(passing_directory(PREFIX))
        try:
            while line := await reader.readline():
                try:
                    if cluster is None:
                        cluster = _Cluster(_begin_in(line), loop, directory)
                        answer = await cluster.begin()
                    else:
                        answer = await cluster.obey(read_order(line))
                except OrderError as error:
                    answer = {"error": str(error)}
                answers.write(msgspec.json.encode(answer) + b"\n")
                answers.flush()
        except BrokenPipeError:
            pass
        finally:
            if cluster is not None:
                await cluster.end()


def _begin_in(line: bytes) -> Begin:
    begin = read_order(line)
    if not isinstance(begin, Begin):
        raise OrderError("the first order is to begin")
    return begin


class _Cluster:
    """A world, its pace and its API server."""

    def __init__(self, begin: Begin, loop: LoopThread, directory: str) -> None:
        self._speed = speed_of(begin.time)
        self._start_ns = start_of(begin.start)
        try:
            self.world = ClusterWorld(begin)
        except ValueError as error:
            raise OrderError(str(error)) from None
        self._scheduler = begin.scheduler
        self._front = HttpFront(self.world.server, loop, agents=ClusterAgents(self.world), stands_still=not self._speed)
        self._directory = directory
        self._pace: Pace | None = None
        self._runner: asyncio.Task[None] | None = None
        self._ready_ns = 0
        self._beginning: Beginning | None = None

    async def begin(self) -> Json:
        """Let the nodes become ready at full speed; then run at the wanted speed."""
        world = self.world
        if self._start_ns is not None:
            world.dispatcher.wall_offset_ns = self._start_ns
        elif self._speed:
            world.dispatcher.wall_offset_ns = _wall_ns()
        for node in world.nodes.values():
            node.start()
        if self._scheduler:
            world.scheduler.start()
        NodeLifecycle(world.server, world.dispatcher).start()
        world.dispatcher.run_until(lambda: world.ready_nodes() >= len(world.nodes), NODES_READY_WITHIN_NS)
        if world.ready_nodes() < len(world.nodes):
            raise OrderError("the nodes did not become ready")
        world.dispatcher.run_until(world.is_untainted, NODES_READY_WITHIN_NS)
        self._ready_ns = world.now_ns()
        self._beginning = Beginning(world.server)
        await self._front.serve()
        kubeconfig = os.path.join(self._directory, "kubeconfig")
        with open(kubeconfig, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(kubeconfig_document(self._front.url, name="actorlet"))
        self._pace = Pace(world.dispatcher, self._speed, asyncio.get_running_loop().time)
        self._runner = asyncio.create_task(self._pace.run())
        return {"speed": self._speed, "kubeconfig": kubeconfig, "url": self._front.url, "nodes": list(world.nodes)}

    async def end(self) -> None:
        if self._runner is not None:
            self._runner.cancel()
        await self._front.end()

    async def obey(self, order: orders.Order) -> Json:
        """The answer to an order. Raises OrderError."""
        assert self._pace is not None
        if isinstance(order, orders.Step):
            await self._pace.leap(ns_of(order.time))
        elif isinstance(order, orders.Wait):
            await self._pace.wait(ns_of(order.time))
        elif isinstance(order, orders.Reset):
            await self._reset()
        elif isinstance(order, orders.Limit):
            return {**self._now(), "until": self._seconds(self.world.now_ns() + ns_of(order.time))}
        else:
            operation = self._OPERATIONS.get(type(order))
            if operation is None:
                raise OrderError("the cluster has begun")
            return operation(self.world, order) or self._now()
        return self._now()

    async def _reset(self) -> None:
        """Raises OrderError when something does not go within two minutes of the cluster's time."""
        assert self._pace is not None
        assert self._beginning is not None
        self.world.as_at_first()
        for _ in range(RESET_WITHIN_S):
            self._beginning.delete_newcomers()
            await self._pace.leap(10**9)
            if self._beginning.is_back() and self.world.ready_nodes() == len(self.world.nodes):
                return
        raise OrderError(f"the cluster is not as it began after {RESET_WITHIN_S} s of its time")

    def _now(self) -> Json:
        return {"seconds": self._seconds(self.world.now_ns())}

    def _seconds(self, ns: int) -> float:
        return (ns - self._ready_ns) / 1e9

    _OPERATIONS: dict[type[Any], Callable[[ClusterWorld, Any], Json | None]] = {
        orders.Now: lambda world, order: None,
        orders.Behave: lambda world, order: world.behave(order),
        orders.Unmatched: lambda world, order: {"unmatched": world.unmatched()},
        orders.Apply: lambda world, order: {"applied": apply(world.server, order.path, order.namespace)},
        orders.Explain: lambda world, order: {"text": world.explain(order.namespace, order.pod)},
        orders.Troubles: lambda world, order: {"pods": world.troubles()},
        orders.Exit: lambda world, order: world.exit(order),
        orders.Hang: lambda world, order: world.hang(order),
        orders.Say: lambda world, order: world.say(order),
        orders.StartLoad: lambda world, order: world.load(order),
        orders.Scale: lambda world, order: world.scale(order),
        orders.CountReady: lambda world, order: {"ready": world.count_ready(order.namespace, order.name)},
        orders.AddNodes: lambda world, order: {"nodes": world.add_nodes(order.count)},
        orders.KillNode: lambda world, order: world.kill_node(order.node),
        orders.StartNode: lambda world, order: world.start_node(order.node),
        orders.KillAgent: lambda world, order: world.kill_agent(order.node, ns_of(order.away)),
        orders.PauseAgent: lambda world, order: world.pause_agent(order.node, ns_of(order.lasts)),
        orders.CutNetwork: lambda world, order: world.cut_network(order.node, ns_of(order.lasts)),
        orders.Befall: lambda world, order: world.befall(order.fault),
        orders.Heal: lambda world, order: world.heal(),
    }


def _wall_ns() -> int:
    """The real time of day: clients of the cluster have no other."""
    dispatcher = PoolDispatcher(1)
    try:
        return dispatcher.wall_ns()
    finally:
        dispatcher.close()
