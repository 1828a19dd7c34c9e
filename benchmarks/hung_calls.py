"""One pod whose calls to the runtime hang, and 50 others that start: do they notice?

    python -m benchmarks.hung_calls [--verbs StartContainer,ListContainers] [--pods 50] [--rounds 5]

The agent is `actorlet run`, joined to the embedded API server, with the simulated runtime behind a socket. Each is a
process of its own. For each verb there are two such nodes with a sick pod. On one node the sick pod is well. On the
other all calls of the verb about it hang from the first on. A verb that is about no single pod hangs once, whoever
calls it. Then `--pods` pods come at once on one node, run, and go; then on the other; and so on in turns. So the nodes
differ by the hang alone. The latency of a pod is from its creation to the moment at which the API shows it Running.

Prints a table: for each verb the 99th percentile of a burst, the median of `--rounds`, on both nodes; and the ratio.
`--verbs` names some; without it, all of `runtime.cri.verbs`. Those that the agent did not call are named last.
"""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from actors.kernel import PoolDispatcher
from benchmarks.live_node import IMAGE, LIMIT_S, NODE, LiveNode, live_node
from benchmarks.processes import process
from config.api.resources import PODS
from config.objects import Container, ExecAction, ObjectMeta, Pod, PodSpec, Probe, ResourceRequirements
from runtime.api import ApiError, WatchEvent, create, watch_objects
from runtime.api.calls import delete, patch
from runtime.cri.server import CriServer
from runtime.cri.verbs import ALL_VERBS
from simulation.cri import Settings, SimulatedCri
from simulation.cri.behaviour import CONTAINER_CALLS, POD_CALLS, PREFIX
from simulation.cri.files import DirectoryFiles
from simulation.cri.hung_calls import HungCalls

NAMESPACE = "default"
IMAGE_WHEN_WELL = "registry.example/sick:1"
IMAGE_WHEN_SICK = "registry.example/sick:2"
"""Another one, so that it must be pulled."""
HANGS_WITHIN_S = 12.0
COMES_LATE_S = {"RemoveContainer": 90.0}
"""A container must restart twice until the collector, which comes once a minute, removes one."""
WARM_UP = 2
"""Bursts that are not measured: an agent that has just begun has never run its code."""
AT_MOST = 1.2
CONFIGURATION: dict[str, Any] = {
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "kubeAPIQPS": 5000,
    "kubeAPIBurst": 10000,
    "containerLogMaxSize": "100Ki",
    "containerLogMonitorInterval": "3s",
}
"""The configuration of both nodes.

Users are not authorized, the limit of API calls hides no latency, and the log of the sick pod rotates soon.
"""
ABOUT_A_POD = CONTAINER_CALLS | POD_CALLS | {"ListContainers", "ListPodSandbox"}
"""Verbs whose calls name a pod; lists do when they are filtered."""
ABOUT_AN_IMAGE = frozenset({"ImageStatus", "RemoveImage"})
AT_ITS_END = frozenset({"StopContainer", "StopPodSandbox", "RemovePodSandbox"}) | {
    "ListContainers",
    "ListPodSandbox",
}
AFTER_A_RESIZE = frozenset({"UpdateContainerResources"})
OVER_HTTP = {
    "Exec": "/exec/default/sick/app?command=true&output=1",
    "Attach": "/attach/default/sick/app?output=1",
    "PortForward": "/portForward/default/sick?port=80",
    "CheckpointContainer": "/checkpoint/default/sick/app",
    "ListContainerStats": "/stats/summary",
    "ListPodSandboxStats": "/stats/summary",
}
"""What a user asks of the agent's server, by the verb that it leads to."""


# --- the runtime, in its process ---


