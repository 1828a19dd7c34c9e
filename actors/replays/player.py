"""`RunPlayer`: the agent of a recorded run, played again step by step."""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import ActorRef
from actors.kernel.cell import Cell
from actors.kernel.inspection import ActorState, look_closely
from actors.kernel.recorded.differences import Difference
from actors.kernel.recorded.replayed_edges import ReplayedEdge
from actors.kernel.recorded.replayer import NotRecordedError, ReplayedDispatcher, Taken
from actors.node.edges import replayed
from actors.node.node import NodeAgent
from actors.node.plan import NodePlan
from actors.records.folder import NoRecordError, RecordedRun
from actors.records.format import PackedComparison
from actors.records.values import UnreadableValueError, ValueReader


class RunPlayer:
    """See the module.

    `differ` is told of each difference. Raises NoRecordError for a run that cannot be played.
    """

    def __init__(self, run: RecordedRun, differ: Callable[[Difference], object]) -> None:
        if not run.has_begin:
            raise NoRecordError(
                f"the record of this agent begins in the middle: its first segments made room for newer ones; "
                f"a larger --record-size keeps more (node {run.header.node}, run {run.header.run})"
            )
        self.run = run
        self._refs: dict[str, ActorRef] = {}
        self.plan = _plan_of(run)
        try:
            self.dispatcher = ReplayedDispatcher(run.entries(ValueReader(self._ref_of)), PackedComparison(), differ)
        except NotRecordedError as error:
            raise NoRecordError(f"the record of node {run.header.node} has no beginning: {error}") from None
        capabilities = replayed(run.header.capabilities, lambda name: ReplayedEdge(self.dispatcher, name))
        self.node = NodeAgent(self.dispatcher, self.plan, capabilities, lambda _: capabilities)
        self.dispatcher.root = self.node.system.root
        self.node.start()

    def step(self) -> Taken | None:
        """Take one step; None at the end of the record."""
        return self.dispatcher.step()

    def play_while_alive(self) -> None:
        """Play to the end of the agent: before its actors are told to stop."""
        while not self.dispatcher.stops_next() and self.step() is not None:
            pass

    @property
    def steps(self) -> int:
        return self.dispatcher.steps

    @property
    def wall_ns(self) -> int:
        """The time of day of the recorded node."""
        return self.dispatcher.wall_ns()

    def actors(self) -> tuple[str, ...]:
        """Paths of the living actors."""
        return tuple(cell.path for cell in self._cells())

    def look_at(self, path: str) -> ActorState | None:
        """One actor in detail; None when it does not exist."""
        cell = self.dispatcher.find(path)
        return None if cell is None else look_closely(cell)

    def _cells(self) -> list[Cell]:
        return self.node.system.root.walk()

    def _ref_of(self, path: str) -> ActorRef:
        """The reference of an actor that the record names. One that is gone keeps its last one."""
        cell = self.dispatcher.find(path) if self.dispatcher.root is not None else None
        if cell is not None:
            found: ActorRef = cell.ref
            self._refs[path] = found
            return found
        known = self._refs.get(path)
        if known is None:
            raise UnreadableValueError(f"the record names the actor {path}, which does not exist now")
        return known


def _plan_of(run: RecordedRun) -> NodePlan:
    try:
        plan = ValueReader(lambda path: path).read(run.header.plan)
    except UnreadableValueError as error:
        raise NoRecordError(f"this version cannot read what the node was made from: {error}") from None
    if not isinstance(plan, NodePlan):
        raise NoRecordError("the record does not say what its node was made from")
    return plan
