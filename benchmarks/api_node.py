"""A burst of pods on one node of an API server: the time until all are Running.

Also what that costs the agent.

    python -m benchmarks.api_node [--pods 1000] [--qps 50] [--burst 100] [--tokens] [--rounds 3]

The API server is the embedded one, the runtime is simulated. The server, the agent and the creator of the pods are
three processes, and speak HTTP on loopback. `--qps -1` lifts the agent's limit. Pods are bound when they are created:
the benchmark measures the agent and not the scheduler. `--tokens` lets pods mount a token. A token is a request of its
own under the same limit, so a thousand tokens at 50 a second take 20 s.

Without options it runs the three cases of the project's goals: 1,000 pods at the default limit, 110 and 1,000 without.
Prints a line of JSON for each.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from time import perf_counter
from typing import Any

import psutil

from actors.kernel import PoolDispatcher
from actors.node.node import NodeAgent
from benchmarks.processes import process
from cli.run.command import give_memory_back
from cli.run.node_start import plan_of, this_machine
from cli.up.simulated_machine import simulated_capabilities
from config.api.resources import NODES, PODS
from config.credentials.kubeconfig import kubeconfig_document
from config.flags.command_line import parse_flags
from config.objects import Container, ObjectMeta, Pod, PodSpec
from config.start_configuration import load_kubelet_configuration
from runtime.api import Api, ApiCall, ApiError, ApiLines, WatchCall, WatchEvent, create, get, watch_objects
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.io.event_loop import LoopThread
from runtime.io.heap import collect_seldom, share_one_heap
from runtime.io.pending import PendingAnswer, Subscription
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.server import ApiServer
from simulation.cri import Settings

NODE = "bench"
LIMIT_SECONDS = 180.0
CASES = ((1000, 50, 100), (110, -1, 0), (1000, -1, 0))


class Counting:
    """An API server that counts its requests by verb and resource."""

    def __init__(self, api: Api, counts: Counter[str]) -> None:
        self._api = api
        self._counts = counts

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> PendingAnswer[Any]:
        """See `Api.call`."""
        self._counts[" ".join(call.verb.split()[:2])] += 1
        return self._api.call(call, timeout_ns=timeout_ns)

    def watch(self, call: WatchCall[Any], on_event: Callable[..., None], on_end: Callable[..., None]) -> Subscription:
        """See `Api.watch`."""
        return self._api.watch(call, on_event, on_end)


def agent(kubeconfig: str, qps: int, burst: int) -> None:
    """Run the agent until SIGTERM, then print the counted requests."""
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    share_one_heap()
    collect_seldom()
    counts: Counter[str] = Counter()
    with ExitStack() as after:
        root = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-bench-"))
        loop = after.enter_context(closing(LoopThread("api")))
        lines = after.enter_context(
            closing(api_lines(read_access(kubeconfig), loop, user_agent="actorlet bench", qps=qps, burst=burst))
        )
        counted = ApiLines(*(Counting(line, counts) for line in (lines.main, lines.leases, lines.events)))
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        give_memory_back(dispatcher)
        flags = [f"--pod-logs-dir={root}/log", "--max-pods=20000", "--cluster-dns=10.96.0.10"]
        start = load_kubelet_configuration(parse_flags(flags))
        plan = plan_of(start, this_machine(NODE), root, "simulated", f"{root}/log/containers")
        settings = Settings(images=("busybox:1.36",))
        node = NodeAgent(dispatcher, plan, simulated_capabilities(dispatcher, plan, loop, settings, counted))
        node.start()
        signal.sigwait(signals)
        node.stop()
    print(json.dumps(counts), flush=True)


def server(kubeconfig: str) -> None:
    """Run the API server until SIGTERM."""
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with ExitStack() as after:
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        loop = after.enter_context(closing(LoopThread("apiserver")))
        front = after.enter_context(closing(HttpFront(ApiServer(dispatcher), loop)))
        front.start()
        with open(kubeconfig, "wb") as file:
            file.write(kubeconfig_document(front.url))
        print(front.url, flush=True)
        signal.sigwait(signals)


class Arrivals:
    """How many pods the API shows as Running."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._running: set[str] = set()
        self.all_run = threading.Event()
        self.failure: ApiError | None = None

    def event(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        if pod is not None and pod.status is not None and pod.status.phase == "Running":
            self._running.add(pod.metadata.name)
            if len(self._running) == self._wanted:
                self.all_run.set()

    def ended(self, error: ApiError | None) -> None:
        self.failure = error or ApiError(0, "Ended", "the watch has ended", "watch pods")

    def count(self) -> int:
        return len(self._running)


def bench_pod(number: int, tokens: bool) -> Pod:
    """A bound pod with one container; with `--tokens` it mounts a token."""
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace="default"),
        spec=PodSpec(
            node_name=NODE,
            automount_service_account_token=tokens,
            containers=(Container(name="app", image="busybox:1.36", image_pull_policy="IfNotPresent"),),
        ),
    )