def serve_runtime(path: str) -> None:
    """Be the runtime until standard input ends. Each line there is a hang: verb, pod, image, times."""
    dispatcher = PoolDispatcher(1)
    cri = SimulatedCri(dispatcher, Settings(images=(IMAGE,)), files=DirectoryFiles())
    hung = HungCalls(cri, lambda verb: print(verb, flush=True))
    with CriServer(cri, path):
        print("ready", flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            hung.hang(order["verb"], pod=order["pod"], image=order["image"], times=order["times"])
    dispatcher.close()


class HungRuntime:
    """That process, as the benchmark sees it."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        self._hung: Counter[str] = Counter()
        self._changed = threading.Condition()
        assert running.stdout is not None
        if running.stdout.readline() != "ready\n":
            raise SystemExit("the runtime has ended")
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._running.stdout is not None
        for line in self._running.stdout:
            with self._changed:
                self._hung[line.strip()] += 1
                self._changed.notify_all()

    def hang(self, verb: str) -> None:
        """Let calls of the verb about the sick pod hang; or the next, where it is about no pod."""
        about_it = verb in ABOUT_A_POD
        order = {
            "verb": verb,
            "pod": "sick" if about_it else "",
            "image": IMAGE_WHEN_SICK if verb in ABOUT_AN_IMAGE else "",
            "times": None if about_it or verb in ABOUT_AN_IMAGE else 1,
        }
        assert self._running.stdin is not None
        print(json.dumps(order), file=self._running.stdin, flush=True)

    def hangs(self, verb: str) -> bool:
        """Wait until a call has hung. False: none came."""
        with self._changed:
            return self._changed.wait_for(lambda: self._hung[verb] > 0, COMES_LATE_S.get(verb, HANGS_WITHIN_S))


# --- the pods ---


class Latencies:
    """From the creation of each pod to Running in the API, in seconds. Told on the loop."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._took: dict[str, float] = {}
        self._there: set[str] = set()
        self._changed = threading.Condition()

    def begins(self, name: str) -> None:
        self._began[name] = perf_counter()

    def told(self, event: WatchEvent[Pod]) -> None:
        pod = event.object
        if pod is None:
            return
        name = pod.metadata.name
        with self._changed:
            if event.type == "DELETED":
                self._there.discard(name)
            else:
                self._there.add(name)
                if pod.status is not None and pod.status.phase == "Running" and name not in self._took:
                    self._took[name] = perf_counter() - self._began.get(name, perf_counter())
            self._changed.notify_all()

    def ended(self, error: ApiError | None) -> None:
        """A watch that ends early shows in what is waited for."""

    def all_of(self, names: list[str]) -> list[float]:
        """Once all run. Those that do not count as the limit."""
        with self._changed:
            self._changed.wait_for(lambda: all(name in self._took for name in names), LIMIT_S)
            return [self._took.get(name, LIMIT_S) for name in names]

    def wait_until_gone(self, names: list[str]) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: not self._there.intersection(names), LIMIT_S):
                raise SystemExit(f"pods do not go: {sorted(self._there.intersection(names))[:5]}")


def plain_pod(name: str) -> Pod:
    container = Container(name="app", image=IMAGE, image_pull_policy="IfNotPresent")
    spec = PodSpec(node_name=NODE, automount_service_account_token=False, containers=(container,))
    return Pod(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)


def sick_pod(image: str, run_for: str) -> Pod:
    """One that needs most verbs: a pull, a probe by command, a log that grows.

    Its requests can be resized.
    """
    probe = Probe(exec=ExecAction(command=("true",)), period_seconds=1)
    container = Container(
        name="app",
        image=image,
        image_pull_policy="IfNotPresent",
        readiness_probe=probe,
        resources=ResourceRequirements(requests={"cpu": "10m", "memory": "10Mi"}),
    )
    knobs = {"output": "so it goes", "output-every": "1s", "output-size": "64Ki", "run-for": run_for}
    spec = PodSpec(
        node_name=NODE,
        automount_service_account_token=False,
        termination_grace_period_seconds=1,
        containers=(container,),
    )
    annotations = {PREFIX + knob: text for knob, text in knobs.items()}
    return Pod(metadata=ObjectMeta(name="sick", namespace=NAMESPACE, annotations=annotations), spec=spec)


# --- one measurement ---


