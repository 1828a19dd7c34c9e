"""Real threads and real time: a few workers for all actors, one thread for the timers.

Workers take cells from one queue and give each a few turns. A worker whose handler holds it for longer than
`stuck_after_ns` is written off and replaced, at most `MAX_REPLACED` at a time, and `stuck()` names the actor. So a
handler that never returns costs one actor, not the node.
"""

from __future__ import annotations

import logging
import os
import queue
import random
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from actors.kernel.dispatcher import Dispatcher, LaneReport, Runnable
from actors.kernel.lanes import ThreadLane
from actors.kernel.promise import Pending
from actors.kernel.timers import TimerHandle, TimerHeap

logger = logging.getLogger("actorlet.kernel")

DEFAULT_WORKERS = 4
TURNS_PER_SLICE = 32
MAX_REPLACED = 8


class _Worker:
    __slots__ = ("cell", "replaced")

    def __init__(self) -> None:
        self.cell: Runnable | None = None
        self.replaced = False

    def held(self) -> tuple[Runnable, int] | None:
        """The actor that holds this thread, and since when, ns; None when none does."""
        cell = self.cell
        since_ns = None if cell is None else cell.slice_since_ns
        return None if cell is None or since_ns is None else (cell, since_ns)


class PoolDispatcher(Dispatcher):
    now_ns = staticmethod(time.monotonic_ns)
    work_ns = staticmethod(time.monotonic_ns)

    def __init__(
        self,
        workers: int = DEFAULT_WORKERS,
        *,
        stuck_after_ns: int = 10_000_000_000,
        check_every_ns: int = 1_000_000_000,
    ) -> None:
        self.chance = random.Random()
        self._queue: queue.SimpleQueue[Runnable | None] = queue.SimpleQueue()
        self._timers = TimerHeap()
        self._timers_changed = threading.Condition()
        self._workers: list[_Worker] = []
        self._workers_lock = threading.Lock()
        self._lanes: dict[str, ThreadLane] = {}
        self._stuck_after_ns = stuck_after_ns
        self._check_every_ns = check_every_ns
        self._closed = False
        for _ in range(workers):
            self._add_worker()
        threading.Thread(target=self._run_timers, name="kernel-timers", daemon=True).start()
        self.schedule(check_every_ns, self._check_workers)

    def enqueue(self, cell: Runnable) -> None:
        self._queue.put(cell)

    def wall_ns(self) -> int:
        return time.time_ns()

    def new_uid(self) -> str:
        return str(uuid.UUID(bytes=os.urandom(16), version=4))

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        due_ns = time.monotonic_ns() + after_ns
        with self._timers_changed:
            earliest = self._timers.next_due_ns()
            handle = self._timers.push(due_ns, fn, every_ns)
            if earliest is None or due_ns < earliest:
                self._timers_changed.notify()
        return handle

    def lane(self, name: str, *, size: int, per_key: int) -> ThreadLane:
        with self._workers_lock:
            lane = self._lanes.get(name)
            if lane is None:
                lane = self._lanes[name] = ThreadLane(self, name, size, per_key)
            return lane

    def lanes(self) -> tuple[LaneReport, ...]:
        with self._workers_lock:
            lanes = list(self._lanes.values())
        return tuple(lane.report() for lane in lanes)

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        event = threading.Event()
        pending.add_done_callback(lambda _: event.set())
        return event.wait(None if timeout_ns is None else timeout_ns / 1e9)

    def stuck(self) -> tuple[tuple[str, int], ...]:
        with self._workers_lock:
            workers = list(self._workers)
        now_ns = self.now_ns()
        held = [held for worker in workers if (held := worker.held()) is not None]
        return tuple((cell.path, since) for cell, since in held if now_ns - since > self._stuck_after_ns)

    def close(self) -> None:
        self._closed = True
        with self._workers_lock:
            workers = len(self._workers)
            lanes = list(self._lanes.values())
        for _ in range(workers):
            self._queue.put(None)
        for lane in lanes:
            lane.close()
        with self._timers_changed:
            self._timers_changed.notify()

    def _add_worker(self) -> None:
        """Add a worker thread. Raises RuntimeError if the machine has no thread left."""
        worker = _Worker()
        with self._workers_lock:
            self._workers.append(worker)
        try:
            threading.Thread(target=self._work, args=(worker,), name="kernel-worker", daemon=True).start()
        except RuntimeError:
            with self._workers_lock:
                self._workers.remove(worker)
            raise

    def _work(self, worker: _Worker) -> None:
        take = self._queue.get
        while not (worker.replaced and self._leaves(worker)):
            cell = take()
            if cell is None:
                with self._workers_lock:
                    self._workers.remove(worker)
                return
            worker.cell = cell
            try:
                cell.run(TURNS_PER_SLICE)
            except BaseException:
                # An error of the kernel itself. The thread must live on for the other actors.
                logger.exception("kernel error while running %s", cell.path)
            worker.cell = None

    def _leaves(self, worker: _Worker) -> bool:
        """Remove a worker that came back after it was replaced."""
        with self._workers_lock:
            if worker.replaced:
                self._workers.remove(worker)
            return worker.replaced

    def _run_timers(self) -> None:
        while not self._closed:
            with self._timers_changed:
                fn = self._timers.pop_due(time.monotonic_ns())
                if fn is None:
                    due_ns = self._timers.next_due_ns()
                    wait_s = None if due_ns is None else max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
                    self._timers_changed.wait(wait_s)
                    continue
            try:
                fn()
            except BaseException:
                logger.exception("kernel error in a timer")

    def _check_workers(self) -> None:
        now_ns = time.monotonic_ns()
        with self._workers_lock:
            room = MAX_REPLACED - sum(worker.replaced for worker in self._workers)
            lost: list[tuple[_Worker, str]] = []
            for worker in self._workers:
                if worker.replaced and worker.cell is None:
                    # It came back while it was written off, and waits for work. One worker is too many: any may go.
                    worker.replaced = False
                    self._queue.put(None)
                held = worker.held()
                if held is None or worker.replaced or now_ns - held[1] <= self._stuck_after_ns:
                    continue
                if len(lost) < room:
                    lost.append((worker, held[0].path))
        for worker, path in lost:
            held_for = f"{path} has held a thread for over {self._stuck_after_ns / 1e9:.1f} s"
            try:
                self._add_worker()
            except RuntimeError as failure:  # it is tried again at the next look
                logger.error("%s, and there is none to replace it: %s", held_for, failure)
                break
            worker.replaced = True
            logger.error("%s; thread replaced", held_for)
        if not self._closed:
            self.schedule(self._check_every_ns, self._check_workers)
