"""What an agent costs that runs all day: memory, threads and CPU of `actorlet run`, empty and with pods.

    python -m benchmarks.footprint [--pods 110] [--seconds 60]

The agent is a process as on a real node, with its server, joined to the embedded API server and on the simulated
runtime; these two are processes of their own. Its root directory lies in memory, so that no disk is measured. Pods are
made at once, bound already, and each mounts no token. CPU of an idle agent is a share of one core, over `--seconds`.

Prints a line of JSON. design.md, "Budgets", has what is allowed: 80 MiB empty, 115 MiB with 110 pods, 8 ms a pod.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import threading
from contextlib import ExitStack, closing
from time import monotonic
from typing import Any

import psutil

from benchmarks.processes import embedded_apiserver, process
from config.api_resources import NAMESPACES, NODES, PODS
from config.objects import Container, Namespace, Node, ObjectMeta, Pod, PodSpec
from runtime.api import ApiError, WatchEvent, create, watch_objects
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.event_loop import LoopThread
from runtime.volumes.mounts import KernelMounts

NODE, NAMESPACE = "bench", "bench-footprint"
LIMIT_S = 120.0
SETTLES_AFTER_S = 10.0
IN_MEMORY = "/dev/shm"
MIB = 2**20


class Seen:
    """How many of what was made the API shows as Ready. Called on the loop."""

    def __init__(self) -> None:
        self._ready: set[str] = set()
        self._changed = threading.Condition()

    def told(self, event: WatchEvent[Any]) -> None:
        found: Node | Pod | None = event.object
        if found is not None:
            conditions = found.status.conditions if found.status is not None else ()
            if any(each.type == "Ready" and each.status == "True" for each in conditions):
                with self._changed:
                    self._ready.add(found.metadata.name)
                    self._changed.notify_all()

    def ended(self, error: ApiError | None) -> None:
        """A watch that ends early shows in what is waited for."""

    def wait(self, names: set[str]) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: names <= self._ready, LIMIT_S):
                raise SystemExit(f"not ready after {LIMIT_S:g} s: {', '.join(sorted(names - self._ready)[:5])}")


def cpu_s(agent: psutil.Process) -> float:
    times = agent.cpu_times()
    return float(times.user + times.system)


def at_rest(agent: psutil.Process, seconds: float) -> dict[str, Any]:
    """Memory and threads once it has settled, and the CPU that it takes to do nothing."""
    threading.Event().wait(SETTLES_AFTER_S)
    before, began = cpu_s(agent), monotonic()
    threading.Event().wait(seconds)
    share = (cpu_s(agent) - before) / (monotonic() - began)
    return {
        "memory_mib": round(agent.memory_info().rss / MIB, 1),
        "threads": agent.num_threads(),
        "cpu_share": round(share, 4),
    }


def bench_pod(number: int) -> Pod:
    container = Container(name="app", image="busybox:1.36", image_pull_policy="IfNotPresent")
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace=NAMESPACE),
        spec=PodSpec(node_name=NODE, automount_service_account_token=False, containers=(container,)),
    )


def run(pods: int, seconds: float) -> dict[str, Any]:
    """Server, runtime, agent; a look; pods; another look."""
    with ExitStack() as after:
        beside = IN_MEMORY if os.path.isdir(IN_MEMORY) else None
        place = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-bench-", dir=beside))
        kubeconfig, socket = f"{place}/kubeconfig", f"{place}/cri.sock"
        after.enter_context(embedded_apiserver(kubeconfig, "--no-tls"))
        runtime = ("actorlet", "simulated-cri", "--socket", socket, "--image", "busybox:1.36", "--no-logs")
        after.enter_context(process(*runtime, stdout=subprocess.DEVNULL))
        loop = after.enter_context(closing(LoopThread("load")))
        api = after.enter_context(closing(api_lines(read_access(kubeconfig), loop, user_agent="load", qps=None))).main
        seen = Seen()
        for watch in (
            api.watch(watch_objects(NODES, resource_version="0"), seen.told, seen.ended),
            api.watch(watch_objects(PODS, resource_version="0"), seen.told, seen.ended),
        ):
            after.callback(watch.close)
        # The agent makes it a mount of its own.
        after.callback(KernelMounts().unmount, f"{place}/root")
        words = ("actorlet", "run", *_flags(place, kubeconfig, socket))
        agent = after.enter_context(process(*words, stderr=subprocess.DEVNULL))
        watched = psutil.Process(agent.pid)
        seen.wait({NODE})
        empty = at_rest(watched, seconds)
        before = cpu_s(watched)
        api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=NAMESPACE)))).result(LIMIT_S)
        wanted = [bench_pod(number) for number in range(pods)]
        for answer in [api.call(create(PODS, NAMESPACE, pod)) for pod in wanted]:
            answer.result(LIMIT_S)
        seen.wait({pod.metadata.name for pod in wanted})
        came_s = cpu_s(watched) - before
        return {"pods": pods, "empty": empty, "cpu_ms_per_pod": round(came_s / pods * 1000, 2)} | {
            "with_pods": at_rest(watched, seconds)
        }


def _flags(place: str, kubeconfig: str, socket: str) -> list[str]:
    """Those of a node on this machine, whatever it is like, beside which others may run."""
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{socket}",
        "podLogsDir": f"{place}/log",
        "healthzPort": 0,
        "failCgroupV1": False,
        "failSwapOn": False,
        "clusterDNS": ["10.0.0.10"],
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": ["none"],
    }
    path = f"{place}/config.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(configuration, file)
    return [f"--config={path}", f"--kubeconfig={kubeconfig}", f"--root-dir={place}/root", f"--hostname-override={NODE}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print(json.dumps(run(options.pods, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
