"""What a long-running agent costs: memory, threads and CPU of `actorlet run`.

It is measured empty and with pods.

    python -m benchmarks.footprint [--pods 110] [--seconds 60]

The agent is a process as on a real node, with its server. It has joined the embedded API server and uses the simulated
runtime; these two are processes of their own. Its root directory lies in memory, so that no disk is measured. Pods are
made at once, bound already, and none mounts a token. CPU of an idle agent is a share of one core, over `--seconds`.

Prints a line of JSON. design.md, "Budgets", has what is allowed: 80 MiB empty, 115 MiB with 110 pods, 8 ms a pod.
"""

from __future__ import annotations

import argparse
import json
import threading
from time import monotonic
from typing import Any

from benchmarks.live_node import IMAGE, LIMIT_S, MIB, NODE, LiveNode, live_node
from config.api.resources import NAMESPACES, PODS
from config.objects import Container, Namespace, ObjectMeta, Pod, PodSpec
from runtime.api import create

NAMESPACE = "bench-footprint"
SETTLES_AFTER_S = 10.0


def at_rest(node: LiveNode, seconds: float) -> dict[str, Any]:
    """Memory and threads once it has settled, and the CPU that it takes to do nothing."""
    threading.Event().wait(SETTLES_AFTER_S)
    before, began = node.cpu_s(), monotonic()
    threading.Event().wait(seconds)
    share = (node.cpu_s() - before) / (monotonic() - began)
    return {
        "memory_mib": round(node.memory_bytes() / MIB, 1),
        "threads": node.process.num_threads(),
        "cpu_share": round(share, 4),
    }


def bench_pod(number: int) -> Pod:
    container = Container(name="app", image=IMAGE, image_pull_policy="IfNotPresent")
    return Pod(
        metadata=ObjectMeta(name=f"pod-{number}", namespace=NAMESPACE),
        spec=PodSpec(node_name=NODE, automount_service_account_token=False, containers=(container,)),
    )


def run(pods: int, seconds: float) -> dict[str, Any]:
    """Server, runtime, agent; a look; pods; another look."""
    with live_node(maxPods=max(110, pods)) as node:
        empty = at_rest(node, seconds)
        before = node.cpu_s()
        node.api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=NAMESPACE)))).result(LIMIT_S)
        wanted = [bench_pod(number) for number in range(pods)]
        for answer in [node.api.call(create(PODS, NAMESPACE, pod)) for pod in wanted]:
            answer.result(LIMIT_S)
        node.seen.wait({pod.metadata.name for pod in wanted})
        came_s = node.cpu_s() - before
        return {"pods": pods, "empty": empty, "cpu_ms_per_pod": round(came_s / pods * 1000, 2)} | {
            "with_pods": at_rest(node, seconds)
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=110)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print(json.dumps(run(options.pods, options.seconds)), flush=True)


if __name__ == "__main__":
    main()
