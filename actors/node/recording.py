"""Records a node: `NodeRecorder`.

Made before the node's agent, which it gives its dispatcher and edges.

recorder = NodeRecorder(ring, PoolDispatcher(1), plan, about, draw())
node = NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)
"""

from __future__ import annotations

from dataclasses import dataclass

from actors.kernel import Dispatcher
from actors.kernel.recorded.entries import Entry
from actors.kernel.recorded.recorder import RecordedDispatcher
from actors.node.edges import names_of, recorded
from actors.node.plan import NodeCapabilities, NodePlan
from actors.records.format import FORMAT, EntryEncoder, Header
from actors.records.secrets import SecretKeeper
from actors.records.values import ValueWriter
from runtime.records.background import BackgroundRecording
from runtime.records.drawn import Drawn
from runtime.records.ring import SegmentRing


@dataclass(frozen=True, slots=True)
class About:
    """What a record says of its program: the versions of actorlet and Python."""

    actorlet: str
    python: str


class NodeRecorder:
    """See the module. `ring` is open; it is closed at the end. `inner` has one worker at most."""

    def __init__(self, ring: SegmentRing, inner: Dispatcher, plan: NodePlan, about: About, drawn: Drawn) -> None:
        self._ring = ring
        self._plan = plan
        self._about = about
        self._drawn = drawn
        self._early: list[Entry] = []
        """What is noted before the capabilities are known."""
        self._recording: BackgroundRecording | None = None
        self._began_wall_ns = inner.wall_ns()
        self.dispatcher = RecordedDispatcher(inner, self._note, drawn.seed)

    def edges(self, capabilities: NodeCapabilities) -> NodeCapabilities:
        """The capabilities as actors get them. From here on the record is written."""
        about, secrets = self._about, SecretKeeper(self._drawn.key)
        header = Header(
            FORMAT,
            self._drawn.run,
            0,
            about.actorlet,
            about.python,
            self._plan.facts.name,
            self._began_wall_ns,
            ValueWriter(secrets.seen).write(self._plan),
            names_of(capabilities),
        )
        self._recording = recording = BackgroundRecording(self._ring, EntryEncoder(header, secrets))
        for entry in self._early:
            recording.note(entry)
        self._early.clear()
        recording.start()
        return recorded(capabilities, self.dispatcher.edges.of)

    def close(self) -> None:
        """Write the rest. The agent has ended, or may not be recorded any more."""
        if self._recording is not None:
            self._recording.close()
        else:
            self._ring.close()

    def _note(self, entry: Entry) -> None:
        if self._recording is None:
            self._early.append(entry)
        else:
            self._recording.note(entry)