class Bench:
    """A server, a runtime and an agent, for one verb."""

    def __init__(self, node: LiveNode, runtime: HungRuntime, latencies: Latencies) -> None:
        self._api = node.api
        self._runtime = runtime
        self._latencies = latencies
        self._port = node.port
        self._bursts = 0

    def burst(self, pods: int) -> list[float]:
        """So many pods at once, until all run; then they go."""
        self._bursts += 1
        names = [f"pod-{self._bursts}-{number}" for number in range(pods)]
        answers = []
        for name in names:
            self._latencies.begins(name)
            answers.append(self._api.call(create(PODS, NAMESPACE, plain_pod(name))))
        for answer in answers:
            answer.result(LIMIT_S)
        took = self._latencies.all_of(names)
        for ended in [self._api.call(delete(PODS, NAMESPACE, name, grace_seconds=1)) for name in names]:
            ended.result(LIMIT_S)
        self._latencies.wait_until_gone(names)
        return took

    def begin(self, pods: int) -> None:
        """Warm up, and let the sick pod run; it is well so far."""
        for _ in range(WARM_UP):
            self.burst(pods)
        self._create_sick_pod(IMAGE_WHEN_WELL)
        self._latencies.all_of(["sick"])

    def let_hang(self, verb: str) -> bool:
        """Let calls of the verb about the sick pod hang, and give the agent a reason to make one.

        Whether it did.
        """
        if verb not in AT_ITS_END | AFTER_A_RESIZE and verb not in OVER_HTTP:
            self._delete_sick_pod()
            self._latencies.wait_until_gone(["sick"])
        self._runtime.hang(verb)
        if verb in AT_ITS_END:
            self._delete_sick_pod()
        elif verb in AFTER_A_RESIZE:
            self._resize_sick_pod()
        elif verb in OVER_HTTP:
            threading.Thread(target=self._ask_agent, args=(OVER_HTTP[verb],), daemon=True).start()
        else:
            self._create_sick_pod(IMAGE_WHEN_SICK, run_for="1s,1s,forever" if verb in COMES_LATE_S else "forever")
        return self._runtime.hangs(verb)

    def _create_sick_pod(self, image: str, run_for: str = "forever") -> None:
        self._api.call(create(PODS, NAMESPACE, sick_pod(image, run_for))).result(LIMIT_S)

    def _delete_sick_pod(self) -> None:
        self._api.call(delete(PODS, NAMESPACE, "sick", grace_seconds=1)).result(LIMIT_S)

    def _resize_sick_pod(self) -> None:
        resources = {"requests": {"cpu": "20m", "memory": "20Mi"}}
        change = {"spec": {"containers": [{"name": "app", "resources": resources}]}}
        self._api.call(patch(PODS, NAMESPACE, "sick", change, subresource="resize")).result(LIMIT_S)

    def _ask_agent(self, target: str) -> None:
        """A request of a user, which hangs."""
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=unchecked, timeout=LIMIT_S)
        headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
        plain = target.startswith(("/stats", "/checkpoint"))
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET" if "stats" in target else "POST", target, headers={} if plain else headers)
            connection.getresponse().read(1)


@contextmanager
def bench() -> Iterator[Bench]:
    """A node whose runtime does what it is told.

    The agent is killed at the end: with calls that hang it would take its time to end in order, and nothing of that is
    looked at.
    """
    runtimes: list[HungRuntime] = []

    @contextmanager
    def runtime(path: str) -> Iterator[None]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with process("benchmarks.hung_calls", "--serve-runtime", path, **pipes) as running:
            runtimes.append(HungRuntime(running))
            yield

    with live_node(runtime, **CONFIGURATION) as node:
        latencies = Latencies()
        watch = node.api.watch(watch_objects(PODS, resource_version="0"), latencies.told, latencies.ended)
        try:
            yield Bench(node, runtimes[0], latencies)
        finally:
            watch.close()
            node.process.kill()


# --- the table ---


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class Halves(NamedTuple):
    """Median p99 of the bursts of a node without the hang, and of one with it; s."""

    without: float
    with_hang: float


def compared(verb: str, pods: int, rounds: int) -> Halves | None:
    """Two nodes that differ by the hang alone, in turns. None where no call came that could hang."""
    with bench() as well, bench() as sick:
        for one in (well, sick):
            one.begin(pods)
        if not sick.let_hang(verb):
            return None
        p99s: dict[Bench, list[float]] = {well: [], sick: []}
        for number in range(rounds):
            for one in (well, sick) if number % 2 else (sick, well):
                p99s[one].append(percentile(one.burst(pods), 0.99))
        return Halves(median(p99s[well]), median(p99s[sick]))


def measured(verbs: list[str], pods: int, rounds: int, show: Callable[[str], object]) -> bool:
    """Measure each; whether all stayed within the limit."""
    show(f"| call that hangs | p99 without, ms | p99 with, ms | ratio | at most {AT_MOST:g} |")
    show("|---|---|---|---|---|")
    never: list[str] = []
    good = True
    for verb in verbs:
        halves = compared(verb, pods, rounds)
        if halves is None:
            never.append(verb)
            continue
        ratio = halves.with_hang / halves.without
        good = good and ratio <= AT_MOST
        about = "" if verb in ABOUT_A_POD | ABOUT_AN_IMAGE else ", once, of the node"
        holds = "holds" if ratio <= AT_MOST else "does not hold"
        show(f"| {verb}{about} | {halves.without * 1000:.0f} | {halves.with_hang * 1000:.0f} | {ratio:.2f} | {holds} |")
    if never:
        show(f"\nNot called in time: {', '.join(never)}.")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve-runtime", metavar="SOCKET", help=argparse.SUPPRESS)
    parser.add_argument("--verbs", help="some, divided by commas (default: all)")
    parser.add_argument("--pods", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.serve_runtime:
        serve_runtime(options.serve_runtime)
        return
    every = [verb.name for verb in ALL_VERBS if not verb.streaming]
    verbs = options.verbs.split(",") if options.verbs else every
    if unknown := [verb for verb in verbs if verb not in every]:
        parser.error(f"--verbs: {', '.join(unknown)}: there are {', '.join(every)}")
    good = measured(verbs, options.pods, options.rounds, lambda line: print(line, flush=True))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
