"""The record of an agent of the command line: `--record DIR`."""

from __future__ import annotations

import logging
import platform
from contextlib import ExitStack
from typing import TYPE_CHECKING

from actors.kernel import PoolDispatcher
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from cli.main import own_version

if TYPE_CHECKING:
    from actors.node.recording import NodeRecorder

LOG = logging.getLogger("actorlet.run")


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
    recorder = NodeRecorder(ring, dispatcher, plan, About(own_version(), platform.python_version()), draw())
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
