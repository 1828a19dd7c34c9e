"""The record of an agent of the command line: `--record DIR`.

A record can be played from the beginning of an agent only. So its actors start over before the ring drops their
beginning: when their run has taken a quarter of the ring, and the node is at rest (`StartingOver`).
"""

from __future__ import annotations

import logging
import platform
from contextlib import ExitStack
from typing import TYPE_CHECKING

from actors.kernel import PoolDispatcher, Promise
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.rest import under_way
from cli.version import VERSION

if TYPE_CHECKING:
    from actors.node.recording import NodeRecorder

LOG = logging.getLogger("actorlet.run")
LANE = "record"
LANES = frozenset({LANE, "heap"})
"""Those of the command line."""
CLOSE_NS = 40_000_000_000
LOOK_EVERY_NS = 1_000_000_000
APART_NS = 600_000_000_000
"""Actors start over at most this often, however fast the ring fills."""


def pool_for(folder: str) -> PoolDispatcher:
    """The threads of the actors: one where they are recorded, since a record has one order."""
    return PoolDispatcher(1) if folder else PoolDispatcher()


def recorder_of(
    folder: str, size_bytes: int, dispatcher: PoolDispatcher, plan: NodePlan, after: ExitStack
) -> NodeRecorder | None:
    """The recorder; None without a folder. It writes the rest when `after` ends. Raises RingError."""
    if not folder:
        return None
    # Here: most agents are not recorded, and need no memory for this.
    from actors.node.recording import About, NodeRecorder
    from runtime.records.drawn import draw
    from runtime.records.ring import SegmentRing

    ring = SegmentRing(folder, size_bytes)
    ring.open()
    recorder = NodeRecorder(ring, dispatcher, plan, About(VERSION, platform.python_version()), draw())
    after.callback(recorder.close)
    LOG.info("what reaches the agent is recorded in %s, at most %d MiB", ring.folder, ring.size_bytes >> 20)
    return recorder


def agent_of(
    recorder: NodeRecorder | None, dispatcher: PoolDispatcher, plan: NodePlan, capabilities: NodeCapabilities
) -> NodeAgent:
    """The agent, recorded if there is a recorder."""
    if recorder is None:
        return NodeAgent(dispatcher, plan, capabilities)
    return NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)


class StartingOver:
    """Lets the actors of a recorded node start over. `close` before the node is stopped."""

    def __init__(self, node: NodeAgent, recorder: NodeRecorder, dispatcher: PoolDispatcher) -> None:
        self._node = node
        self._recorder = recorder
        self._dispatcher = dispatcher
        self._began_ns = dispatcher.now_ns()
        self._lane = dispatcher.lane(LANE, size=1, per_key=1)
        self._is_closed = False
        self.times = 0

    def begin(self) -> None:
        """Look from time to time; not again before the last look has ended."""
        looks: list[Promise[None]] = []

        def look() -> None:
            if all(each.done() for each in looks):
                looks[:] = [self._lane.submit("look", self.look)]

        self._dispatcher.schedule(LOOK_EVERY_NS, look, LOOK_EVERY_NS)

    def look(self) -> None:
        """Start over if it is time."""
        if self._dispatcher.now_ns() - self._began_ns < APART_NS or not self._recorder.wants_to_begin_anew():
            return
        if not self._is_closed and not under_way(self._node.report(), besides=LANES):
            self._start_over()

    def _start_over(self) -> None:
        # Here: most agents are not recorded, and need no memory for this.
        from runtime.records.drawn import draw

        LOG.info("the record is long: the actors start over, so that it has a new beginning; containers run on")
        self._recorder.end_run()
        if not self._node.start_over(lambda: self._recorder.begin_run(draw())):
            LOG.warning("not every actor has ended in time")
        self._began_ns = self._dispatcher.now_ns()
        self.times += 1

    def close(self) -> None:
        """Never again. Waits for one that goes on."""
        closing = self._lane.submit("look", self._close)
        self._dispatcher.wait_until_done(closing, CLOSE_NS)

    def _close(self) -> None:
        self._is_closed = True


def start_over_in_time(
    node: NodeAgent, recorder: NodeRecorder | None, dispatcher: PoolDispatcher, after: ExitStack
) -> None:
    """Let the actors of a recorded node start over in time. `after` has to end before the node is stopped."""
    if recorder is not None:
        starting_over = StartingOver(node, recorder, dispatcher)
        starting_over.begin()
        after.callback(starting_over.close)
