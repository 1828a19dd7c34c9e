"""A saved run, played again as far and in as small steps as wanted, with views of its actors.

The play is the one that failed; this module moves and shows it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from actors.kernel.cell import Cell
from actors.kernel.inspection import ActorState, look_at, look_closely
from actors.kernel.simulated_dispatcher import EPOCH_WALL_NS
from simulation.node.simulated_node import SimulatedNode
from simulation.play.play import Play
from simulation.play.saved_run import SavedRun

SECOND_NS = 10**9
Json = dict[str, Any]


class Finding(enum.Enum):
    """How the replay compares with the saved failure."""

    NOT_YET = "not yet"
    SAME = "same"
    """It failed as saved, message by message."""
    OTHERWISE = "otherwise"
    """The invariant was violated, but at another step or after other messages: the code has changed."""
    GONE = "gone"
    """It was played to its end, and the invariant held."""


class Replay:
    """`told` gets every line of the trace, in order, before a move returns."""

    def __init__(self, saved: SavedRun, told: Callable[[str], object]) -> None:
        self.saved = saved
        self.play = Play(saved.scenario, saved.seed, sink=lambda text: _each(text, told))

    @property
    def step(self) -> int:
        """Turns of actors so far."""
        return self.play.world.dispatcher.steps

    @property
    def now_ns(self) -> int:
        return self.play.world.now_ns()

    @property
    def began_wall_ns(self) -> int:
        """The time of day at which every simulation begins, in ns since 1970."""
        return EPOCH_WALL_NS

    @property
    def done(self) -> bool:
        """Whether it was played to its end."""
        return self.play.done

    def found(self) -> str:
        """What was found so far, for people; empty for nothing."""
        is_violated = self.finding() in (Finding.SAME, Finding.OTHERWISE)
        return f"violated: {self.saved.violated.invariant}" if is_violated else ""

    def next(self, steps: int = 1, *, go_on: Callable[[], bool] = lambda: True) -> None:
        """Play so many more turns of actors."""
        until = self.step + steps
        self._move(lambda: self.step < until and go_on())

    def until_step(self, step: int, *, go_on: Callable[[], bool] = lambda: True) -> None:
        """Play until so many turns were taken; return at once if there were more."""
        self._move(lambda: self.step < step and go_on())

    def until_ns(self, ns: int, *, go_on: Callable[[], bool] = lambda: True) -> None:
        """Play until that virtual time, including everything at that time."""
        while not self.play.done and self.now_ns < ns and go_on():
            self.play.advance(min(SECOND_NS, ns - self.now_ns))
        self._flush()

    def until_found(self, *, go_on: Callable[[], bool] = lambda: True) -> None:
        """Play until the saved invariant is violated, or to the end."""
        self._move(lambda: self.finding() is Finding.NOT_YET and go_on())

    def until_told(self, is_told: Callable[[], bool], *, go_on: Callable[[], bool] = lambda: True) -> None:
        """Play until `is_told`, which is asked after each step, when `told` has had its lines; or to the end."""

        def wanted() -> bool:
            self.play.world.trace.hash()  # tells all lines
            return not is_told() and go_on()

        self.next()
        self._move(wanted)

    def finding(self) -> Finding:
        """The comparison so far."""
        moment = self.play.world.broken_at.get(self.saved.violated.invariant)
        if moment is None:
            return Finding.GONE if self.play.done else Finding.NOT_YET
        same = (moment.step, moment.trace_hash) == (self.saved.step, self.saved.trace_hash)
        return Finding.SAME if same else Finding.OTHERWISE

    def actors(self) -> tuple[str, ...]:
        """Every actor that is there now, as the trace names it: node and path."""
        return tuple(f"{name}{cell.path}" for name, node in self.play.world.nodes.items() for cell in _cells(node))

    def last_turn(self) -> str:
        """What the last turn did, as a line of the trace: for turns that end no message."""
        world = self.play.world
        for name, node in world.nodes.items():
            for cell in _cells(node):
                if cell is world.dispatcher.last_turn:
                    return f"{self.now_ns} {name}{cell.path} {_turn_of(cell, self.now_ns)}"
        return f"{self.now_ns} world an actor that has ended had its last turn"

    def pods(self) -> tuple[Json, ...]:
        """The pods of the API, by namespace and name."""
        found = [version.object for version in self.play.world.server.store.of["pods"].all()]
        return tuple(sorted(found, key=lambda pod: (pod["metadata"]["namespace"], pod["metadata"]["name"])))

    def uids_of(self, name: str) -> frozenset[str]:
        """The UIDs of the pods with that part in their names."""
        return frozenset(pod["metadata"]["uid"] for pod in self.pods() if name in pod["metadata"]["name"])

    def look_at(self, actor: str) -> ActorState | None:
        """One actor in detail, by its full name; None when it does not exist."""
        for name, node in self.play.world.nodes.items():
            for cell in _cells(node):
                if f"{name}{cell.path}" == actor:
                    return look_closely(cell)
        return None

    def _move(self, wanted: Callable[[], bool]) -> None:
        while not self.play.done and wanted():
            self.play.step()
        self._flush()

    def _flush(self) -> None:
        self.play.world.trace.last()


def _turn_of(cell: Cell, now_ns: int) -> str:
    info = look_at(cell, now_ns)
    if info.handling:
        return f"{info.handling}: goes on when it has {info.waiting_for or 'its next turn'}"
    return f"is {info.state}" if info.handled else "begins"


def named_alike(name: str, actors: tuple[str, ...]) -> tuple[str, ...]:
    """The actors that a name may mean.

    An exact match, or else paths that end with it, or else paths that contain it.
    """
    if name in actors:
        return (name,)
    ends = tuple(each for each in actors if each.endswith(f"/{name.lstrip('/')}"))
    return ends or tuple(each for each in actors if name in each)


def _cells(node: SimulatedNode) -> list[Cell]:
    return node.node.system.root.walk()


def _each(text: str, told: Callable[[str], object]) -> None:
    for line in text.splitlines():
        told(line)
