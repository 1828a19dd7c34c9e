"""Makes the record of the tutorial on a pod that restarted at 3 o'clock: `examples/night`.

`python -m docs.generators.example_record` does it. The node is a simulated one with two pods, from 02:50 to 03:02. The
liveness probe of `shop` gets no answer from 03:00 on. `--check` says whether today's agent still decides all as in the
record: bytes differ between versions of libraries, and that means nothing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from contextlib import closing
from pathlib import Path

from actors.kernel import Dispatcher, SimulatedDispatcher
from actors.node.node import NodeAgent
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.recording import About, NodeRecorder
from actors.records.folder import runs_in
from actors.replays.player import RunPlayer
from cli.silence import silence
from cli.version import VERSION
from runtime.records.drawn import Drawn
from runtime.records.ring import LOCK, SIZE_AT_LEAST_BYTES, SegmentRing
from simulation.node import simulated_node
from simulation.node.simulated_node import SimulatedNode

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/night"
COMMAND = "python -m docs.generators.example_record"
SECOND_NS = 1_000_000_000
NODE = "node-7"
BEGINS_WALL_NS = 1_790_304_600 * SECOND_NS
"""2026-09-25 02:50:00 UTC."""
LASTS_NS = 12 * 60 * SECOND_NS
SHOP = """\
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: default
  annotations: {simulated.actorlet.dev/liveness-probe: "ok*60,hang"}
spec:
  containers:
  - name: web
    image: registry.example/shop:1.4
    livenessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 10, failureThreshold: 3, timeoutSeconds: 2}
    readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 10}
"""
CACHE = """\
apiVersion: v1
kind: Pod
metadata: {name: cache, namespace: default}
spec:
  containers: [{name: cache, image: registry.example/cache:7}]
"""


def make(folder: Path) -> None:
    """Record the night into that folder."""
    world = SimulatedDispatcher(7)
    world.wall_offset_ns = BEGINS_WALL_NS - world.now_ns()
    made: list[NodeRecorder] = []

    def agent(dispatcher: Dispatcher, plan: NodePlan, capabilities: NodeCapabilities) -> NodeAgent:
        ring = SegmentRing(str(folder), SIZE_AT_LEAST_BYTES)
        ring.open()
        recorder = NodeRecorder(ring, dispatcher, plan, About(VERSION, "3"), Drawn("night", 7, b"of no secrets"))
        made.append(recorder)
        return NodeAgent(recorder.dispatcher, plan, capabilities, recorder.edges)

    before = vars(simulated_node)["NodeAgent"]
    vars(simulated_node)["NodeAgent"] = agent
    try:
        with silence():
            node = SimulatedNode(world, name=NODE, manifests={"shop.yaml": SHOP, "cache.yaml": CACHE})
            (recorder,) = made
            with closing(recorder):
                node.start()
                world.run_for(LASTS_NS)
                node.stop()
    finally:
        vars(simulated_node)["NodeAgent"] = before
    (folder / LOCK).unlink()


def differences() -> int:
    """How much today's agent decides otherwise than in the record that is there."""
    found = 0

    def differs(_: object) -> None:
        nonlocal found
        found += 1

    with silence():
        for run in runs_in(str(FOLDER)):
            player = RunPlayer(run, differs)
            while player.step() is not None:
                pass
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description="Make the record of the tutorial.")
    parser.add_argument("--check", action="store_true", help="write nothing; say whether the record is out of date")
    options = parser.parse_args()
    if options.check:
        if found := differences():
            print(f"today's agent decides {found} things otherwise than in {FOLDER}; run: {COMMAND}", file=sys.stderr)
        return 1 if found else 0
    shutil.rmtree(FOLDER, ignore_errors=True)
    make(FOLDER)
    for path in FOLDER.iterdir():
        path.chmod(0o644)
    FOLDER.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())
