"""The world behind a cluster with a real control plane.

Its agents reach that over HTTPS, each as its own node. What the kit knows of pods, nodes and events is in a copy of the
real server's (`Mirror`), so all orders about them work as in any `ClusterWorld`. The addresses of
nodes exist nowhere: the server reaches the agents through a `Door`.
"""

from __future__ import annotations

from dataclasses import replace

from runtime.api.client import ApiClient
from runtime.api.connections import ApiConnections
from runtime.dra.capability import ClaimDevice, ClaimRef
from runtime.io.event_loop import LoopThread
from simulation.apiserver.core import Options
from simulation.chance.call_faults import Faults
from simulation.chance.network import NetworkLink
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.orders import Begin, FailRequests, OrderError
from simulation.planes.control_plane import ControlPlane
from simulation.planes.mirror import FOLLOWED, FOR_DRIVERS, Mirror
from simulation.planes.remote import USER_AGENT, access_of
from simulation.planes.remote_api import RemoteApi


class PlaneWorld(ClusterWorld):
    """See the module. `plane` has begun. `loop`: the one that runs the world."""

    server: Mirror

    def __init__(self, begin: Begin, loop: LoopThread, plane: ControlPlane) -> None:
        self._plane = plane
        self._loop = loop
        self._connections: list[ApiConnections] = []
        super().__init__(begin)

    def new_server(self, options: Options) -> Mirror:
        lenient = replace(options, authorization="AlwaysAllow", garbage_collection=False)
        followed = {**FOLLOWED, **FOR_DRIVERS} if self.has_drivers else FOLLOWED
        return Mirror(self.dispatcher, lenient, self._plane.remote, followed)

    def devices_given(self, driver: str, claim: ClaimRef) -> tuple[ClaimDevice, ...]:
        found = super().devices_given(driver, claim)
        if not found:  # the agent has asked the server itself; the copy is a moment behind it
            raise LookupError(f"driver {driver} does not see devices in claim {claim.namespace}/{claim.name} yet")
        return found

    def new_api(self, name: str, faults: Faults | None, link: NetworkLink) -> RemoteApi:
        plane = self._plane
        shown = plane.certificate_of(f"system:node:{name}", "system:nodes")
        connections = ApiConnections(
            access_of(plane.url, plane.authority.certificate, shown), USER_AGENT, environment={}
        )
        self._connections.append(connections)
        return RemoteApi(self.dispatcher, ApiClient(connections, self._loop), faults=faults, link=link)

    def fail_requests(self, order: FailRequests) -> None:
        raise OrderError("clients ask a real control plane without the kit; take the embedded API server for that")

    async def close(self) -> None:
        """End the connections of all agents."""
        for connections in self._connections:
            await connections.close()
