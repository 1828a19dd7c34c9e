"""How much an agent has done in a turn or a call, counted in the same way on every machine.

Two things are counted: calls of functions of the agent, and the bytes of text that these functions return. The first
shows loops, the second shows text that is formatted, encoded or copied. Only functions of the floors `config`,
`runtime` and `actors` count, since the world below them costs an agent nothing. Whatever the world calls is the
world's.

The result depends on the program alone, not on what else the process has done:

- Caches would make a second world cheaper than the first, so `forget_cached` empties them. What the tables of caches
  do for an entry is not counted: it is bounded, and depends on which texts are shared.
- The collector of rings does not run within a count. It would call finalizers, also those of another world.
- What is remembered of an object while it lives would depend on the collector, too. A world whose work takes time holds
  the specs that its agents have read (`World.new_api`).
- The text of other functions is not counted: patterns and addresses are cached by the library.
- A module that is imported within a count is not counted.
- What the log does with a line is not counted: it depends on who reads the log. Nor are functions whose text is made
  for the log alone (`_FOR_LOG`).
- A comprehension, which older versions of Python call as a function, is not counted.
"""

from __future__ import annotations

import functools
import gc
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import cachetools

from config.caches import KeptBytes
from simulation.apiserver.store.by_identity import WhileHeld
from simulation.apiserver.store.structs import LatestPart

_HOUSE = Path(__file__).parents[2]
_AGENT = tuple(f"{_HOUSE / floor}/" for floor in ("config", "runtime", "actors"))
_WORLD = f"{_HOUSE / 'simulation'}/"
_LOG = f"{Path(logging.__file__).parent}/"
_FLOORS = frozenset({"config", "runtime", "actors", "simulation"})
_CACHES = frozenset({str(_HOUSE / "config/caches.py"), str(_HOUSE / "config/pods/once_per_spec.py")})
_FOR_LOG = frozenset({"sentence"})
"""Functions that are called only where the log shows their text (`actors.events.recorder`)."""
_NO_CALLS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<module>"})


class Effort(NamedTuple):
    """`calls`: of functions. `text_bytes`: the length of the texts that they returned."""

    calls: int
    text_bytes: int


class EffortCounter:
    """Counts what is done on this thread between `begin` and `end`.

    Pairs may lie within each other: what the inner pair counts is not counted by the outer one.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._text_bytes = 0
        self._in_world = 0
        """How deep the stack is in what the world or the log does; 0 in the agent."""
        self._outer: list[tuple[int, int, int, Any, bool]] = []
        """What `end` goes back to: counts, who watched calls, and whether rings were looked for."""
        self._sides: dict[str, int] = {}
        """By file: 1 of the agent, 2 of the world or the log, 0 of neither."""

    def begin(self) -> None:
        """Count from here on. The caller itself is not counted."""
        self._outer.append((self._calls, self._text_bytes, self._in_world, sys.getprofile(), gc.isenabled()))
        self._calls = self._text_bytes = self._in_world = 0
        gc.disable()
        sys.setprofile(self._seen)

    def end(self) -> Effort:
        """What was done since `begin`."""
        effort = Effort(self._calls, self._text_bytes)
        self._calls, self._text_bytes, self._in_world, before, collects = self._outer.pop()
        sys.setprofile(before)
        if collects:
            gc.enable()
        return effort

    def _seen(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            if self._in_world:
                self._in_world += 1
                return
            code = frame.f_code
            side = self._sides.get(code.co_filename)
            if side is None:
                side = self._side_of(code.co_filename)
            if side == 1:
                if code.co_name in _FOR_LOG:
                    self._in_world = 1
                elif code.co_name not in _NO_CALLS:
                    self._calls += 1
                elif code.co_name == "<module>":
                    self._in_world = 1
            elif side == 2:
                self._in_world = 1
        elif event == "return":
            if self._in_world:
                self._in_world -= 1
            elif (value.__class__ is str or value.__class__ is bytes) and self._sides.get(
                frame.f_code.co_filename
            ) == 1:
                self._text_bytes += len(value)

    def _side_of(self, file: str) -> int:
        agent = file.startswith(_AGENT) and file not in _CACHES
        side = self._sides[file] = 1 if agent else 2 if file.startswith((_WORLD, _LOG)) else 0
        return side


def forget_cached() -> None:
    """Empty the caches that the modules of all floors keep, as in a process that has just begun."""
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] in _FLOORS:
            for each in _kept_by(module):
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()
                elif isinstance(each, cachetools.Cache | KeptBytes | WhileHeld | LatestPart):
                    each.clear()


def _kept_by(module: ModuleType) -> Iterator[Any]:
    """What a module has, and what its classes and objects have."""
    for each in tuple(vars(module).values()):
        yield each
        if isinstance(each, FunctionType):  # `config.caches.kept` keeps results beside the function
            yield from (cell.cell_contents for cell in each.__closure__ or ())
        is_own_class = isinstance(each, type) and each.__module__ == module.__name__
        is_own_object = type(each).__module__.partition(".")[0] in _FLOORS and hasattr(each, "__dict__")
        if is_own_class or is_own_object:
            yield from (getattr(below, "__func__", below) for below in tuple(vars(each).values()))
