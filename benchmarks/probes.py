"""How late probes are: many runners on real threads.

The servers run in another process on this machine.

    python -m benchmarks.probes [--kind http] [--kind tcp] [--kind grpc] [--rate 1000] [--hanging 0.1] [--seconds 10]

Each pod has one probe with a period of one second; their due times are spread evenly. Some of them ask a server that
accepts the connection and never answers; they ask again at once. For the others, `late_ms` is the time from when a
check was due to the call of the prober. `answer_ms` is the time from there to its answer, including the loop. The
servers share the cores of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any, TypeVar

import psutil

from actors.kernel import Actor, ActorSystem, PoolDispatcher, handles
from actors.messages.events import RecordEvent
from actors.messages.history import NoteHistory
from actors.messages.probes import ContainersSeen, ProbeRunnerStarted, ProbesJudged, RunningContainer
from actors.pod.services import NodeFacts, PodServices
from actors.probes.runner import ProbeRunner
from actors.start.cri_configs import ContainerNodeRules
from config.kubelet import KubeletConfiguration, crash_loop_periods
from config.kubelet.feature_gates import FeatureGates
from config.objects import (
    Container,
    GRPCAction,
    HTTPGetAction,
    ObjectMeta,
    Pod,
    PodSpec,
    Probe,
    TCPSocketAction,
)
from runtime.cri.transport import grpc
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.probes import Check, ProbeAnswer, ProbeOutcome
from runtime.probes.health_v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from runtime.probes.prober import NetworkProber
from simulation.cri import SimulatedCri
from simulation.host.host import SimulatedHost

T = TypeVar("T")
HOST = "127.0.0.1"
PERIOD_NS = 1_000_000_000
SLACK_NS = 1_000_000
WARM_UP_NS = 2_000_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


# --- the servers, a process of their own ------------------------------------------------------------------------------


class Web(asyncio.Protocol):
    """Says yes to whatever comes first."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(OK)
        self._transport.close()


class Silence(asyncio.Protocol):
    """Takes the connection and says nothing."""


def serve() -> None:
    """Print the ports of a web server, a gRPC server and a silent one; serve until killed."""
    health = grpc.server(ThreadPoolExecutor(4))
    check = grpc.unary_unary_rpc_method_handler(
        lambda request, context: HealthCheckResponse(status=HealthCheckResponse.SERVING),
        request_deserializer=HealthCheckRequest.FromString,
        response_serializer=HealthCheckResponse.SerializeToString,
    )
    handler = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check})
    health.add_generic_rpc_handlers((handler,))
    grpc_port = health.add_insecure_port(f"{HOST}:0")
    health.start()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        servers = [await loop.create_server(kind, HOST, 0, backlog=4096) for kind in (Web, Silence)]
        web, silent = (server.sockets[0].getsockname()[1] for server in servers)
        print(json.dumps({"http": web, "tcp": web, "grpc": grpc_port, "silent": silent}), flush=True)
        await asyncio.Event().wait()

    asyncio.run(run())


# --- the agent's side -------------------------------------------------------------------------------------------------


class Times:
    """What is measured. Lists are filled by several threads; `append` is whole."""

    def __init__(self) -> None:
        self.late_ns: list[int] = []
        self.answer_ns: list[int] = []
        self.outcomes: dict[ProbeOutcome, int] = dict.fromkeys(ProbeOutcome, 0)
        self.hung: dict[ProbeOutcome, int] = dict.fromkeys(ProbeOutcome, 0)
        self.from_ns = 0

    def began(self, due_ns: int) -> None:
        now_ns = time.monotonic_ns()
        if now_ns >= self.from_ns:
            # The due time came by way of the wall clock, and may be some microseconds off.
            self.late_ns.append(max(0, (now_ns - due_ns + SLACK_NS) % PERIOD_NS - SLACK_NS))


