"""What a record costs: CPU and disk of a node with pods, without a record and with one.

    python -m benchmarks.recorded_node [PODS] [SECONDS]

The node runs on threads, in real time, on a simulated runtime in the same process. So the CPU is that of the agent and
of the runtime, and the share of the record is a little larger than shown. Each pod has two containers and a probe every
second. CPU is that of the process, so a busy machine changes little. Pods come, run for so many seconds, and go.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from threading import Event

from actors.kernel import PoolDispatcher
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.recording import About, NodeRecorder
from cli.silence import silence
from runtime.records.drawn import draw
from runtime.records.ring import SegmentRing, segments_of
from simulation.node import simulated_node
from simulation.node.simulated_node import SimulatedNode

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  containers:
  - {name: a, image: nginx, readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}
  - {name: b, image: busybox, command: [sh]}
  volumes: [{name: e, emptyDir: {}}]
"""
SIZE_BYTES = 256 << 20
PATIENCE_S = 300.0


def live(folder: str, pods: int, seconds: float) -> tuple[float, float]:
    """CPU seconds until all pods run, and from then on until they are gone. A folder: with a record."""
    recorders: list[NodeRecorder] = []

    def agent(dispatcher: PoolDispatcher, plan: NodePlan, capabilities: NodeCapabilities) -> NodeAgent:
        if not folder:
            return NodeAgent(dispatcher, plan, capabilities)
        ring = SegmentRing(folder, SIZE_BYTES)
        ring.open()
        recorder = NodeRecorder(ring, dispatcher, plan, About("benchmark", "3"), draw())
        recorders.append(recorder)
        return NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)

    vars(simulated_node)["NodeAgent"] = agent
    with ExitStack() as after:
        after.enter_context(silence())
        pool = after.enter_context(closing(PoolDispatcher(1 if folder else 4)))
        manifests = {f"{number}.yaml": POD.replace("NAME", f"p-{number}") for number in range(pods)}
        began_s = time.process_time()
        node = SimulatedNode(pool, manifests=manifests)
        node.start()
        wait(lambda: running(node) == pods)
        up_s = time.process_time()
        Event().wait(seconds)
        for name in manifests:
            node.remove_manifest(name)
        wait(lambda: not node.node.pods())
        node.stop()
        for recorder in recorders:
            recorder.close()
            assert not recorder.dispatcher.lost, recorder.dispatcher.lost
        return up_s - began_s, time.process_time() - up_s


def running(node: SimulatedNode) -> int:
    return sum(pod.status is not None and pod.status.phase == "Running" for pod in node.node.pods())


def wait(condition: object) -> None:
    """Until it holds, with few looks: each costs CPU."""
    end = time.monotonic() + PATIENCE_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        Event().wait(0.5)


def main() -> None:
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else 110
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    live("", 5, 1.0)  # what is imported and cached on first use
    print(f"{pods} pods, {seconds:g} s")
    print(f"{'':12}{'start, CPU s':>14}{'run and end, CPU s':>20}{'of one core':>13}")
    with tempfile.TemporaryDirectory() as folder:
        for name, place in (("without", ""), ("with", folder), ("without", ""), ("with", folder)):
            start_s, rest_s = live(place, pods, seconds)
            print(f"{name:12}{start_s:14.2f}{rest_s:20.2f}{rest_s / seconds:12.1%}", flush=True)
        size = sum(os.path.getsize(path) for path in segments_of(folder)) / 2
        print(f"the record of one: {size / 2**20:.1f} MiB, {size / 2**20 / (seconds / 3600):.0f} MiB for an hour of it")


if __name__ == "__main__":
    main()
