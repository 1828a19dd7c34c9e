"""Bursts of 1 to 5,000 pods on one node: when half and the last are Ready, and what that costs.

    python -m benchmarks.bursts [--pods 1 50 110 1000 5000] [--containerd] [--kubelet FILE] [--kubeconfig FILE]
                                [--qps 50] [--tokens] [--plot FILE]

The agent, the API server, the runtime and the creator of the pods are four processes. All pods are made at once, bound
already, each with one container. Each burst has a new node. What it shows side by side, in the same hour:

- `actorlet run`, and with `--kubelet` the program of that file in its place, a kubelet of the same minor release;
- a bare client of the runtime, 4, 8, and all pods at a time: the floor that the runtime sets.

A burst of one pod is played ten times, a second apart on the same node; its times are the medians. All ten stay, so
that no end of a pod is measured. The JSON has the warnings that events of the pods gave, such as one about an object
that may not be read.

The runtime is the simulated one behind a socket. `--containerd` runs the bursts of up to 110 pods on a private
containerd as well; that needs root. `--kubeconfig` names a running API server, with an admin's access; without it the
embedded one is started. Agents write 5,000 requests a second at most, unless `--qps` says less.

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
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, monotonic_ns, sleep
from typing import TypeVar

from benchmarks.bursts_report import OURS, Burst, burst, plot, table
from benchmarks.live_node import IMAGE, LIMIT_S, MIB, NODE, OWN, LiveNode, live_node, plain_runtime
from config.api.resources import EVENTS, NAMESPACES, PODS
from config.objects import Container, Namespace, ObjectMeta, Pod, PodSpec
from runtime.api import create, delete, list_objects
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.client import GrpcCri
from tests.real.containerd import Containerd
from tests.real.images import BUSYBOX, PAUSE, RECIPES, build

SIZES = (1, 50, 110, 1000, 5000)
BURST_LIMIT_S = 1200.0
CALL_LIMIT_S = 600.0
SINGLES = 10
REST_S = 1.0
MOST_REAL_PODS = 110
QUICK = 5000
SLEEPS = ("sleep", "1000000")
KUBELET = {
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
}
"""So that it starts without the certificates of a cluster. The embedded API server also wants JSON."""

T = TypeVar("T")
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


def by_agent(who: str, command: Sequence[str], runtime: Runtime, pods: int, options: argparse.Namespace) -> Burst:
    """One burst on a node of its own."""
    fields = {} if command is OWN else KUBELET if options.kubeconfig else {**KUBELET, "contentType": "application/json"}
    with live_node(
        runtime.serve,
        command=command,
        kubeconfig=options.kubeconfig,
        kubeAPIQPS=options.qps,
        kubeAPIBurst=2 * options.qps,
        maxPods=pods + 10,
        **fields,
    ) as node:
        namespace = f"bench-{os.getpid()}-{monotonic_ns()}"
        try:
            return _burst_on(node, namespace, who, runtime, pods, options.tokens)
        finally:
            # On a server that runs, the next node would take up the pods of this one.
            for gone in [node.api.call(delete(PODS, namespace, name, grace_seconds=0)) for name in node.seen.pods()]:
                gone.exception(LIMIT_S)
            node.api.call(delete(NAMESPACES, "", namespace)).exception(LIMIT_S)


def _burst_on(node: LiveNode, namespace: str, who: str, runtime: Runtime, pods: int, tokens: bool) -> Burst:
    node.api.call(create(NAMESPACES, "", Namespace(metadata=ObjectMeta(name=namespace)))).result(LIMIT_S)
    wanted = [bench_pod(namespace, number, runtime.image, tokens) for number in range(SINGLES if pods == 1 else pods)]
    cpu_before = node.cpu_s()
    if pods == 1:
        ready_after_s = _median([_all_ready_after(node, [each]) for each in _one_by_one(wanted)])
    else:
        ready_after_s = _all_ready_after(node, wanted)
    cpu_s, memory = (node.cpu_s() - cpu_before) / len(wanted) * pods, node.process.memory_info().rss / MIB
    shown = burst(who, runtime.name, pods, ready_after_s)
    return replace(shown, cpu_s=cpu_s, memory_mib=memory, warnings=_warnings(node, namespace))


def _one_by_one(wanted: Sequence[T]) -> Iterator[T]:
    """Each of these, after a rest, so that all work for the one before is over."""
    for each in wanted:
        sleep(REST_S)
        yield each


def _all_ready_after(node: LiveNode, wanted: Sequence[Pod]) -> list[float]:
    """Make these pods at once; return after how many seconds each was Ready."""
    names = {each.metadata.name for each in wanted}
    began = monotonic()
    for answer in [node.api.call(create(PODS, each.metadata.namespace, each)) for each in wanted]:
        answer.result(LIMIT_S)
    node.seen.all_ready(names, BURST_LIMIT_S)
    return [at - began for at in node.seen.ready_at(names)]


def _median(one_by_one: Sequence[Sequence[float]]) -> list[float]:
    """The median of single bursts, as one burst; empty if one of them was not Ready."""
    return [statistics.median(each for (each,) in one_by_one)] if all(one_by_one) else []


def _warnings(node: LiveNode, namespace: str) -> tuple[str, ...]:
    """The warnings about the pods of a namespace, each text once."""
    told = node.api.call(list_objects(EVENTS, namespace)).result(LIMIT_S).items
    return tuple(sorted({f"{each.reason}: {each.message}" for each in told if each.type == "Warning"}))


def bench_pod(namespace: str, number: int, image: str, tokens: bool) -> Pod:
    """No pod of another burst has its name: on a server that runs they may still be there."""
    container = Container(name="app", image=image, image_pull_policy="IfNotPresent", command=SLEEPS)
    return Pod(
        metadata=ObjectMeta(name=f"{namespace}-{number}", namespace=namespace),
        spec=PodSpec(
            node_name=NODE,
            automount_service_account_token=tokens,
            containers=(container,),
            termination_grace_period_seconds=0,
        ),
    )


# --- no agent ---------------------------------------------------------------------------------------------------------


def by_bare_client(runtime: Runtime, pods: int, at_a_time: int) -> Burst:
    """The fewest calls that start the pods, on a runtime of its own."""
    with ExitStack() as after:
        place = after.enter_context(TemporaryDirectory(prefix="actorlet-bench-"))
        after.enter_context(runtime.serve(f"{place}/cri.sock"))
        cri = after.enter_context(closing(GrpcCri(f"unix://{place}/cri.sock")))
        cri.call(v.VERSION, m.VersionRequest()).result(LIMIT_S)  # the connection counts for nobody
        clients = after.enter_context(ThreadPoolExecutor(at_a_time))
        start = partial(_start, cri, runtime.image, f"{place}/log")
        if pods == 1:
            ready_after_s = _median([[end - began] for began, end in map(start, _one_by_one(range(SINGLES)))])
        else:
            began = monotonic()
            ready_after_s = sorted(end - began for _, end in clients.map(start, range(pods)))
    return burst(f"bare client, {at_a_time} at a time", runtime.name, pods, ready_after_s)


def _start(cri: GrpcCri, image: str, logs: str, number: int) -> tuple[float, float]:
    """Start a pod; return when that began and when it ran."""
    began, uid = monotonic(), f"bare-{number}"
    config = m.PodSandboxConfig(
        metadata=m.PodSandboxMetadata(name=uid, uid=uid, namespace="bench"),
        log_directory=f"{logs}/{uid}",
        labels={"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.name": uid},
    )
    os.makedirs(config.log_directory)
    sandbox = cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).result(CALL_LIMIT_S).pod_sandbox_id
    own = m.ContainerConfig(
        metadata=m.ContainerMetadata(name="app"),
        image=m.ImageSpec(image=image),
        command=SLEEPS,
        labels={**config.labels, "io.kubernetes.container.name": "app"},
        log_path="app.log",
    )
    request = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=own, sandbox_config=config)
    container = cri.call(v.CREATE_CONTAINER, request).result(CALL_LIMIT_S).container_id
    cri.call(v.START_CONTAINER, m.StartContainerRequest(container_id=container)).result(CALL_LIMIT_S)
    return began, monotonic()


# --- all --------------------------------------------------------------------------------------------------------------


def bursts(options: argparse.Namespace) -> Iterator[Burst]:
    """Each size on each runtime, by each agent and by the bare client."""
    for runtime in (SIMULATED, CONTAINERD) if options.containerd else (SIMULATED,):
        for pods in options.pods:
            if runtime is CONTAINERD and pods > MOST_REAL_PODS:
                continue
            yield by_agent(OURS, OWN, runtime, pods, options)
            if options.kubelet is not None:
                with TemporaryDirectory(prefix="actorlet-bench-") as certificates:
                    command = (options.kubelet, f"--cert-dir={certificates}")
                    yield by_agent("kubelet", command, runtime, pods, options)
            for at_a_time in sorted({min(4, pods), min(8, pods), min(pods, MOST_REAL_PODS)}):
                yield by_bare_client(runtime, pods, at_a_time)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, nargs="+", default=SIZES)
    parser.add_argument("--containerd", action="store_true", help="also on a private containerd")
    parser.add_argument("--kubelet", metavar="FILE", help="a kubelet to run the same bursts with")
    parser.add_argument("--kubeconfig", metavar="FILE", help="of an API server that runs, in place of the embedded one")
    parser.add_argument("--qps", type=int, default=QUICK, help="the agents' limit of requests a second")
    parser.add_argument("--tokens", action="store_true", help="pods mount a service account token, as most do")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the table into this SVG file")
    options = parser.parse_args()
    if options.containerd and os.geteuid() != 0:
        sys.exit("--containerd: containerd needs root; run this as root, or without --containerd")
    done: list[Burst] = []
    for each in bursts(options):
        done.append(each)
        print(json.dumps(each.rounded()), flush=True)
    print(table(done))
    if options.plot is not None:
        options.plot.write_text(plot(done))


if __name__ == "__main__":
    main()
