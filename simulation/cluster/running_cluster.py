"""A simulated cluster that runs: a world, its pace, its API server, and the orders that it obeys.

All of it lives on one event loop. `child.py` passes on orders from a pipe, `control_port.py` orders over HTTP. Which
API server it has, and how orders reach that, is for the subclasses: `EmbeddedCluster` and `PlaneCluster`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from actors.kernel import PoolDispatcher
from simulation.cluster import orders
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.operator_orders import OperatorOrder
from simulation.cluster.orders import OrderError, ns_of, speed_of
from simulation.cluster.pace import Pace

NODES_READY_WITHIN_NS = 120 * 10**9

Json = dict[str, Any]


class RunningCluster(ABC):
    """`kubeconfig`: the path to write it to."""

    world: ClusterWorld

    def __init__(self, kubeconfig: str, time: str) -> None:
        self._time = time
        self._speed = speed_of(time)
        self._kubeconfig = kubeconfig
        self._pace: Pace | None = None
        self._runner: asyncio.Task[None] | None = None
        self._ready_ns = 0

    async def begin(self) -> Json:
        """Return when the nodes are ready. Raises OrderError."""
        await self._begin()
        return self.facts()

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL of the API server."""

    @property
    @abstractmethod
    def certificate_authority(self) -> str:
        """The path of the certificate that vouches for the API server; empty without TLS."""

    @abstractmethod
    async def _begin(self) -> None:
        """Start everything."""

    @abstractmethod
    async def end(self) -> None:
        """End everything. Also for a cluster that did not begin."""

    @abstractmethod
    def fault(self) -> str:
        """The reason why orders are refused now; empty without one."""

    @abstractmethod
    def ended(self) -> tuple[str, ...]:
        """One line for each program of the cluster that has ended and begun again."""

    @abstractmethod
    async def _act_as(self, user: str, groups: tuple[str, ...]) -> str:
        """Write a kubeconfig, and return its path."""

    @abstractmethod
    async def _apply(self, path: str, namespace: str) -> list[str]:
        """Apply manifests; returns the names of the objects."""

    @abstractmethod
    async def _step(self, ns: int) -> None:
        """Let time pass at full speed."""

    @abstractmethod
    async def _reset(self) -> None:
        """Delete what has come since the beginning."""

    async def _of_operators(self, order: OperatorOrder) -> Json:
        """Run, settle and record operators; with a real control plane they are the caller's own."""
        raise OrderError(f"a real control plane does not {order.__struct_config__.tag} operators; leave it out")

    def _look(self) -> Json:
        """What there is, what is missing, and what clients ask; nothing of a real control plane."""
        return {"found": [], "missing": [], "clients": []}

    @abstractmethod
    def _serve_webhook(self, service: str, url: str) -> None:
        """Send the reviews for a service to that URL."""

    def facts(self) -> Json:
        """What a client needs to find the cluster, and the names of its nodes."""
        nodes = list(self.world.nodes)
        where = {"kubeconfig": self._kubeconfig, "url": self.url, "certificate_authority": self.certificate_authority}
        return {"time": self._time, "speed": self._speed, **where, "nodes": nodes}

    def _run(self, pace: Pace) -> None:
        """Let the world's time pass from now on."""
        self._pace = pace
        self._runner = asyncio.create_task(pace.run())

    def _stand_still(self) -> None:
        if self._runner is not None:
            self._runner.cancel()

    async def obey(self, order: orders.Order) -> Json:
        """The answer to an order. Raises OrderError."""
        assert self._pace is not None
        if fault := self.fault():
            raise OrderError(fault)
        if isinstance(order, orders.Step):
            await self._step(ns_of(order.time))
        elif isinstance(order, orders.Wait):
            await self._pace.wait(ns_of(order.time))
        elif isinstance(order, orders.Reset):
            await self._reset()
        elif isinstance(order, orders.Troubles):
            return {"programs": self.ended(), "pods": self.world.troubles()}
        elif isinstance(order, orders.Look):
            return self._look()
        elif isinstance(order, orders.Apply):
            return {"applied": await self._apply(order.path, order.namespace)}
        elif isinstance(order, orders.ActAs):
            return {"kubeconfig": await self._act_as(order.user, order.groups)}
        elif isinstance(order, OperatorOrder):
            return {**await self._of_operators(order), **self._now()}
        elif isinstance(order, orders.ServeWebhook):
            self._serve_webhook(order.service, order.url)
        elif isinstance(order, orders.Limit):
            return {**self._now(), "until": self._seconds(self.world.now_ns() + ns_of(order.time))}
        else:
            operation = self._OPERATIONS.get(type(order))
            if operation is None:
                raise OrderError("the cluster has begun")
            return operation(self.world, order) or self._now()
        return self._now()

    def _now(self) -> Json:
        return {"seconds": self._seconds(self.world.now_ns())}

    def _seconds(self, ns: int) -> float:
        return (ns - self._ready_ns) / 1e9

    _OPERATIONS: dict[type[Any], Callable[[ClusterWorld, Any], Json | None]] = {
        orders.Now: lambda world, order: None,
        orders.Behave: lambda world, order: world.behave(order),
        orders.Unmatched: lambda world, order: {"unmatched": world.unmatched()},
        orders.Explain: lambda world, order: {"text": world.explain(order.namespace, order.pod)},
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
        orders.FailRequests: lambda world, order: world.fail_requests(order),
        orders.Heal: lambda world, order: world.heal(),
    }


def wall_ns() -> int:
    """The real time of day: clients of the cluster have no other."""
    dispatcher = PoolDispatcher(1)
    try:
        return dispatcher.wall_ns()
    finally:
        dispatcher.close()
