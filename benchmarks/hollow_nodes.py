"""Whether hollow nodes in one process stay Ready: `actorlet simulate --kubeconfig`.

The API server is reached over real HTTP.

    python -m benchmarks.hollow_nodes [--nodes 100] [--pods 30] [--seconds 300] [--probes] [--kubeconfig FILE]

The server, the hollow nodes and the watcher are three processes. The server is the embedded one, or that of
`--kubeconfig`; there the pods get a namespace of their own. Pods are bound when they are created: the scheduler is not
measured. The benchmark watches every change of a Node. `not_ready` counts changes from Ready to anything else.
`oldest_lease_seconds` is the longest time that a lease was not renewed (40 s are allowed).

Prints a line of JSON. Exit status 1 unless every node was Ready and every pod Running at every look.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from time import monotonic
from typing import Any

import psutil

from benchmarks.processes import embedded_apiserver, process
from config.api.resources import LEASES, NAMESPACES, NODES, PODS
from config.objects import Container, Namespace, Node, ObjectMeta, Pod, PodSpec, Probe, TCPSocketAction
from runtime.api import Api, ApiError, WatchEvent, create, delete, list_objects, watch_objects
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.io.event_loop import LoopThread

PREFIX = "bench-hollow-"
NAMESPACE = "bench-hollow"
LEASE_NAMESPACE = "kube-node-lease"
LIMIT_SECONDS = 300.0
LOOK_EVERY_SECONDS = 5.0


class Seen:
    """What the API shows of nodes and pods, kept current. Called on the loop."""

    def __init__(self) -> None:
        self.ready: dict[str, bool] = {}
        self.running: set[str] = set()
        self.lapses: list[str] = []
        self.leases: dict[str, tuple[str, float]] = {}
        self.oldest_lease_s = 0.0
        self.changed = threading.Event()
        self.failure: ApiError | None = None

    def node(self, event: WatchEvent[Node]) -> None:
        node = event.object
        if node is None or not node.metadata.name.startswith(PREFIX):
            return
        name, conditions = node.metadata.name, node.status.conditions if node.status is not None else ()
        ready = event.type != "DELETED" and any(each.type == "Ready" and each.status == "True" for each in conditions)
        if self.ready.get(name) and not ready:
            self.lapses.append(name)
        self.ready[name] = ready
        self.changed.set()

    def pod(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        if pod is None or pod.metadata.namespace != NAMESPACE:
            return
        conditions = pod.status.conditions if pod.status is not None else ()
        ready = event.type != "DELETED" and any(each.type == "Ready" and each.status == "True" for each in conditions)
        (self.running.add if ready else self.running.discard)(pod.metadata.name)
        self.changed.set()

    def ended(self, error: ApiError | None) -> None:
        self.failure = error or ApiError(0, "Ended", "a watch has ended", "watch")
        self.changed.set()

    def look_at_leases(self, api: Api) -> None:
        now = monotonic()
        for lease in api.call(list_objects(LEASES, LEASE_NAMESPACE)).result(30).items:
            name, renewed = lease.metadata.name, str(lease.spec.renew_time if lease.spec else "")
            if name.startswith(PREFIX):
                since = self.leases.get(name)
                if since is None or since[0] != renewed:
                    self.leases[name] = (renewed, now)
                else:
                    self.oldest_lease_s = max(self.oldest_lease_s, now - since[1])

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        until = monotonic() + LIMIT_SECONDS
        while not holds():
            left = until - monotonic()
            if left <= 0 or self.failure is not None:
                raise SystemExit(f"{what}: {self.failure or 'not in time'}")
            self.changed.wait(min(left, 1.0))
            self.changed.clear()


def bench_pod(node: str, number: int, probes: bool) -> Pod:
    """A bound pod."""
    probe = Probe(tcp_socket=TCPSocketAction(port=80), period_seconds=10) if probes else None
    container = Container(name="app", image="busybox:1.36", image_pull_policy="IfNotPresent", readiness_probe=probe)
    return Pod(
        metadata=ObjectMeta(name=f"{node}-pod-{number}", namespace=NAMESPACE),
        spec=PodSpec(node_name=node, automount_service_account_token=False, containers=(container,)),
    )


def run(nodes: int, pods: int, seconds: float, probes: bool, kubeconfig: str | None) -> dict[str, Any]:
    """Start server, nodes and pods, then watch them for the given time."""
    with ExitStack() as after:
        place = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-bench-"))
        if kubeconfig is None:
            kubeconfig = f"{place}/kubeconfig"
            after.enter_context(embedded_apiserver(kubeconfig, "--no-tls"))
        loop = after.enter_context(closing(LoopThread("load")))
        api = after.enter_context(closing(api_lines(read_access(kubeconfig), loop, user_agent="load", qps=None))).main
        api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=NAMESPACE)))).exception(30)
        after.callback(lambda: api.call(delete(NAMESPACES, "", NAMESPACE)).exception(30))
        words = ("--kubeconfig", kubeconfig, "--nodes", str(nodes), "--name-prefix", PREFIX, "--remove-nodes")
        hollow = after.enter_context(process("actorlet", "simulate", *words))
        watched, seen = psutil.Process(hollow.pid), Seen()
        began = monotonic()
        for watch in (
            api.watch(watch_objects(NODES, resource_version="0"), seen.node, seen.ended),
            api.watch(watch_objects(PODS, resource_version="0"), seen.pod, seen.ended),
        ):
            after.callback(watch.close)
        seen.wait(lambda: sum(seen.ready.values()) == nodes, "nodes become Ready")
        ready_after_s = monotonic() - began
        began = monotonic()
        wanted = [bench_pod(node, number, probes) for node in sorted(seen.ready) for number in range(pods)]
        for answer in [api.call(create(PODS, NAMESPACE, pod)) for pod in wanted]:
            answer.result(LIMIT_SECONDS)
        seen.wait(lambda: len(seen.running) == len(wanted), "pods become Ready")
        running_after_s = monotonic() - began
        cpu_before, began, fewest = sum(watched.cpu_times()[:2]), monotonic(), len(seen.running)
        threads = sockets = 0
        while (left := began + seconds - monotonic()) > 0:
            seen.look_at_leases(api)
            fewest = min(fewest, len(seen.running))
            threads, sockets = max(threads, watched.num_threads()), max(sockets, watched.num_fds())
            if seen.failure is not None:
                raise SystemExit(f"looking: {seen.failure}")
            threading.Event().wait(min(left, LOOK_EVERY_SECONDS))
        result = {
            "nodes": nodes,
            "pods": len(wanted),
            "seconds": seconds,
            "ready": sum(seen.ready.values()),
            "not_ready": len(seen.lapses),
            "fewest_pods_ready": fewest,
            "oldest_lease_seconds": round(seen.oldest_lease_s, 1),
            "nodes_ready_after_seconds": round(ready_after_s, 1),
            "pods_ready_after_seconds": round(running_after_s, 1),
            "cpu_share": round((sum(watched.cpu_times()[:2]) - cpu_before) / seconds, 3),
            "memory_mib": round(watched.memory_info().rss / 2**20, 1),
            "threads": threads,
            "files": sockets,
        }
        seen.failure = None
    return {**result, "exit_status": hollow.returncode}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=30, help="on each node")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--probes", action="store_true", help="each pod has a readiness probe every 10 s")
    parser.add_argument("--kubeconfig", help="of an API server that runs, in place of the embedded one")
    options = parser.parse_args()
    result = run(options.nodes, options.pods, options.seconds, options.probes, options.kubeconfig)
    print(json.dumps(result), flush=True)
    well = result["ready"] == result["nodes"] and not result["not_ready"]
    raise SystemExit(0 if well and result["fewest_pods_ready"] == result["pods"] and not result["exit_status"] else 1)


if __name__ == "__main__":
    main()
