"""A simulated cluster that runs: a world, its pace, its API server, and the orders that it obeys.

All of it lives on one event loop. `child.py` passes on orders from a pipe, `control_port.py` orders over HTTP. A real
kube-controller-manager may work beside it. Once that has ended by itself, every order is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.kernel import PoolDispatcher
from runtime.io.event_loop import LoopThread
from simulation.apiserver.http_front import Clients, HttpFront
from simulation.apiserver.requests import ADMIN
from simulation.apiserver.tls import Authority
from simulation.cluster import orders
from simulation.cluster.agents import ClusterAgents
from simulation.cluster.applied import apply
from simulation.cluster.auto_time import AUTO
from simulation.cluster.clients import AutoClients, SteppedClients
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.orders import Begin, OrderError, ns_of, pause_of, speed_of, start_of
from simulation.cluster.pace import AutoPace, Pace
from simulation.cluster.reset import Beginning
from simulation.cluster.users import Users
from simulation.controllers.node_lifecycle import NodeLifecycle
from simulation.planes import arguments
from simulation.planes.binaries import PlaneError, controller_manager_at
from simulation.planes.programs import Programs

NODES_READY_WITHIN_NS = 120 * 10**9
RESET_WITHIN_S = 120

Json = dict[str, Any]


class RunningCluster:
    """`kubeconfig`: the path to write it to. `port`: that of the API server; 0: any free one.

    `directory`: for keys and the kubeconfigs of users; the caller removes it.
    """

    def __init__(self, begin: Begin, loop: LoopThread, kubeconfig: str, directory: str, *, port: int = 0) -> None:
        self._time = begin.time
        self._speed = speed_of(begin.time)
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
            raise OrderError("controller_manager works in real time, and stepped time stands still; take time `real`")
        self._programs = Programs()
        self._scheduler = begin.scheduler
        # Clients of Kubernetes show their tokens over TLS alone.
        self._authority = Authority(_wall_ns()) if begin.rbac else None
        self._webhook_services: dict[str, str] = {}
        self._front = HttpFront(
            self.world.server,
            loop,
            port=port,
            tls=None if self._authority is None else self._authority.server_context(Path(directory) / "pki"),
            agents=ClusterAgents(self.world, clients),
            clients=clients,
            webhook_services=self._webhook_services,
        )
        self._directory = directory
        self._users: Users | None = None
        self._kubeconfig = kubeconfig
        self._pace: Pace | None = None
        self._runner: asyncio.Task[None] | None = None
        self._ready_ns = 0
        self._beginning: Beginning | None = None

    async def begin(self) -> Json:
        """Let the nodes become ready at full speed; then run at the wanted speed."""
        world = self.world
        if self._start_ns is not None:
            world.dispatcher.wall_offset_ns = self._start_ns
        elif self._speed:
            world.dispatcher.wall_offset_ns = _wall_ns()
        for node in world.nodes.values():
            node.start()
        if self._scheduler:
            world.scheduler.start()
        NodeLifecycle(world.server, world.dispatcher).start()
        world.dispatcher.run_until(lambda: world.ready_nodes() >= len(world.nodes), NODES_READY_WITHIN_NS)
        if world.ready_nodes() < len(world.nodes):
            raise OrderError("the nodes did not become ready")
        world.dispatcher.run_until(world.is_untainted, NODES_READY_WITHIN_NS)
        self._ready_ns = world.now_ns()
        self._beginning = Beginning(world.server)
        await self._front.serve()
        authority = "" if self._authority is None else self._authority.certificate
        self._users = users = Users(world.server, self._directory, self._front.url, authority)
        users.write(self._kubeconfig, *(("admin", world.server.admit(ADMIN)) if authority else ()))
        clock = asyncio.get_running_loop().time
        if self._auto is not None:
            self._pace = AutoPace(world.dispatcher, self._auto, clock)
        else:
            self._pace = Pace(world.dispatcher, self._speed, clock)
        self._runner = asyncio.create_task(self._pace.run())
        if self._controller_manager:
            await self._start(arguments.workload_controllers(self._controller_manager, self._kubeconfig))
        return self.facts()

    async def _start(self, words: list[str]) -> None:
        """Start a program. Raises OrderError."""
        try:
            await self._programs.start(words)
        except PlaneError as error:
            raise OrderError(str(error)) from None

    def facts(self) -> Json:
        """What a client needs to find the cluster, and the names of its nodes."""
        nodes = list(self.world.nodes)
        where = {"kubeconfig": self._kubeconfig, "url": self._front.url}
        return {"time": self._time, "speed": self._speed, **where, "nodes": nodes}

    async def end(self) -> None:
        await self._programs.end()
        if self._runner is not None:
            self._runner.cancel()
        await self._front.end()

    async def obey(self, order: orders.Order) -> Json:
        """The answer to an order. Raises OrderError."""
        try:
            return await self._obey(order)
        finally:
            if self._auto is not None:
                self._auto.order_answered()

    async def _obey(self, order: orders.Order) -> Json:
        assert self._pace is not None
        if fault := self._programs.fault():
            raise OrderError(fault)
        if isinstance(order, orders.Step):
            await self._pace.leap(ns_of(order.time))
        elif isinstance(order, orders.Wait):
            await self._pace.wait(ns_of(order.time))
        elif isinstance(order, orders.Reset):
            await self._reset()
        elif isinstance(order, orders.ActAs):
            assert self._users is not None
            return {"kubeconfig": self._users.act_as(order.user, order.groups)}
        elif isinstance(order, orders.ServeWebhook):
            self._webhook_services[order.service] = order.url
        elif isinstance(order, orders.Limit):
            return {**self._now(), "until": self._seconds(self.world.now_ns() + ns_of(order.time))}
        else:
            operation = self._OPERATIONS.get(type(order))
            if operation is None:
                raise OrderError("the cluster has begun")
            return operation(self.world, order) or self._now()
        return self._now()

    async def _reset(self) -> None:
        """Raises OrderError when something does not go within two minutes of the cluster's time."""
        assert self._pace is not None
        assert self._beginning is not None
        self.world.as_at_first()
        for _ in range(RESET_WITHIN_S):
            self._beginning.delete_newcomers()
            await self._pace.leap(10**9)
            if self._beginning.is_back() and self._controller_manager:
                # A real second: it may have made more before it saw that the owner is gone.
                await self._pace.wait(int(self._speed * 10**9))
            if self._beginning.is_back() and self.world.ready_nodes() == len(self.world.nodes):
                return
        raise OrderError(f"the cluster is not as it began after {RESET_WITHIN_S} s of its time")

    def _now(self) -> Json:
        return {"seconds": self._seconds(self.world.now_ns())}

    def _seconds(self, ns: int) -> float:
        return (ns - self._ready_ns) / 1e9

    _OPERATIONS: dict[type[Any], Callable[[ClusterWorld, Any], Json | None]] = {
        orders.Now: lambda world, order: None,
        orders.Behave: lambda world, order: world.behave(order),
        orders.Unmatched: lambda world, order: {"unmatched": world.unmatched()},
        orders.Apply: lambda world, order: {"applied": apply(world.server, order.path, order.namespace)},
        orders.Explain: lambda world, order: {"text": world.explain(order.namespace, order.pod)},
        orders.Troubles: lambda world, order: {"pods": world.troubles()},
        orders.Exit: lambda world, order: world.exit(order),
        orders.Hang: lambda world, order: world.hang(order),
        orders.Say: lambda world, order: world.say(order),
        orders.StartLoad: lambda world, order: world.load(order),
        orders.Scale: lambda world, order: world.scale(order),
        orders.CountReady: lambda world, order: {"ready": world.count_ready(order.namespace, order.name)},
        orders.AddNodes: lambda world, order: {"nodes": world.add_nodes(order.count)},
        orders.KillNode: lambda world, order: world.kill_node(order.node),
        orders.StartNode: lambda world, order: world.start_node(order.node),
        orders.KillAgent: lambda world, order: world.kill_agent(order.node, ns_of(order.away)),
        orders.PauseAgent: lambda world, order: world.pause_agent(order.node, ns_of(order.lasts)),
        orders.CutNetwork: lambda world, order: world.cut_network(order.node, ns_of(order.lasts)),
        orders.Befall: lambda world, order: world.befall(order.fault),
        orders.Heal: lambda world, order: world.heal(),
    }


def _wall_ns() -> int:
    """The real time of day: clients of the cluster have no other."""
    dispatcher = PoolDispatcher(1)
    try:
        return dispatcher.wall_ns()
    finally:
        dispatcher.close()
