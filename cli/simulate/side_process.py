"""One operation in a forked process.

The process reports its progress and can be asked to end. When it dies, the error names it.

The result comes back through a pipe. The progress is in shared memory, so the operation never waits for a reader.
Between two pieces of work the operation asks whether to stop: its caller may want that, or may have ended. So no
process outlives a killed caller. An interrupt from the keyboard reaches all processes of the terminal; only the caller
handles it.

A pool (`concurrent.futures`) would not do: one process that dies breaks the whole pool, and the pool does not say which
task it had. A fork takes some milliseconds, imports nothing again, and frees all its memory at the end. Fork only from
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
"""Time for a process to end after its answer."""

Given = TypeVar("Given")


class DiedError(Exception):
    """The process has ended without an answer; the message says how."""


class NoProcessError(Exception):
    """The machine allows no more processes; the message says why."""


class Stand(ctypes.Structure):
    """Progress in shared memory: the share done (0 to 1), virtual seconds, a count; `must_end`: stop."""

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


class Turns:
    """Numbers from 0: each is given to one of the processes that share it."""

    def __init__(self) -> None:
        self._following = _FORK.Value("q", 0)

    def take(self) -> int:
        """The next number."""
        with self._following.get_lock():
            number: int = self._following.value
            self._following.value = number + 1
        return number


class Side:
    """The operation's side: it reports progress here, and asks whether to stop."""

    def __init__(self, stand: Stand, caller: int) -> None:
        self.stand = stand
        self._caller = caller

    def must_stop(self) -> bool:
        """Whether the caller wants the operation to end, or has itself ended."""
        return self.stand.must_end or os.getppid() != self._caller


class Channel(Generic[Given]):
    """What a process says while it runs. The caller makes it before the process, and then calls `listen`."""

    def __init__(self) -> None:
        self._heard, self._said = _FORK.Pipe(duplex=False)

    def listen(self) -> None:
        """The caller says nothing, so that the channel ends with the process."""
        self._said.close()

    def speak(self) -> None:
        """The process hears nothing, so that it notices when the caller is gone."""
        self._heard.close()

    def say(self, what: Given) -> bool:
        """Whether there is somebody who hears it."""
        try:
            self._said.send(what)
        except BrokenPipeError:
            return False
        return True

    def latest(self, before: Given) -> Given:
        """What was said last; `before` where nothing is new.

        Raises EOFError once all is heard and the process is gone.
        """
        while self._heard.poll():
            before = self._heard.recv()
        return before

    def close(self) -> None:
        self._heard.close()


class SideProcess(Generic[Given]):
    """Run `operation` in a process of its own. `without`: how to do without one. Raises `NoProcessError`."""

    def __init__(self, operation: Callable[[Side], Given], without: str = "`--jobs 1` needs none") -> None:
        self.stand: Stand = _FORK.RawValue(Stand)
        self.answer, theirs = _FORK.Pipe(duplex=False)
        side = Side(self.stand, os.getpid())
        self._process = _FORK.Process(target=_do, args=(operation, side, theirs, self.answer), daemon=True)
        try:
            self._process.start()
        except OSError as error:
            self.answer.close()
            raise NoProcessError(f"no process could be begun: {error.strerror}; {without}") from None
        finally:
            theirs.close()  # so that the pipe ends with the process

    def take(self) -> Given:
        """The result, once the process is over (`first_over`).

        Raises the operation's exception, and `DiedError`.
        """
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
        """Ask the operation to end early; it still returns what it has."""
        self.stand.must_end = True

    def kill(self) -> None:
        """Kill the process. May be called more than once."""
        self._process.kill()
        self._process.join()
        self.answer.close()


def first_over(processes: Sequence[SideProcess[Any]], within_s: float) -> list[SideProcess[Any]]:
    """Processes that have answered or died; none when `within_s` pass first."""
    ready = wait([each.answer for each in processes], within_s)
    return [each for each in processes if each.answer in ready]


def _do(operation: Callable[[Side], Any], side: Side, answer: Connection, read_by_caller: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    read_by_caller.close()  # a reading end kept open here would hide that the caller has gone
    try:
        given = (True, operation(side))
    except Exception as error:
        given = (False, _as_sent(error))
    try:
        answer.send(given)
    except BrokenPipeError:
        return  # the caller has ended


def _as_sent(error: Exception) -> Exception:
    """The error with its traceback as a note. One that cannot be pickled becomes a RuntimeError."""
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
