"""`DaemonThreads`: an executor whose threads do not delay the exit.

Python waits at its exit for every thread of a `ThreadPoolExecutor`. A hung disk or DNS server would keep the agent
alive until systemd kills it. The threads here are daemons, so a hung operation does not matter. They are started when
needed, up to a limit, and stay. Operations begin in the order they came.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):
    """`size`: the limit of threads.

    It is a `ThreadPoolExecutor` by type only, because asyncio accepts no other default executor. It starts none of that
    class's threads.
    """

    def __init__(self, size: int, name: str) -> None:
        super().__init__(size, thread_name_prefix=name)
        self._size = size
        self._name = name
        self._news = threading.Condition()
        self._operations: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._workers: list[threading.Thread] = []
        self._free = 0
        """How many of the workers wait for an operation."""
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function on a thread. Raises RuntimeError after `shutdown`, or without a thread for the first
        worker.
        """
        answer: Future[T] = Future()
        with self._news:
            if self._ended:
                raise RuntimeError(f"{self._name} takes no more")
            self._operations.append((answer, partial(fn, *args, **kwargs)))
            if len(self._operations) > self._free and len(self._workers) < self._size:
                self._begin_worker()
            else:
                self._news.notify()
        return answer

    def _begin_worker(self) -> None:
        """Start a worker.

        A machine may have no thread left: then the existing workers do the work. Without any, raise.
        """
        name = f"{self._name}-{len(self._workers)}"
        worker = threading.Thread(target=self._work, name=name, daemon=True)
        try:
            worker.start()
        except RuntimeError:
            if not self._workers:
                self._operations.pop()
                raise
        else:
            self._workers.append(worker)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more operations. Waiting ones are still run, or cancelled."""
        with self._news:
            self._ended = True
            left = list(self._operations) if cancel_futures else []
            if cancel_futures:
                self._operations.clear()
            self._news.notify_all()
        for answer, _ in left:
            answer.cancel()
        if wait:
            for worker in self._workers:
                worker.join()

    def _work(self) -> None:
        while (operation := self._next()) is not None:
            _do(*operation)
            del operation  # otherwise the result would stay in memory until the next operation

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._news:
            while not self._operations:
                if self._ended:
                    return None
                self._free += 1
                self._news.wait()
                self._free -= 1
            return self._operations.popleft()


def _do(answer: Future[Any], operation: Callable[[], Any]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        result = operation()
    except BaseException as failure:
        answer.set_exception(failure)
    else:
        answer.set_result(result)