class TimedProber:
    """The prober that agents have, with a watch in its hand. Containers are named after their due time."""

    def __init__(self, cri: Any, loop: LoopThread, times: Times) -> None:
        self._inner = NetworkProber(cri, loop)
        self._times = times

    def probe(self, container_id: str, kind: str, check: Check, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
        asked_ns, times = time.monotonic_ns(), self._times
        if container_id.startswith("well"):
            times.began(int(container_id.partition(" ")[2]))
        pending = self._inner.probe(container_id, kind, check, timeout_ns)

        def ended(done: Any) -> None:
            if asked_ns < times.from_ns or done.cancelled():
                return
            if container_id.startswith("well"):
                times.outcomes[done.result(0).outcome] += 1
                times.answer_ns.append(time.monotonic_ns() - asked_ns)
            else:
                times.hung[done.result(0).outcome] += 1

        pending.add_done_callback(ended)
        return pending


class Listener(Actor):
    """The worker that a runner has."""

    @handles(ProbesJudged, ProbeRunnerStarted)
    def hear(self, _: Any) -> None:
        pass


class Nobody(Actor):
    """All the others: what they are told is lost."""

    @handles(RecordEvent, NoteHistory)
    def ignore(self, _: Any) -> None:
        pass


def services(system: ActorSystem, dispatcher: PoolDispatcher, loop: LoopThread, times: Times) -> PodServices:
    nobody, cri, configuration = system.spawn(Nobody, name="nobody"), SimulatedCri(dispatcher), KubeletConfiguration()
    given: dict[str, Any] = {
        "cri": cri,
        "prober": TimedProber(cri, loop, times),
        "files": SimulatedHost().pod_files,
        "node": NodeFacts("node", "/root", (HOST,), "simulated", 2, 2**30, ContainerNodeRules("/root")),
        "configuration": configuration,
        "crash_loop": crash_loop_periods(configuration, FeatureGates({})),
        "began_ns": dispatcher.now_ns() - 3600 * PERIOD_NS,
    }
    rest = (each.name for each in dataclasses.fields(PodServices) if each.default is dataclasses.MISSING)
    return PodServices(**{**dict.fromkeys(rest, nobody), **given})


def pod(kind: str, number: int, port: int) -> Pod:
    handlers: dict[str, dict[str, Any]] = {
        "http": {"http_get": HTTPGetAction(host=HOST, port=port, path="/healthz")},
        "tcp": {"tcp_socket": TCPSocketAction(host=HOST, port=port)},
        "grpc": {"grpc": GRPCAction(port=port)},
    }
    probe = Probe(initial_delay_seconds=3, period_seconds=1, timeout_seconds=1, failure_threshold=3, **handlers[kind])
    container = Container(name="app", image="app:1", readiness_probe=probe)
    return Pod(
        metadata=ObjectMeta(name=f"p{number}", namespace="default", uid=str(number)),
        spec=PodSpec(containers=(container,)),
    )


def measure(kind: str, rate: int, hanging: float, seconds: float, ports: dict[str, int]) -> dict[str, Any]:
    times, dispatcher = Times(), PoolDispatcher()
    with closing(LoopThread("probes")) as loop, ExitStack() as after:
        after.callback(dispatcher.close)
        system = ActorSystem(dispatcher)
        known = services(system, dispatcher, loop, times)
        worker = system.spawn(Listener, name="worker")
        begin_ns = dispatcher.now_ns() + PERIOD_NS + PERIOD_NS // 2
        ahead_ns = dispatcher.wall_ns() - dispatcher.now_ns()
        times.from_ns = begin_ns + WARM_UP_NS
        hung = round(rate * hanging)
        for number in range(rate):
            due_ns, silent = begin_ns + PERIOD_NS * number // rate, number * hung // rate != (number + 1) * hung // rate
            runner = system.spawn(ProbeRunner, worker, known, name=f"probes {number}")
            name = f"{'hang' if silent else 'well'} {due_ns}"
            running = RunningContainer("app", name, due_ns + ahead_ns - 3 * PERIOD_NS)
            runner.tell(ContainersSeen(pod(kind, number, ports["silent" if silent else kind]), (running,), HOST, False))
        process = psutil.Process()
        time.sleep((times.from_ns - dispatcher.now_ns()) / 1e9)
        cpu_seconds = sum(process.cpu_times()[:2])
        time.sleep(seconds)
        cpu_seconds = sum(process.cpu_times()[:2]) - cpu_seconds
        late_ns, answer_ns = sorted(times.late_ns), sorted(times.answer_ns)
        system.stop()
    return {
        "kind": kind,
        "rate": rate,
        "hanging": hanging,
        "probes_per_second": round(len(late_ns) / seconds),
        "late_ms": percentiles(late_ns),
        "answer_ms": percentiles(answer_ns),
        "outcomes": {each.value: count for each, count in times.outcomes.items() if count},
        "outcomes_of_hanging": {each.value: count for each, count in times.hung.items() if count},
        "cpu_us_per_probe": round(1e6 * cpu_seconds / max(1, len(late_ns))),
    }


def percentiles(sorted_ns: list[int]) -> dict[str, float]:
    if not sorted_ns:
        return {}
    last = len(sorted_ns) - 1
    return {
        name: round(sorted_ns[int(last * part)] / 1e6, 1) for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", nargs="?", choices=("server",), help=argparse.SUPPRESS)
    parser.add_argument("--kind", choices=("http", "tcp", "grpc"), action="append")
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--hanging", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    if options.role:
        serve()
        return
    words = [sys.executable, "-m", "benchmarks.probes", "server"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ports = json.loads(server.stdout.readline())
            for kind in options.kind or ("http", "tcp", "grpc"):
                print(json.dumps(measure(kind, options.rate, options.hanging, options.seconds, ports)), flush=True)
        finally:
            server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
