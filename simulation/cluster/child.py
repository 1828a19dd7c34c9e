"""The process of a simulated cluster: `actorlet.testing` starts it and sends it orders.

Each line of standard input is an order; a line of standard output answers it. During a long order an empty line says
that the world's time has moved on. The process ends when its standard input ends, or when its parent dies, and leaves
nothing behind. The world, its API server and the orders share one loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import IO, Any

import msgspec

from runtime.files.passing_directory import passing_directory
from runtime.io.event_loop import LoopThread, leave_to_others
from runtime.io.rings import leave_rings_at_exit, look_seldom_for_rings
from simulation.cluster.new_cluster import RINGS_AFTER_OBJECTS, new_cluster
from simulation.cluster.orders import Begin, Order, OrderError, Reset, Step, Wait, read_order
from simulation.cluster.running_cluster import RunningCluster

PREFIX = "actorlet-cluster-"
ORDER_BYTES_AT_MOST = 2**24
LOOK_FOR_PARENT_EVERY_S = 1.0
BEAT_EVERY_S = 10.0


def main() -> int:
    """Run until the input ends or the parent dies; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    # Other writes to standard output must not disturb the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.disable(logging.WARNING)
    look_seldom_for_rings(RINGS_AFTER_OBJECTS)
    leave_rings_at_exit()
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
    cluster: RunningCluster | None = None
    with ExitStack() as after:
        directory = after.enter_context(passing_directory(PREFIX))
        try:
            while line := await reader.readline():
                try:
                    if cluster is None:
                        cluster = new_cluster(_begin_in(line), loop, os.path.join(directory, "kubeconfig"), directory)
                        answer = await cluster.begin()
                    else:
                        answer = await _obey(cluster, read_order(line), answers)
                except OrderError as error:
                    answer = {"error": str(error)}
                answers.write(msgspec.json.encode(answer) + b"\n")
                answers.flush()
        except BrokenPipeError:
            pass
        finally:
            if cluster is not None:
                await cluster.end()


async def _obey(cluster: RunningCluster, order: Order, answers: IO[bytes]) -> dict[str, Any]:
    """The answer to an order, and beats until there is one if it lets time pass. Raises OrderError.

    Where time passes by itself, any other order that hangs would seem to be at work.
    """
    if not isinstance(order, Step | Wait | Reset):
        return await cluster.obey(order)
    beats = asyncio.create_task(beat(cluster.world.now_ns, answers))
    try:
        return await cluster.obey(order)
    finally:
        beats.cancel()


async def beat(now_ns: Callable[[], int], answers: IO[bytes]) -> None:
    """Say again and again that time has moved, so that whoever waits for an answer waits on."""
    seen_ns = now_ns()
    while True:
        await leave_to_others(BEAT_EVERY_S)
        if now_ns() != seen_ns:
            seen_ns = now_ns()
            answers.write(b"\n")
            answers.flush()


def _begin_in(line: bytes) -> Begin:
    begin = read_order(line)
    if not isinstance(begin, Begin):
        raise OrderError("the first order is to begin")
    return begin
