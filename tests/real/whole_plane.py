"""A real control plane that a node of a test joins: API server, controllers and scheduler.

`ACTORLET_TEST_CONTROL_PLANE` names the folder of the four programs (docs/how-to/real-control-plane.md).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from runtime.io.event_loop import LoopThread
from simulation.planes.binaries import find_binaries
from simulation.planes.control_plane import ADMIN, ControlPlane
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster

FOLDER = os.environ.get("ACTORLET_TEST_CONTROL_PLANE", "")
BEGINS_WITHIN_S = 180


class Plane(NamedTuple):
    """The files of those who use it."""

    kubeconfig: str
    node_kubeconfigs: dict[str, str]
    authority: str


@contextmanager
def whole_plane(agent: Agent) -> Iterator[Cluster]:
    """A cluster of its own for this agent, which is taken down before the programs end."""
    place = agent.directory / "plane"
    place.mkdir(mode=0o700)
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="plane", daemon=True).start()

    def waited(work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(BEGINS_WITHIN_S)

    plane = ControlPlane(find_binaries(FOLDER), str(place), time.time_ns(), scheduler=True)
    try:
        waited(plane.begin())
        with closing(LoopThread("admin")) as admin:
            cluster = Cluster(_files(plane, place), admin, agent)
            with closing(cluster.lines):
                yield cluster
                agent.take_down()
    finally:
        waited(plane.end())
        loop.call_soon_threadsafe(loop.stop)


def _files(plane: ControlPlane, place: Path) -> Plane:
    admin, node = str(place / "admin.kubeconfig"), str(place / "node.kubeconfig")
    plane.write_kubeconfig(admin, *ADMIN)
    plane.write_kubeconfig(node, f"system:node:{NODE}", "system:nodes")
    return Plane(admin, {NODE: node}, plane.files.authority)
