"""Records a node: `NodeRecorder`.

Made before the node's agent, which it gives its dispatcher and edges.

recorder = NodeRecorder(ring, PoolDispatcher(1), plan, about, draw())
node = NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)

A record can be played from the beginning of an agent only. So before the ring drops that, the actors start over:
`recorder.end_run()`, then `node.start_over(partial(recorder.begin_run, draw()))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

RUNS_IN_A_RING = 4
"""A run that takes this part of the ring is to end: the runs before it stay for a while."""


@dataclass(frozen=True, slots=True)
class About:
    """What a record says of its program: the versions of actorlet and Python."""

    actorlet: str
    python: str


class NodeRecorder:
    """See the module. `ring` is open; it is closed at the end. `inner` has one worker at most."""

    def __init__(self, ring: SegmentRing, inner: Dispatcher, plan: NodePlan, about: About, drawn: Drawn) -> None:
        self._ring = ring
        self._inner = inner
        self._plan = plan
        self._about = about
        self._drawn = drawn
        self._secrets = SecretKeeper(drawn.key)
        self._written_plan = b""
        self._names: tuple[str, ...] = ()
        self._early: list[Entry] = []
        """What is noted before the capabilities are known."""
        self._recording: BackgroundRecording | None = None
        self._began_wall_ns = inner.wall_ns()
        self.dispatcher = RecordedDispatcher(inner, self._note, drawn.seed)

    def edges(self, capabilities: NodeCapabilities) -> NodeCapabilities:
        """The capabilities as actors get them. From here on the record is written."""
        if self._recording is None:
            self._written_plan = ValueWriter(self._secrets.seen).write(self._plan)
            self._names = names_of(capabilities)
            self._recording = recording = BackgroundRecording(self._ring, self._encoder())
            for entry in self._early:
                recording.note(entry)
            self._early.clear()
            recording.start()
        return recorded(capabilities, self.dispatcher.edges.of)

    def wants_to_begin_anew(self) -> bool:
        """Whether the actors should start over: the run is long, or cannot be played further."""
        recording = self._recording
        if recording is None:
            return False
        if self.dispatcher.lost or recording.has_gap():
            return True
        return recording.run_bytes >= self._ring.size_bytes // RUNS_IN_A_RING

    def end_run(self) -> None:
        """The actors are about to stop, and others will be recorded: the dispatcher beneath stays."""
        self.dispatcher.hand_over()

    def begin_run(self, drawn: Drawn) -> tuple[Dispatcher, Any]:
        """The actors have stopped: the dispatcher and the edges of the next ones.

        Secrets that are known stay known, and the key stays the same.
        """
        assert self._recording is not None
        self._drawn = drawn
        self._began_wall_ns = self._inner.wall_ns()
        self._recording.begin(self._encoder())
        self.dispatcher = RecordedDispatcher(self._inner, self._note, drawn.seed)
        return self.dispatcher, self.edges

    def _encoder(self) -> EntryEncoder:
        about = self._about
        header = Header(
            FORMAT,
            self._drawn.run,
            0,
            about.actorlet,
            about.python,
            self._plan.facts.name,
            self._began_wall_ns,
            self._written_plan,
            self._names,
        )
        return EntryEncoder(header, self._secrets)

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
