"""The no-wall-clock rule: time, chance, names and threads come from the dispatcher.

See design, kernel, point 8.

Code that reads the clock of the machine, draws its own numbers or starts its own threads cannot run in virtual time,
and cannot run twice in the same way. The kernel's dispatchers and the adapters of `runtime/` have the real ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.lint.rules import Finding, Module

RULE = "no-wall-clock"

_CLOCK = "take the time from the dispatcher: self.now_ns(), self.wall_ns(), self.after(), await self.sleep()"
_CHANCE = "draw from the dispatcher: self.chance, self.new_uid()"
_THREADS = "actors need no threads or locks; what may hang goes to a lane"

FORBIDDEN: Mapping[str, str] = {
    "time": _CLOCK,
    "sched": _CLOCK,
    "datetime.datetime.now": _CLOCK,
    "datetime.datetime.utcnow": _CLOCK,
    "datetime.datetime.today": _CLOCK,
    "datetime.date.today": _CLOCK,
    "asyncio.sleep": _CLOCK,
    "random": _CHANCE,
    "secrets": _CHANCE,
    "uuid": _CHANCE,
    "os.urandom": _CHANCE,
    "os.getrandom": _CHANCE,
    "threading": _THREADS,
    "_thread": _THREADS,
    "multiprocessing": _THREADS,
    "concurrent.futures.ThreadPoolExecutor": _THREADS,
    "concurrent.futures.ProcessPoolExecutor": _THREADS,
}
"""A whole module, or one name in it: what to do instead. Reading dates (`datetime`) is no clock."""

ALLOWED: Mapping[tuple[str, str], str] = {
    ("actorlet/_sweep.py", "threading"): "plays runs beside each other, each in a cluster of its own",
    ("cli/printing.py", "threading"): "its hook for an exception that ends a thread",
    ("cli/simulate/play_bars.py", "time"): "how long a person waits, while worlds have clocks of their own",
    (
        "cli/simulate/side_process.py",
        "multiprocessing",
    ): "whole worlds beside each other, each with its own clock and seed",
    ("config/caches.py", "threading"): "a lock: actors on many threads share what was worked out",
    ("config/pods/once_per_spec.py", "threading"): "a lock: actors on many threads share what is known of a spec",
    ("simulation/apiserver/core.py", "threading"): "a lock: in real time the server is asked from many threads",
    ("simulation/cri/runtime.py", "threading"): "a lock: in real time the runtime is called from many threads",
    ("simulation/validations/program.py", "threading"): "a lock: the servers of one process share a program",
    ("simulation/host/sick_paths.py", "threading"): "a lock: in real time the disk is used from many threads",
    ("tools/share_cases/cases.py", "random"): "a stream of its own for each case, by the case's seed",
}
"""(file, module): the reason. The list is to stay short."""

_FREE = ("runtime", "tests", "benchmarks")
"""runtime/ holds the adapters.

Tests of real threads need a clock to give up by, and benchmarks measure.
"""


def check(module: Module) -> Iterator[Finding]:
    if module.floor in _FREE or module.path.parts[:2] == ("actors", "kernel"):
        return
    names: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = alias.name if alias.asname else first
                yield from _judge(module, node, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield from _judge(module, node, f"{node.module}.{alias.name}")
    for node in module.nodes:
        # Of a module that is forbidden as a whole the import has been told.
        if isinstance(node, ast.Attribute) and (dotted := _dotted(node, names)) and dotted in FORBIDDEN:
            yield from _judge(module, node, dotted)


def _judge(module: Module, node: ast.AST, dotted: str) -> Iterator[Finding]:
    parts = dotted.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if name in FORBIDDEN and (str(module.path), name) not in ALLOWED:
            yield module.finding(node, RULE, f"{name} is not used here; {FORBIDDEN[name]}")
            return


def _dotted(node: ast.Attribute, names: Mapping[str, str]) -> str | None:
    """`dt.datetime.now` as `datetime.datetime.now`, when its first name was imported."""
    parts = [node.attr]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in names:
        return None
    return ".".join((names[inner.id], *reversed(parts)))
