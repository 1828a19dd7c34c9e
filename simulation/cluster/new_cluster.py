"""Which cluster the first order asks for."""

from __future__ import annotations

from runtime.io.event_loop import LoopThread
from simulation.cluster.embedded_cluster import EmbeddedCluster
from simulation.cluster.orders import Begin
from simulation.cluster.plane_cluster import PlaneCluster
from simulation.cluster.running_cluster import RunningCluster


def new_cluster(begin: Begin, loop: LoopThread, kubeconfig: str, directory: str, *, port: int = 0) -> RunningCluster:
    """A cluster that has not begun. Arguments as of `EmbeddedCluster`. Raises OrderError."""
    made = PlaneCluster if begin.control_plane else EmbeddedCluster
    return made(begin, loop, kubeconfig, directory, port=port)
