"""One operation in a process of its own: forked, told how far it is, asked to end, and known by name when it dies.

What the operation gives comes back through a pipe, and how far it is through shared memory, so that it never waits for
a reader. It is asked whether to stop between two pieces of work, and is to when its caller wants that or is no more:
nobody is left behind when the caller is killed. An interrupt from the keyboard goes to everybody at the terminal; only
the caller heeds it.

A pool (`concurrent.futures`) would not do: it is broken as a whole by one process that dies, and does not say at what.
To fork takes some milliseconds, needs nothing to be imported anew, and gives all memory back at the end. It is for
processes without other threads.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

_FORK = multiprocessing.get_context("fork")
_ENDS_WITHIN_S = 10
"""A process that has given its answer."""

Given = TypeVar("Given")


class DiedError(Exception):
    """The process has ended without an answer; the message says how."""


class NoProcessError(Exception):
    """The machine gives no process more; the message says why."""


class Stand(ctypes.Structure):
    """How far an operation is: the part of it from 0 to 1, virtual seconds, and how many there are of what it
    counts."""

    _fields_ = (
        ("share", ctypes.c_double),
        ("virtual_s", ctypes.c_longlong),
        ("count", ctypes.c_longlong),
        ("must_end", ctypes.c_bool),
    )
    share: float
    virtual_s: int
    count: int
    must_end: bool


class Side:
    """The operation's own view: where it says how far it is, and asks whether to go on."""

    def __init__(self, stand: Stand, caller: int) -> None:
        self.stand = stand
        self._caller = caller

    def must_stop(self) -> bool:
        """Whether the caller wants it to end, or is no more."""
        return self.stand.must_end or os.getppid() != self._caller


class SideProcess(Generic[Given]):
    """See the module. Raises `NoProcessError`."""

    def __init__(self, operation: Callable[[Side], Given]) -> None:
        self.stand: Stand = _FORK.RawValue(Stand)
        self.answer, theirs = _FORK.Pipe(duplex=False)
        side = Side(self.stand, os.getpid())
        self._process = _FORK.Process(target=_do, args=(operation, side, theirs, self.answer), daemon=True)
        try:
            self._process.start()
        except OSError as error:
            self.answer.close()
            raise NoProcessError(f"no process could be begun: {error.strerror}; `--jobs 1` needs none") from None
        finally:
            theirs.close()  # so that the answer ends when the process does

    def take(self) -> Given:
        """What the operation gave, once it is over (`first_over`). Raises what the operation raised, and
        `DiedError`."""
        try:
            done, given = self.answer.recv()
        except EOFError:
            done, given = False, None
        self._process.join(_ENDS_WITHIN_S)
        how = _how(self._process.exitcode)
        self.kill()
        if done:
            answer: Given = given
            return answer
        raise DiedError(how) if given is None else given

    def let_end(self) -> None:
        """Ask it to end; it gives what it has."""
        self.stand.must_end = True

    def kill(self) -> None:
        """End it, whatever it does. Once more makes no difference."""
        self._process.kill()
        self._process.join()
        self.answer.close()


def first_over(processes: Sequence[SideProcess[Any]], within_s: float) -> list[SideProcess[Any]]:
    """Those that have given what they give, or died; none when that takes longer."""
    ready = wait([each.answer for each in processes], within_s)
    return [each for each in processes if each.answer in ready]


def _do(operation: Callable[[Side], Any], side: Side, answer: Connection, read_by_caller: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read_by_caller.close()  # or it could not be known that nobody reads
    try:
        given = (True, operation(side))
    except Exception as error:
        given = (False, _as_sent(error))
    try:
        answer.send(given)
    except BrokenPipeError:
        return  # the caller is no more


def _as_sent(error: Exception) -> Exception:
    """With the place it comes from; another one in its stead when it cannot be sent."""
    error.add_note(f"in a process of its own:\n{''.join(traceback.format_exception(error))}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        told.__notes__ = error.__notes__
        return told
    return error


def _how(exit_code: int | None) -> str:
    if exit_code is None:
        return "its process gave no answer and did not end"
    if exit_code >= 0:
        return f"its process ended with exit status {exit_code}"
    name = signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"signal {-exit_code}"
    short = ", as the kernel does when memory is short" if -exit_code == signal.SIGKILL else ""
    return f"its process was ended by {name}{short}"
