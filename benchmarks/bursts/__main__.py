"""Bursts of 1 to 5,000 pods on one node: when half and the last are Ready, and what that costs.

    python -m benchmarks.bursts [--pods 1 50 110 1000 5000] [--containerd] [--kubelet FILE] [--kubemark FILE]
                                [--kubeconfig FILE] [--qps 50] [--tokens] [--rest SECONDS] [--plot FILE]

The agent, the API server, the runtime and the creator of the pods are four processes. All pods are made at once, bound
already, each with one container. Each burst has a new node. What it shows side by side, in the same hour:

- `actorlet run`, and with `--kubelet` the program of that file in its place, a kubelet of the same minor release;
- with `--kubemark` that program, a kubelet that has a fake runtime in its own process, and so plays no containerd;
- a bare client of the runtime, 4, 8, and all pods at a time: the floor that the runtime sets. It asks for the same
  sandboxes and containers, but for tokens (`benchmarks/bursts/bare_client.py`).

A burst of one pod is played ten times. All agents and the bare client live at the same time, each with a runtime of its
own, and take turns, a second apart: so they meet the same machine. Times are the medians. All pods stay, so that no end
of a pod is measured. The JSON has the warnings that events of the pods gave, such as one about an object that may not
be read.

The runtime is the simulated one behind a socket. `--containerd` runs the bursts of up to 110 pods on a private
containerd as well; that needs root. `--kubeconfig` names a running API server, with an admin's access; without it the
embedded one is started. Agents write 5,000 requests a second at most, unless `--qps` says less.

`--rest` waits so long after each burst of several pods. Two more columns then show what pods cost at rest. One is by
how much each has made the agent larger since its node was Ready. The other is the CPU of the last 40 seconds.

Prints a line of JSON for each burst, then a table. Behind what another took stands ours, divided by it. The last column
says how evenly the pods became Ready: 0.5 is even, 1 is all at the end. `--plot` draws all into an SVG file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, monotonic_ns, sleep

from benchmarks.bursts.bare_client import BareClient
from benchmarks.bursts.report import OURS, Burst, burst, plot, table
from benchmarks.kubemark import roots_removed
from benchmarks.live_node import IMAGE, LIMIT_S, MIB, OWN, LiveNode, live_node, plain_runtime
from config.api.resources import EVENTS, NAMESPACES, PODS
from config.objects import Container, Namespace, ObjectMeta, Pod, PodSpec
from runtime.api import create, delete, list_objects
from runtime.cri.client import GrpcCri
from tests.real.containerd import Containerd
from tests.real.images import BUSYBOX, PAUSE, RECIPES, build

SIZES = (1, 50, 110, 1000, 5000)
BURST_LIMIT_S = 1200.0
SINGLES = 10
PAUSE_S = 1.0
"""Between single pods, in which nobody begins anything."""
REST_S = 40.0
"""The end of `--rest`, in which the CPU counts."""
MOST_REAL_PODS = 110
QUICK = 5000
KIB = 1024
SLEEPS = ("sleep", "1000000")
KUBELET = {
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
}
"""So that it starts without the certificates of a cluster. The embedded API server also wants JSON."""

Serve = Callable[[str], AbstractContextManager[object]]


@contextmanager
def containerd(socket: str) -> Iterator[None]:
    """A private containerd behind that socket."""
    runtime = Containerd()
    try:
        runtime.start()
        runtime.load([build(each) for each in RECIPES if each.name in (PAUSE, BUSYBOX)])
        os.symlink(runtime.socket, socket)
        yield
    finally:
        runtime.stop()


class Runtime:
    """A kind of runtime, and the image of its pods."""

    def __init__(self, name: str, serve: Serve, image: str) -> None:
        self.name = name
        self.serve = serve
        self.image = image


SIMULATED = Runtime("simulated", plain_runtime, IMAGE)
CONTAINERD = Runtime("containerd", containerd, BUSYBOX)


# --- an agent ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agent:
    """An agent to measure: its name in the table, and the command that starts it.

    `is_hollow`: it has a runtime of its own, and takes no other.
    """

    who: str
    command: Sequence[str]
    is_hollow: bool = False

    def node(self, runtime: Runtime, pods: int, options: argparse.Namespace) -> AbstractContextManager[LiveNode]:
        """A node of its own, with room for so many pods."""
        own = self.command is OWN
        fields = {} if own else KUBELET if options.kubeconfig else {**KUBELET, "contentType": "application/json"}
        return live_node(
            runtime.serve,
            name=f"bench-{self.who}",
            command=self.command,
            kubeconfig=options.kubeconfig,
            kubeAPIQPS=options.qps,
            kubeAPIBurst=2 * options.qps,
            maxPods=pods + 10,
            **fields,
        )


@contextmanager
def agents(options: argparse.Namespace) -> Iterator[tuple[Agent, ...]]:
    """Ours, and the kubelet and kubemark if they are given."""
    with TemporaryDirectory(prefix="actorlet-bench-") as certificates, roots_removed():
        found = [Agent(OURS, OWN)]
        if options.kubelet is not None:
            found.append(Agent("kubelet", (options.kubelet, f"--cert-dir={certificates}")))
        if options.kubemark is not None:
            hollow = (sys.executable, "-m", "benchmarks.kubemark", options.kubemark)
            found.append(Agent("kubemark", hollow, is_hollow=True))
        yield tuple(found)


class PodsOfNode:
    """Makes pods on a node, in a namespace of their own, and sums up what that costs the agent.

    On a server that runs, the next node would take up the pods of this one: `close` deletes them.
    """

    def __init__(self, node: LiveNode, image: str, tokens: bool) -> None:
        self._node = node
        self._image = image
        self._tokens = tokens
        self._namespace = f"bench-{os.getpid()}-{monotonic_ns()}"
        self._made = 0
        self._cpu_s = 0.0
        self._before_bytes = node.memory_bytes()
        node.api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=self._namespace)))).result(LIMIT_S)

    def close(self) -> None:
        api, namespace = self._node.api, self._namespace
        names = [f"{namespace}-{number}" for number in range(self._made)]
        for gone in [api.call(delete(PODS, namespace, name, grace_seconds=0)) for name in names]:
            gone.exception(LIMIT_S)
        api.call(delete(NAMESPACES, "", namespace)).exception(LIMIT_S)

    def all_ready_after(self, pods: int, rest_s: float = 0.0) -> list[float]:
        """Make so many pods at once; return after how many seconds each was Ready.

        The CPU of the rest after it counts too.
        """
        cpu_before_s, numbers = self._node.cpu_s(), range(self._made, self._made + pods)
        self._made += pods
        wanted = [bench_pod(self._node.name, self._namespace, each, self._image, self._tokens) for each in numbers]
        names = {each.metadata.name for each in wanted}
        began = monotonic()
        for answer in [self._node.api.call(create(PODS, self._namespace, each)) for each in wanted]:
            answer.result(LIMIT_S)
        self._node.seen.all_ready(names, BURST_LIMIT_S)
        sleep(rest_s)
        self._cpu_s += self._node.cpu_s() - cpu_before_s
        return [at - began for at in self._node.seen.ready_at(names)]

    def costs(self, shown: Burst) -> Burst:
        """With the CPU for as many pods as it has, the memory, and the warnings."""
        told = self._node.api.call(list_objects(EVENTS, self._namespace)).result(LIMIT_S).items
        return replace(
            shown,
            cpu_s=self._cpu_s / self._made * shown.pods,
            memory_mib=self._node.memory_bytes() / MIB,
            warnings=tuple(sorted({f"{each.reason}: {each.message}" for each in told if each.type == "Warning"})),
        )

    def rested(self, shown: Burst, rest_s: float) -> Burst:
        """After a rest, with what the pods cost at its end."""
        counted_s = min(rest_s, REST_S)
        sleep(rest_s - counted_s)
        cpu_before_s, began = self._node.cpu_s(), monotonic()
        sleep(counted_s)
        core = (self._node.cpu_s() - cpu_before_s) / (monotonic() - began)
        grown_kib = (self._node.memory_bytes() - self._before_bytes) / KIB
        return replace(shown, rest_kib=grown_kib / self._made, rest_core=core * 1000 / self._made)


def by_agent(agent: Agent, runtime: Runtime, pods: int, options: argparse.Namespace) -> Burst:
    """One burst on a node of its own."""
    with (
        agent.node(runtime, pods, options) as node,
        closing(PodsOfNode(node, runtime.image, options.tokens)) as made,
    ):
        shown = made.costs(burst(agent.who, runtime.name, pods, made.all_ready_after(pods)))
        return made.rested(shown, options.rest) if options.rest else shown


def bench_pod(node: str, namespace: str, number: int, image: str, tokens: bool) -> Pod:
    """No pod of another burst has its name: on a server that runs they may still be there."""
    container = Container(name="app", image=image, image_pull_policy="IfNotPresent", command=SLEEPS)
    return Pod(
        metadata=ObjectMeta(name=f"{namespace}-{number}", namespace=namespace),
        spec=PodSpec(
            node_name=node,
            automount_service_account_token=tokens,
            containers=(container,),
            termination_grace_period_seconds=0,
        ),
    )


# --- no agent ---------------------------------------------------------------------------------------------------------


@contextmanager
def bare_client(runtime: Runtime) -> Iterator[Callable[[int], tuple[float, float]]]:
    """A client of a runtime of its own, which starts the pod of a number; see `BareClient.start`."""
    with ExitStack() as after:
        place = after.enter_context(TemporaryDirectory(prefix="actorlet-bench-"))
        after.enter_context(runtime.serve(f"{place}/cri.sock"))
        cri = after.enter_context(closing(GrpcCri(f"unix://{place}/cri.sock")))
        client = BareClient(cri, place, runtime.image)
        yield lambda number: client.start(bench_pod("", "bench", number, runtime.image, tokens=False))


def by_bare_client(runtime: Runtime, pods: int, at_a_time: int) -> Burst:
    """The fewest calls that start the pods."""
    with bare_client(runtime) as start, ThreadPoolExecutor(at_a_time) as clients:
        began = monotonic()
        ready_after_s = sorted(end - began for _, end in clients.map(start, range(pods)))
    return burst(_bare(at_a_time), runtime.name, pods, ready_after_s)


def _bare(at_a_time: int) -> str:
    return f"bare client, {at_a_time} at a time"


# --- all --------------------------------------------------------------------------------------------------------------


def single_pods(everyone: Sequence[Agent], runtime: Runtime, options: argparse.Namespace) -> list[Burst]:
    """Ten single pods by each in turns; each has a node of its own."""
    with ExitStack() as after:
        made: dict[str, PodsOfNode] = {}
        for agent in everyone:
            node = after.enter_context(agent.node(runtime, SINGLES, options))
            made[agent.who] = after.enter_context(closing(PodsOfNode(node, runtime.image, options.tokens)))
        start = after.enter_context(bare_client(runtime))
        took: dict[str, list[float]] = {who: [] for who in (*made, _bare(1))}
        for number in range(SINGLES):
            for who, pods in made.items():
                took[who] += pods.all_ready_after(1, PAUSE_S)
            began, end = start(number)
            took[_bare(1)].append(end - began)
            sleep(PAUSE_S)
        shown = {who: burst(who, runtime.name, 1, _median(seconds)) for who, seconds in took.items()}
        return [made[who].costs(each) if who in made else each for who, each in shown.items()]


def _median(seconds: Sequence[float]) -> list[float]:
    """The median of all single pods, as one burst; empty if one was not Ready."""
    return [statistics.median(seconds)] if len(seconds) == SINGLES else []


def bursts(everyone: Sequence[Agent], options: argparse.Namespace) -> Iterator[Burst]:
    """Each size on each runtime, by each agent and by the bare client."""
    for runtime in (SIMULATED, CONTAINERD) if options.containerd else (SIMULATED,):
        players = [each for each in everyone if runtime is SIMULATED or not each.is_hollow]
        for pods in options.pods:
            if runtime is CONTAINERD and pods > MOST_REAL_PODS:
                continue
            if pods == 1:
                yield from single_pods(players, runtime, options)
                continue
            for agent in players:
                yield by_agent(agent, runtime, pods, options)
            for at_a_time in sorted({min(4, pods), min(8, pods), min(pods, MOST_REAL_PODS)}):
                yield by_bare_client(runtime, pods, at_a_time)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, nargs="+", default=SIZES)
    parser.add_argument("--containerd", action="store_true", help="also on a private containerd")
    parser.add_argument("--kubelet", metavar="FILE", help="a kubelet to run the same bursts with")
    parser.add_argument("--kubemark", metavar="FILE", help="a kubemark to run the bursts on the simulated runtime with")
    parser.add_argument("--kubeconfig", metavar="FILE", help="of an API server that runs, in place of the embedded one")
    parser.add_argument("--qps", type=int, default=QUICK, help="the agents' limit of requests a second")
    parser.add_argument("--tokens", action="store_true", help="pods mount a service account token, as most do")
    parser.add_argument("--rest", type=float, default=0.0, metavar="SECONDS", help="also show what pods cost at rest")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the table into this SVG file")
    options = parser.parse_args()
    if options.containerd and os.geteuid() != 0:
        sys.exit("--containerd: containerd needs root; run this as root, or without --containerd")
    done: list[Burst] = []
    with agents(options) as everyone:
        for each in bursts(everyone, options):
            done.append(each)
            print(json.dumps(each.rounded()), flush=True)
    print(table(done))
    if options.plot is not None:
        options.plot.write_text(plot(done))


if __name__ == "__main__":
    main()
