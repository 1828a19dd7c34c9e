"""A running cluster whose API server is the embedded one, in this process.

Its time is that of its world: it stands still, runs at any speed, and leaps. A real kube-controller-manager may work
beside it. If that ends by itself, it begins again, and `troubles` says so. Once it ends at every beginning, every order
is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from runtime.io.event_loop import LoopThread
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.requests.answers import Answer
from simulation.apiserver.requests.calls import ADMIN, ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.cluster import circumstances
from simulation.cluster.agents import ClusterAgents
from simulation.cluster.applied import apply
from simulation.cluster.auto_time import AUTO
from simulation.cluster.clients import AutoClients, SteppedClients
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.heard import HeardClients
from simulation.cluster.operator_bench import OperatorBench
from simulation.cluster.operator_orders import OperatorOrder
from simulation.cluster.orders import Begin, Order, OrderError, pause_of, start_of
from simulation.cluster.pace import AutoPace, Pace
from simulation.cluster.reset import Beginning
from simulation.cluster.running_cluster import NODES_READY_WITHIN_NS, Json, RunningCluster, wall_ns
from simulation.cluster.users import Users
from simulation.controllers.node_lifecycle import NodeLifecycle
from simulation.planes import arguments
from simulation.planes.binaries import PlaneError, controller_manager_at
from simulation.planes.programs import Programs

RESET_WITHIN_S = 120


class EmbeddedCluster(RunningCluster):
    """`port`: that of the API server; 0: any free one.

    `directory`: for keys and the kubeconfigs of users; the caller removes it.
    """

    def __init__(self, begin: Begin, loop: LoopThread, kubeconfig: str, directory: str, *, port: int = 0) -> None:
        super().__init__(kubeconfig, begin.time)
        pause_s = pause_of(begin.pause, begin.time)
        self._auto = AutoClients(pause_s) if begin.time == AUTO else None
        clients = self._auto or (Clients() if self._speed else SteppedClients())
        self._start_ns = start_of(begin.start)
        try:
            self._controller_manager = controller_manager_at(begin.controller_manager)
            self.world = ClusterWorld(begin)
        except (PlaneError, ValueError) as error:
            raise OrderError(str(error)) from None
        if self._controller_manager and not self._speed:
            raise OrderError(
                "controller_manager works in real time, and stepped time stands still; take time `auto`, or `real`"
            )
        self._programs = Programs()
        self._scheduler = begin.scheduler
        if begin.rbac and not begin.tls:
            raise OrderError("clients of Kubernetes show their tokens over TLS alone: with rbac, leave TLS on")
        self._authority = Authority(wall_ns()) if begin.tls else None
        self._keys = Path(directory) / "pki"
        self._webhook_services: dict[str, str] = {}
        self._clients = clients
        self._heard = HeardClients(self.world.now_ns)
        self._front = HttpFront(
            self.world.server,
            loop,
            port=port,
            tls=None if self._authority is None else self._authority.server_context(self._keys),
            agents=ClusterAgents(self.world, clients),
            clients=clients,
            webhook_services=self._webhook_services,
            between=self._between,
        )
        self._directory = directory
        self._users: Users | None = None
        self._beginning: Beginning | None = None
        self._bench: OperatorBench | None = None

    @property
    def url(self) -> str:
        return self._front.url

    @property
    def certificate_authority(self) -> str:
        return "" if self._authority is None else str(self._keys / "ca.crt")

    def fault(self) -> str:
        return self._programs.fault()

    def ended(self) -> tuple[str, ...]:
        return (*self._programs.ended(), *(() if self._bench is None else self._bench.ended()))

    async def _begin(self) -> None:
        """Let the nodes become ready at full speed; then run at the wanted speed."""
        world = self.world
        if self._start_ns is not None:
            world.dispatcher.wall_offset_ns = self._start_ns
        elif self._speed:
            world.dispatcher.wall_offset_ns = wall_ns()
        for node in world.nodes.values():
            node.start()
        if self._scheduler:
            world.scheduler.start()
        world.resource_claims.start()
        NodeLifecycle(world.server, world.dispatcher).start()
        world.dispatcher.run_until(lambda: world.ready_nodes() >= len(world.nodes), NODES_READY_WITHIN_NS)
        if world.ready_nodes() < len(world.nodes):
            raise OrderError("the nodes did not become ready")
        world.dispatcher.run_until(world.is_untainted, NODES_READY_WITHIN_NS)
        world.begin_drivers()
        self._ready_ns = world.now_ns()
        self._beginning = Beginning(world.server, world.is_of_a_driver)
        self._bench = OperatorBench(world, self._clients, self._step, self._act_as, self._beginning)
        await self._front.serve()
        authority = "" if self._authority is None else self._authority.certificate
        self._users = users = Users(world.server, self._directory, self._front.url, authority)
        users.write(self._kubeconfig, *(("admin", world.server.admit(ADMIN)) if authority else ()))
        clock = asyncio.get_running_loop().time
        if self._auto is not None:
            self._run(AutoPace(world.dispatcher, self._auto, clock))
        else:
            self._run(Pace(world.dispatcher, self._speed, clock))
        if self._controller_manager:
            try:
                await self._programs.keep(arguments.workload_controllers(self._controller_manager, self._kubeconfig))
            except PlaneError as error:
                raise OrderError(str(error)) from None

    async def obey(self, order: Order) -> Json:
        try:
            return await super().obey(order)
        finally:
            if self._auto is not None:
                self._auto.order_answered()

    async def change(self, operation: Callable[[ApiServer], object]) -> None:
        """Change objects as a user does. Raises what `operation` raises."""
        if self._bench is not None:
            self._bench.user_changes()
        operation(self.world.server)

    async def end(self) -> None:
        if self._bench is not None:
            await self._bench.end()
        await self._programs.end()
        self._stand_still()
        await self._front.end()

    async def _between(self, asked: ApiRequest, agent: str, answer: Callable[[], Awaitable[Answer]]) -> Answer:
        """Between clients over HTTP and the server: requests are remembered, and fail by order."""
        failing, bench = self.world.failing, self._bench

        async def fail_or_answer() -> Answer:
            return await failing.answer(self._clients, asked, agent, answer)

        through = fail_or_answer if bench is None else lambda: bench.answer(asked, agent, fail_or_answer)
        return await self._heard.hear(asked, agent, through)

    def _look(self) -> Json:
        objects = self._beginning.newcomers() if self._beginning is not None else []
        gone_without = circumstances.missing(objects, has_manager=bool(self._controller_manager))
        return {
            "found": list(circumstances.found(objects)),
            "missing": list(gone_without),
            "clients": list(self._heard.lines()),
        }

    async def _act_as(self, user: str, groups: tuple[str, ...]) -> str:
        assert self._users is not None
        return self._users.act_as(user, groups)

    async def _of_operators(self, order: OperatorOrder) -> Json:
        assert self._bench is not None
        return await self._bench.obey(order)

    async def _apply(self, path: str, namespace: str) -> list[str]:
        if self._bench is not None:
            self._bench.user_changes()
        return apply(self.world.server, path, namespace)

    async def _step(self, ns: int) -> None:
        assert self._pace is not None
        await self._pace.leap(ns)

    def _serve_webhook(self, service: str, url: str) -> None:
        self._webhook_services[service] = url

    async def _reset(self) -> None:
        """Raises OrderError when something does not go within two minutes of the cluster's time."""
        assert self._pace is not None
        assert self._beginning is not None
        if self._bench is not None:
            await self._bench.end()
        self.world.as_at_first()
        self._heard.forget()
        for _ in range(RESET_WITHIN_S):
            self._beginning.delete_newcomers()
            await self._pace.leap(10**9)
            if self._beginning.is_back() and self._controller_manager:
                # A real second: it may have made more before it saw that the owner is gone.
                await self._pace.wait(int(self._speed * 10**9))
            if self._beginning.is_back() and self.world.ready_nodes() == len(self.world.nodes):
                return
        raise OrderError(f"the cluster is not as it began after {RESET_WITHIN_S} s of its time")