def run(pods: int, qps: int, burst: int, tokens: bool) -> dict[str, Any]:
    """One case: server, agent, pods."""
    with ExitStack() as after:
        place = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-bench-"))
        kubeconfig = f"{place}/kubeconfig"
        server = after.enter_context(
            process("benchmarks.api_node", "server", "--kubeconfig", kubeconfig, stdout=subprocess.PIPE)
        )
        assert server.stdout is not None
        while not os.path.exists(kubeconfig) or os.path.getsize(kubeconfig) == 0:
            if not server.stdout.readline():
                raise SystemExit("the API server has ended")
        threading.Thread(target=server.stdout.read, daemon=True).start()
        loop = after.enter_context(closing(LoopThread("load")))
        api = after.enter_context(closing(api_lines(read_access(kubeconfig), loop, user_agent="load", qps=None))).main
        words = ("agent", "--kubeconfig", kubeconfig, "--qps", str(qps), "--burst", str(burst))
        node = after.enter_context(process("benchmarks.api_node", *words, stdout=subprocess.PIPE))
        _wait_for_node(api)
        watched = psutil.Process(node.pid)
        cpu_before = sum(watched.cpu_times()[:2])
        arrivals = Arrivals(pods)
        watch = api.watch(watch_objects(PODS, resource_version="0"), arrivals.event, arrivals.ended)
        began = perf_counter()
        created = [api.call(create(PODS, "default", bench_pod(number, tokens))) for number in range(pods)]
        for answer in created:
            answer.result(LIMIT_SECONDS)
        created_after = perf_counter() - began
        arrived = arrivals.all_run.wait(LIMIT_SECONDS)
        seconds = perf_counter() - began
        threading.Event().wait(3.0)  # requests still in flight count as well
        cpu_seconds = sum(watched.cpu_times()[:2]) - cpu_before
        memory = watched.memory_info().rss
        watch.close()
        node.send_signal(signal.SIGTERM)
        assert node.stdout is not None
        counts = json.loads(node.stdout.read() or "{}")
    writes = counts.get("patch pods/status", 0)
    return {
        "pods": pods,
        "tokens": tokens,
        "qps": qps if qps > 0 else "unlimited",
        "running": arrivals.count(),
        "seconds": round(seconds, 2) if arrived else None,
        "created_after_seconds": round(created_after, 2),
        "status_writes_per_pod": round(writes / pods, 3),
        "agent_cpu_seconds": round(cpu_seconds, 2),
        "agent_cpu_ms_per_pod": round(1000 * cpu_seconds / pods, 2),
        "agent_memory_mib": round(memory / 2**20, 1),
        "calls": counts,
    }


def _wait_for_node(api: Api) -> None:
    """Wait until the node exists and is Ready."""
    pause = threading.Event()
    for _ in range(600):
        try:
            node = api.call(get(NODES, "", NODE)).result(10)
        except ApiError:
            pause.wait(0.1)
            continue
        conditions = node.status.conditions if node.status is not None else ()
        if any(each.type == "Ready" and each.status == "True" for each in conditions):
            return
        pause.wait(0.1)
    raise SystemExit(f"node {NODE} does not become Ready")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("role", nargs="?", choices=("agent", "server"), help=argparse.SUPPRESS)
    parser.add_argument("--kubeconfig", help=argparse.SUPPRESS)
    parser.add_argument("--pods", type=int)
    parser.add_argument("--qps", type=int, default=50)
    parser.add_argument("--burst", type=int, default=100)
    parser.add_argument("--tokens", action="store_true", help="pods mount a service account token, as most do")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if options.role == "agent":
        agent(options.kubeconfig, options.qps, options.burst)
        return
    if options.role == "server":
        server(options.kubeconfig)
        return
    cases = CASES if options.pods is None else ((options.pods, options.qps, options.burst),)
    for _ in range(options.rounds):
        for pods, qps, burst in cases:
            print(json.dumps(run(pods, qps, burst, options.tokens)), flush=True)


if __name__ == "__main__":
    main()
