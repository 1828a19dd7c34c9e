"""The process that evaluates rules, by lines of JSON on its standard input and output.

Each request is a line, `["compile", ROWS]`, `["evaluate", ROWS]` or `["judge", ROWS]` as in `program.py`, and so is its
answer. This runs
as a script and imports nothing of the project. A request may use `CPU_S` seconds of CPU, and the process a bounded
amount of memory. With more it dies, which its parent notices.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

CPU_S = 2.0
MEMORY_BYTES = 2**30
OLD = "oldValue__"
"""The variable behind an optional `oldSelf`."""
_OF_POLICIES = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What the expressions of an admission policy read."""
_EXTENSIONS = ("Strings", "Math", "Optional", "Bindings", "Encoders")


def _environment(cel: Any) -> Any:
    """What rules may use: the standard library, the extensions, and the functions of Kubernetes in Python."""
    kinds = cel.Type
    any_list = kinds.List(kinds.DYN)

    def function(name: str, result: Any, parameters: list[Any], call: Callable[..., Any], member: bool = True) -> Any:
        overload = cel.Overload(f"kubernetes_{name}_{len(parameters)}", result, parameters, member, call)
        return cel.FunctionDecl(name, [overload])

    functions = [
        function("find", kinds.STRING, [kinds.STRING, kinds.STRING], _find),
        function("findAll", kinds.List(kinds.STRING), [kinds.STRING, kinds.STRING], _find_all),
        function("isSorted", kinds.BOOL, [any_list], lambda items: all(a <= b for a, b in pairwise(items))),
        function("sum", kinds.DYN, [any_list], sum),
        function("min", kinds.DYN, [any_list], min),
        function("max", kinds.DYN, [any_list], max),
        function("sets.contains", kinds.BOOL, [any_list, any_list], _contains, member=False),
        function("sets.intersects", kinds.BOOL, [any_list, any_list], _intersects, member=False),
        function("sets.equivalent", kinds.BOOL, [any_list, any_list], _equivalent, member=False),
    ]
    modules = [import_module(f"cel_expr_python.ext.ext_{name.lower()}") for name in _EXTENSIONS]
    extensions = [getattr(module, f"Ext{name}")() for module, name in zip(modules, _EXTENSIONS, strict=True)]
    variables = dict.fromkeys(("self", "oldSelf", OLD, *_OF_POLICIES), kinds.DYN)
    return cel.NewEnv(variables=variables, functions=functions, extensions=extensions)


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found[0] for found in re.finditer(pattern, text)]


def _contains(items: list[Any], others: list[Any]) -> bool:
    return all(one in items for one in others)


def _intersects(items: list[Any], others: list[Any]) -> bool:
    return any(one in items for one in others)


def _equivalent(items: list[Any], others: list[Any]) -> bool:
    return _contains(items, others) and _contains(others, items)


class Rules:
    """Compiles rules once, and evaluates them."""

    def __init__(self) -> None:
        self._cel = import_module("cel_expr_python.cel")
        self._environment = _environment(self._cel)
        self._compiled = lru_cache(maxsize=1024)(self._environment.compile)

    def compile(self, rule: str, kind: str) -> str:
        """The reason why an expression does not compile to that type; empty if it does."""
        try:
            made = self._compiled(rule).return_type()
        except RuntimeError as error:
            return str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        wanted = getattr(self._cel.Type, kind)
        return "" if made in (wanted, self._cel.Type.DYN) else f"must evaluate to a {wanted.name().lower()}"

    def evaluate(self, rule: str, message: str, optional: bool, now: Any, *old: Any) -> tuple[bool | None, str]:
        """Whether a rule holds; None if it cannot be evaluated.

        Then the reason, or the text for a broken rule.
        """
        data = {"self": now}
        if old:
            data[OLD if optional else "oldSelf"] = old[0]
        held = self._value(_with_old(rule, bool(old)) if optional else rule, data)
        if held is True:
            return True, ""
        if held is not False:
            return None, str(held)
        said = self._value(_with_old(message, bool(old)) if optional else message, data) if message else ""
        return False, said if isinstance(said, str) else ""

    def judge(
        self, data: dict[str, Any], conditions: list[str], variables: list[list[str]], checks: list[list[str]]
    ) -> list[Any] | None:
        """What an admission policy says of a request; None if a condition does not hold.

        `variables`: name and expression; `checks`: expression and messageExpression. For each check: whether it holds,
        and the text for a broken one. A check or condition that cannot be evaluated gives None, and why.
        """
        known: dict[str, Any] = {}
        data = {**data, "variables": known}
        for condition in conditions:
            held = self._value(condition, data)
            if held is not True:
                return None if held is False else [[None, f"expression '{condition}' resulted in error: {held}"]]
        for name, expression in variables:
            value = self._value(expression, data)
            if not isinstance(value, RuntimeError):  # Who reads another one finds no such key.
                known[name] = value
        said: list[Any] = []
        for expression, message in checks:
            held = self._value(expression, data)
            if isinstance(held, RuntimeError):
                said.append([None, f"expression '{expression}' resulted in error: {held}"])
            else:
                text = self._value(message, data) if message and held is not True else ""
                said.append([held is True, text if isinstance(text, str) else ""])
        return said

    def _value(self, expression: str, data: dict[str, Any]) -> Any:
        try:
            found = self._compiled(expression).eval(data=data)
        except RuntimeError as error:
            return RuntimeError(str(error))
        value = found.value()
        return RuntimeError(str(value)) if found.type() == self._cel.Type.ERROR else value


def _with_old(expression: str, is_there: bool) -> str:
    """The expression, which reads `oldSelf` as an optional value."""
    return f"cel.bind(oldSelf, {f'optional.of({OLD})' if is_there else 'optional.none()'},\n{expression}\n)"


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    rules = Rules()
    for line in sys.stdin:
        what, rows = json.loads(line)
        # CPU time, and not the time of day: a busy machine makes no rule fail. The signal ends C++ code, too.
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        tells: dict[str, Callable[..., Any]] = {
            "compile": rules.compile,
            "evaluate": rules.evaluate,
            "judge": rules.judge,
        }
        answers = [tells[what](*row) for row in rows]
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    main()
