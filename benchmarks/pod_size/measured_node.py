"""A node in virtual time whose turns are measured: who has worked how much, and on what.

A turn is one message of an actor, or a part of it between two waits. Calls on lanes are turns of their own. The
simulated runtime and the API server are measured apart: they are no part of the agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from actors.kernel import SimulatedDispatcher
from actors.kernel.dispatcher import Runnable
from benchmarks.pod_size.large_pods import CONFIG_MAP, IMAGE, Body
from benchmarks.pod_size.ledger import RUNTIME, WORLD, Clock, Ledger
from config.kubelet import KubeletConfiguration
from runtime.api import ApiLines
from runtime.cri import Cri
from simulation.apiserver.core import Options
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.requests.answers import JsonAnswer, ListAnswer, ObjectAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.cri import Settings
from simulation.host.facts import MAX_PODS
from simulation.node.simulated_node import SimulatedNode

MS = 10**6
SECOND = 10**9
NAMESPACE = "/api/v1/namespaces/default"
CONFIGURATION = KubeletConfiguration(cluster_dns=("10.96.0.10",), cluster_domain="cluster.local", max_pods=MAX_PODS)


class _Turn:
    """A turn of a cell."""

    def __init__(self, cell: Runnable, dispatcher: _MeasuredDispatcher) -> None:
        self._cell = cell
        self._dispatcher = dispatcher
        self.path = cell.path
        self.slice_since_ns = cell.slice_since_ns

    def run(self, turns: int = 1) -> None:
        cell: Any = self._cell
        dispatcher = self._dispatcher
        with dispatcher.ledger.turn(cell.actor_class.__name__) as purpose:
            dispatcher.handled = ""
            self._cell.run(turns)
            purpose.append(dispatcher.handled if cell.task is None else cell.task.label)


class _MeasuredLane:
    def __init__(self, lane: Any, dispatcher: _MeasuredDispatcher) -> None:
        self._lane = lane
        self._dispatcher = dispatcher

    def submit(self, key: Hashable, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return self._lane.submit(key, self._measured, fn, *args, **options)

    def _measured(self, fn: Callable[..., Any], *args: Any) -> Any:
        with self._dispatcher.ledger.turn(f"lane {self._lane.name}"):
            return fn(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lane, name)


class _MeasuredDispatcher(SimulatedDispatcher):
    def __init__(self, clock: Clock) -> None:
        super().__init__(1)
        self.ledger = Ledger(clock)
        self.handled = ""
        """The type of the last message that was handled."""

    def enqueue(self, cell: Runnable) -> None:
        super().enqueue(_Turn(cell, self))

    def lane(self, name: str, **options: int) -> Any:
        return _MeasuredLane(super().lane(name, **options), self)

    def step(self, until_ns: int | None = None) -> bool:
        with self.ledger.turn(WORLD):
            return super().step(until_ns)


class _MeasuredCri:
    def __init__(self, cri: Cri, dispatcher: _MeasuredDispatcher) -> None:
        self._cri = cri
        self._dispatcher = dispatcher

    def call(self, verb: Any, request: Any, **options: Any) -> Any:
        with self._dispatcher.ledger.turn(RUNTIME):
            return self._cri.call(verb, request, **options)

    def stream(self, *args: Any) -> Any:
        return self._cri.stream(*args)


class _MeasuredNode(SimulatedNode):
    dispatcher: _MeasuredDispatcher

    def reach(self, cri: Cri) -> Cri:
        return _MeasuredCri(cri, self.dispatcher)


class MeasuredCluster:
    """An API server and one node, whose agent has started. `manifests`: of static pods."""

    def __init__(self, clock: Clock, manifests: Mapping[str, str] | None = None) -> None:
        self._clock = clock
        self.dispatcher = _MeasuredDispatcher(clock)
        self._server = ApiServer(self.dispatcher, Options(node_grace_ns=0))
        api = InProcessApi(self.dispatcher, self._server, latency_ns=2 * MS)
        self.node = _MeasuredNode(
            self.dispatcher,
            manifests=manifests,
            api=ApiLines(api, api, api),
            settings=Settings(images=(IMAGE,)),
            configuration=CONFIGURATION,
            trace=self._traced,
        )
        self.node.start()
        self.ask("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": CONFIG_MAP}, "data": {"key": "value"}})
        self.dispatcher.run_for(10 * SECOND)

    def _traced(self, now_ns: int, path: str, message: str, outcome: str) -> None:
        self.dispatcher.handled = message.partition("(")[0]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API server. Raises RuntimeError if it refuses."""
        data = b"" if body is None else json.dumps(body).encode()
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = self._server.handle(ApiRequest(method, path, (), data, kind))
        assert isinstance(answer, ObjectAnswer | ListAnswer | JsonAnswer)
        if answer.code >= 300:
            raise RuntimeError(answer.body()[:1000].decode())
        return json.loads(answer.body())

    def measured(self, seconds: int, *asked: Any) -> Ledger:
        """Ask that of the API server, and let so much virtual time pass. What that took."""
        ledger = self.dispatcher.ledger = Ledger(self._clock)
        if asked:
            self.ask(*asked)
        self.dispatcher.run_for(seconds * SECOND)
        return ledger

    # --- the life of a pod ------------------------------------------------------------------------------------------

    def start(self, pod: Body, seconds: int = 20) -> Ledger:
        """Create the pod, and let it start."""
        return self.measured(seconds, "POST", f"{NAMESPACE}/pods", pod)

    def update(self, name: str) -> Ledger:
        """Change a label of the pod."""
        return self.measured(10, "PATCH", f"{NAMESPACE}/pods/{name}", {"metadata": {"labels": {"changed": "yes"}}})

    def end(self, name: str, seconds: int = 20) -> Ledger:
        """Delete the pod, and let it end."""
        return self.measured(seconds, "DELETE", f"{NAMESPACE}/pods/{name}", {})

    def status(self, name: str) -> dict[str, Any]:
        """The status that the API shows."""
        found: dict[str, Any] = self.ask("GET", f"{NAMESPACE}/pods/{name}")["status"]
        return found
