"""Has rules evaluated in a process of its own, which starts when the first rule is compiled.

All servers of this process share it. A rule that takes too much CPU or memory ends it, and the next request starts
another. So does a request that finds it killed. If it is stopped or stuck, it is killed when it has done nothing for a
minute, as if a rule took too much. It ends with this process, even a killed one, because its standard input ends then.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

CHILD = Path(__file__).with_name("child.py")
WAIT_S = 60.0
_TOO_DEAR = "takes too much time or memory"
_TOO_MUCH = "operation cancelled: actual cost limit exceeded"

Check = tuple[Any, ...]
"""(rule, messageExpression, is oldSelf optional, self), and the old self if there is one."""
Held = tuple[bool | None, str]
"""Whether a rule holds, and the text of its messageExpression; or None, and why not."""


@cache
def the_program() -> RuleProgram | None:
    """That of all servers; None without the library for CEL."""
    return RuleProgram() if find_spec("cel_expr_python") is not None else None


class RuleProgram:
    """See the module. `wait_s`: how long the process may do nothing, in real time."""

    def __init__(self) -> None:
        self.wait_s = WAIT_S
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], object] = lambda: None

    def compile(self, expressions: Sequence[tuple[str, str]]) -> list[str]:
        """Why each (expression, name of its type, as BOOL) does not compile; empty if it does."""
        answers = self._ask("compile", expressions)
        return [f"it {_TOO_DEAR}"] * len(expressions) if answers is None else answers

    def evaluate(self, checks: Sequence[Check]) -> list[Held] | None:
        """What became of each; None if all of them together take too much time or memory."""
        answers = self._ask("evaluate", checks)
        return None if answers is None else [(held, text) for held, text in answers]

    def judge(
        self,
        data: Mapping[str, Any],
        conditions: Sequence[str],
        variables: Sequence[tuple[str, str]],
        checks: Sequence[tuple[str, str]],
    ) -> list[Held] | None:
        """What an admission policy says of a request: an outcome for each check.

        There is none if its conditions do not hold. `variables`: name and expression; `checks`: expression and
        messageExpression. None if all together take too much time or memory.
        """
        answers = self._ask("judge", [(data, conditions, variables, checks)])
        if answers is None:
            return None
        return [(held, text) for held, text in answers[0] or ()]

    def mutate(
        self,
        data: Mapping[str, Any],
        conditions: Sequence[str],
        variables: Sequence[tuple[str, str]],
        expression: str,
        written: str,
    ) -> tuple[bool, Any] | None:
        """The value of a mutation, which is `written` otherwise; None if a condition does not hold.

        The value comes with True, and the reason why there is none with False. Constructed values have their type in
        the field `TYPE` of `child.py`. Without an expression only the conditions are evaluated.
        """
        answers = self._ask("mutate", [(data, conditions, variables, expression, written)])
        if answers is None:
            return False, _TOO_MUCH
        return None if answers[0] is None else tuple(answers[0])

    def select(self, expression: str, devices: Sequence[Mapping[str, Any]]) -> list[Held]:
        """Whether a selector of devices selects each of them; None, and why, where it cannot be evaluated."""
        answers = self._ask("select", [(expression, devices)])
        if answers is None:
            return [(None, _TOO_MUCH)] * len(devices)
        return [(held, why) for held, why in answers[0]]

    def check(
        self,
        has_params: bool,
        composes: bool,
        variables: Sequence[tuple[str, str]],
        conditions: Sequence[str],
        expressions: Sequence[tuple[str, str]],
    ) -> list[tuple[str, str]]:
        """Why each expression of a policy does not compile, and else the type of its value as Go names it.

        First those of the variables, then the conditions, then the others: each with what it may use, `patches` for
        constructors, else "". They may read the variables before them, if there is such a thing (`composes`).
        """
        answers = self._ask("check", [(has_params, composes, variables, conditions, expressions)])
        if answers is None:
            return [(f"it {_TOO_DEAR}", "")] * (len(variables) + len(conditions) + len(expressions))
        return [(fault, kind) for fault, kind in answers[0]]

    def _ask(self, what: str, rows: Sequence[Any]) -> list[Any] | None:
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                self._leave()  # somebody killed it while it was idle, which says nothing of this request
            process = self._process or self._begin()
            line = _answer(process, msgspec.json.encode([what, rows]) + b"\n", self.wait_s)
            if not line.endswith(b"\n"):
                self._leave()
                return None
        answers: list[Any] = msgspec.json.decode(line)
        return answers

    def _leave(self) -> None:
        self._process = None
        self._end()

    def _begin(self) -> subprocess.Popen[bytes]:
        process = self._process = subprocess.Popen(
            [sys.executable, "-I", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, process)
        return process


def _answer(process: subprocess.Popen[bytes], line: bytes, wait_s: float) -> bytes:
    """The answer to a line; without a line end if the process ends, or does nothing for so long."""
    assert process.stdin is not None
    assert process.stdout is not None
    to, of = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(to, False)
    answer, left = b"", memoryview(line)
    with suppress(BrokenPipeError):
        while left and _is_ready(to, select.POLLOUT, wait_s):
            left = left[os.write(to, left) :]
        if left:
            return answer
        while not answer.endswith(b"\n") and _is_ready(of, select.POLLIN, wait_s) and (more := os.read(of, 2**16)):
            answer += more
    return answer


def _is_ready(descriptor: int, event: int, wait_s: float) -> bool:
    watched = select.poll()
    watched.register(descriptor, event)
    return bool(watched.poll(wait_s * 1000))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with suppress(BrokenPipeError):
        process.communicate()
