"""Which cluster the first order asks for."""

from __future__ import annotations

from runtime.io.event_loop import LoopThread
from simulation.cluster.embedded_cluster import EmbeddedCluster
from simulation.cluster.orders import Begin
from simulation.cluster.plane_cluster import PlaneCluster
from simulation.cluster.running_cluster import RunningCluster

RINGS_AFTER_OBJECTS = 2_000_000
"""How many new objects start a pass of the garbage collector in the process of a cluster.

That is more than 5,000 running pods need. Failed calls leave their tracebacks in rings: at most some 300 MB until then.
"""


def new_cluster(begin: Begin, loop: LoopThread, kubeconfig: str, directory: str, *, port: int = 0) -> RunningCluster:
    """A cluster that has not begun. Arguments as of `EmbeddedCluster`. Raises OrderError."""
    made = PlaneCluster if begin.control_plane else EmbeddedCluster
    return made(begin, loop, kubeconfig, directory, port=port)
