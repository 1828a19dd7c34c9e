"""A running cluster whose API server is a real one: simulated nodes on etcd and kube-apiserver.

Its time is real. What the folder of programs lacks is done by the kit: scheduling without a kube-scheduler, taints and
evictions of dead nodes without a kube-controller-manager. Once etcd or the API server has ended by itself, every order
is refused. Controllers and scheduler begin again, and `troubles` says so.
"""

from __future__ import annotations

import asyncio
import os

from config.credentials.kubeconfig import Pem, kubeconfig_document
from runtime.files.whole_file import write_whole
from runtime.io.event_loop import LoopThread, leave_to_others
from simulation.apiserver.access.authentication import ACCOUNT_PREFIX
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.verbs.token_request import LONGEST_S
from simulation.cluster.agents import ClusterAgents
from simulation.cluster.orders import Begin, OrderError
from simulation.cluster.pace import Pace
from simulation.cluster.plane_world import PlaneWorld
from simulation.cluster.remote_apply import apply
from simulation.cluster.running_cluster import NODES_READY_WITHIN_NS, RunningCluster, wall_ns
from simulation.controllers.node_lifecycle import NodeLifecycle
from simulation.planes.binaries import PlaneError, controller_manager_at, find_binaries
from simulation.planes.control_plane import ADMIN, ControlPlane
from simulation.planes.door import Door
from simulation.planes.remote import RemoteError

LOOKS_EVERY_S = 0.05


class PlaneCluster(RunningCluster):
    """`port`: that of the API server; 0: any free one.

    `directory`: for the files of the programs and the kubeconfigs of users; the caller removes it.
    """

    world: PlaneWorld

    def __init__(self, begin: Begin, loop: LoopThread, kubeconfig: str, directory: str, *, port: int = 0) -> None:
        super().__init__(kubeconfig, begin.time)
        if begin.time != "real" or begin.start or begin.pause:
            raise OrderError(
                "a real control plane knows real time only; leave out start and pause, and time, or write time=`real`"
            )
        try:
            binaries = find_binaries(begin.control_plane)
            if begin.controller_manager:
                binaries = binaries._replace(controller_manager=controller_manager_at(begin.controller_manager))
        except PlaneError as error:
            raise OrderError(str(error)) from None
        if begin.dra_drivers and not (binaries.scheduler and binaries.controller_manager):
            lacking = f"dra_drivers need a kube-scheduler and a kube-controller-manager in {begin.control_plane}"
            raise OrderError(f"{lacking}: these allocate claims and make them from templates")
        self._orders = begin
        self._loop = loop
        self._directory = directory
        self._plane = ControlPlane(
            binaries, os.path.join(directory, "plane"), wall_ns(), scheduler=begin.scheduler, port=port
        )
        self._door: Door | None = None
        self._users = 0

    @property
    def url(self) -> str:
        return self._plane.url

    @property
    def certificate_authority(self) -> str:
        return self._plane.files.authority

    def fault(self) -> str:
        return self._plane.fault()

    def ended(self) -> tuple[str, ...]:
        return self._plane.ended()

    async def _begin(self) -> None:
        plane = self._plane
        try:
            await plane.begin()
            self.world = world = PlaneWorld(self._orders, self._loop, plane)
            await world.server.begin()
        except (PlaneError, RemoteError, ValueError) as error:
            raise OrderError(str(error)) from None
        world.dispatcher.wall_offset_ns = wall_ns()
        self._door = Door(
            ClusterAgents(world, Clients()),
            world.nodes.__contains__,
            plane.authority,
            plane.files.door,
            plane.files.at("nodes"),
        )
        try:
            self._door.open()
        except OSError as error:
            raise OrderError(f"the socket {plane.files.door} for agents cannot be opened: {error}") from None
        self._run(Pace(world.dispatcher, self._speed, asyncio.get_running_loop().time))
        for node in world.nodes.values():
            node.start()
        if self._orders.scheduler and not plane.has_scheduler:
            world.scheduler.start()
        if not plane.has_controllers:
            NodeLifecycle(world.server, world.dispatcher).start()
        while world.ready_nodes() < len(world.nodes) or not world.is_untainted():
            if fault := self.fault():
                raise OrderError(fault)
            if world.now_ns() > NODES_READY_WITHIN_NS:
                raise OrderError("the nodes did not become ready")
            await leave_to_others(LOOKS_EVERY_S)
        world.begin_drivers()
        self._ready_ns = world.now_ns()
        plane.write_kubeconfig(self._kubeconfig, *ADMIN)

    async def end(self) -> None:
        self._stand_still()
        if self._door is not None:
            await self._door.close()
        if hasattr(self, "world"):
            await self.world.server.end()
            await self.world.close()
        await self._plane.end()

    async def _act_as(self, user: str, groups: tuple[str, ...]) -> str:
        self._users += 1
        path = os.path.join(self._directory, f"user-{self._users}.kubeconfig")
        if not user.startswith(ACCOUNT_PREFIX):
            self._plane.write_kubeconfig(path, user, *groups)
            return path
        namespace, _, account = user.removeprefix(ACCOUNT_PREFIX).partition(":")
        if groups or not namespace or not account:
            raise OrderError(f"{user!r} is not a service account; write {ACCOUNT_PREFIX}NAMESPACE:NAME, and no groups")
        where = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        try:
            answer = await self._plane.remote.ask("POST", where, {"spec": {"expirationSeconds": LONGEST_S}})
        except RemoteError as error:
            raise OrderError(f"there is no token for {user}: {error}; create the account first") from None
        authority = Pem(data=self._plane.authority.certificate)
        document = kubeconfig_document(
            self.url, name="actorlet", user=user, token=answer["status"]["token"], certificate_authority=authority
        )
        write_whole(path, document, lasting=False)
        return path

    async def _apply(self, path: str, namespace: str) -> list[str]:
        return await apply(self._plane.remote, path, namespace)

    async def _step(self, ns: int) -> None:
        raise OrderError("the time of a real control plane passes by itself; use `until`, or `wait` over HTTP")

    async def _reset(self) -> None:
        raise OrderError("a real control plane is not reset; delete what you have made, or begin another cluster")

    def _serve_webhook(self, service: str, url: str) -> None:
        raise OrderError("a real control plane calls webhooks at their own `url`; give them one on 127.0.0.1")
