"""Records of simulated agents, in memory and on disk, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from actors.kernel import Dispatcher
from actors.kernel.recorded.differences import Difference
from actors.kernel.recorded.entries import Entry
from actors.kernel.recorded.recorder import RecordedDispatcher
from actors.node.edges import names_of, recorded
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.records.folder import RecordedRun
from actors.records.format import FORMAT, EntryDecoder, EntryEncoder, Header
from actors.records.secrets import SecretKeeper
from actors.records.values import ValueReader, ValueWriter
from actors.replays.player import RunPlayer
from simulation.node import simulated_node


@dataclass(slots=True)
class MemoryRun(RecordedRun):
    """A run whose entries go through their bytes, but not to a disk."""

    noted: list[Entry] = field(default_factory=list)
    lost: str = ""

    def entries(self, values: ValueReader) -> Iterator[Entry]:
        encoder, decoder = EntryEncoder(self.header, SecretKeeper(b"key")), EntryDecoder(values)
        encoder.header()
        decoder.begin()
        yield from decoder.entries(encoder.payload(self.noted))


def record_agents(monkeypatch: pytest.MonkeyPatch) -> list[MemoryRun]:
    """From now on record each agent of a simulated node; its run comes into the list."""
    runs: list[MemoryRun] = []

    def agent(dispatcher: Dispatcher, plan: NodePlan, capabilities: NodeCapabilities) -> NodeAgent:
        noted: list[Entry] = []
        recorder = RecordedDispatcher(dispatcher, noted.append, seed=len(runs))

        def edges(can: NodeCapabilities) -> NodeCapabilities:
            written = ValueWriter(lambda _: None).write(plan)
            header = Header(FORMAT, str(len(runs)), 0, "0", "3", plan.facts.name, 0, written, names_of(can))
            runs.append(MemoryRun(header, noted=noted))
            return recorded(can, recorder.edges.of)

        return NodeAgent(recorder, plan, capabilities, edges)

    monkeypatch.setattr(simulated_node, "NodeAgent", agent)
    return runs


def differences_of(run: RecordedRun) -> tuple[int, list[Difference]]:
    """Play the run: how many steps it has, and what differs."""
    differences: list[Difference] = []
    player = RunPlayer(run, differences.append)
    while player.step() is not None:
        pass
    return player.steps, differences
