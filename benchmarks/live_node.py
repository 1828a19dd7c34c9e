"""A node as on a machine: `actorlet run` as a process.

Its API server and its simulated runtime are processes beside it.

The root directory lies in memory where it can, so that no disk is measured. The agent serves on ports that were free.

The API server may also be one that runs already, and the agent a kubelet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psutil

from actors.kernel import SystemReport
from benchmarks.processes import embedded_apiserver, process, program
from cli.inspect.local_views import ACTORS, report_in
from cli.run.node_start import CONTAINER_LOGS
from config.api.resources import NODES, PODS, Resource
from config.objects import Node, Pod
from runtime.api import Api, ApiError, WatchEvent, delete, watch_objects
from runtime.api.access import read_access
from runtime.api.lines import api_lines
from runtime.http_server.local_endpoint import ask
from runtime.io.event_loop import LoopThread
from runtime.io.pending import Subscription
from runtime.volumes.mounts import KernelMounts
from tests.ports import free_ports
from tests.real.waiting import until

NODE = "bench"
IMAGE = "busybox:1.36"
LIMIT_S = 120.0
IN_MEMORY = "/dev/shm"
MIB = 2**20


class Following:
    """Watches of one resource, one after the other.

    One that fails is the last; it shows in what is waited for.
    """

    def __init__(self, api: Api, resource: Resource[Any], told: Callable[[WatchEvent[Any]], None]) -> None:
        self._api = api
        self._resource = resource
        self._told = told
        self._version = "0"
        self._closed = False
        self._watch = self._begin()

    def close(self) -> None:
        self._closed = True
        self._watch.close()

    def _begin(self) -> Subscription:
        call = watch_objects(self._resource, resource_version=self._version)
        return self._api.watch(call, self._event, self._ended)

    def _event(self, event: WatchEvent[Any]) -> None:
        self._version = event.resource_version
        self._told(event)

    def _ended(self, error: ApiError | None) -> None:
        if error is None and not self._closed:
            self._watch = self._begin()


class Seen:
    """What the API shows: which nodes and pods are Ready, and which pods are there.

    A server ends each watch within the hour, in order. Another goes on then, from the last version that was told.
    """

    def __init__(self) -> None:
        self._following: list[Following] = []
        self._ready: dict[str, float] = {}
        self._pods: set[str] = set()
        self._changed = threading.Condition()

    def follow(self, api: Api, *resources: Resource[Any]) -> None:
        self._following += [Following(api, resource, self.told) for resource in resources]

    def close(self) -> None:
        for each in self._following:
            each.close()

    def told(self, event: WatchEvent[Any]) -> None:
        """Called on the loop."""
        found: Node | Pod | None = event.object
        if found is None:
            return
        conditions = found.status.conditions if found.status is not None else ()
        with self._changed:
            name = found.metadata.name
            if any(each.type == "Ready" and each.status == "True" for each in conditions):
                self._ready.setdefault(name, monotonic())
            if isinstance(found, Pod):
                (self._pods.discard if event.type == "DELETED" else self._pods.add)(name)
            self._changed.notify_all()

    def pods(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._pods)

    def ready_at(self, names: set[str]) -> list[float]:
        """When these became Ready for the first time, sorted; those that have been. The clock is `monotonic`."""
        with self._changed:
            return sorted(self._ready[name] for name in names & self._ready.keys())

    def all_ready(self, names: set[str], limit_s: float) -> bool:
        """Wait until all of these have been Ready; False when they are not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: names <= self._ready.keys(), limit_s)

    def wait(self, names: set[str]) -> None:
        """Return once all of these have been Ready. Raises SystemExit when they are not in time."""
        if not self.all_ready(names, LIMIT_S):
            with self._changed:
                raise SystemExit(f"not ready after {LIMIT_S:g} s: {', '.join(sorted(names - self._ready.keys())[:5])}")

    def wait_gone(self, names: set[str]) -> None:
        """Return once none of these pods is there. Raises SystemExit when they are not gone in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: not names & self._pods, LIMIT_S):
                raise SystemExit(f"not gone after {LIMIT_S:g} s: {', '.join(sorted(names & self._pods)[:5])}")


@dataclass(frozen=True)
class LiveNode:
    """`api` is an admin's client, `process` the agent."""

    name: str
    place: str
    api: Api
    seen: Seen
    process: psutil.Process
    port: int
    read_only_port: int

    @property
    def root(self) -> str:
        return f"{self.place}/root"

    def report(self) -> SystemReport:
        """Its actors, as `actorlet actors` shows them."""
        return report_in(ask(self.root, ACTORS, LIMIT_S).body)

    def memory_bytes(self) -> int:
        """The resident memory of the agent."""
        return int(self.process.memory_info().rss)

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def plain_runtime(socket: str) -> Iterator[None]:
    """The simulated runtime behind that socket, which exists when this enters."""
    words = ("actorlet", "simulated-cri", "--socket", socket, "--image", IMAGE)
    with process(*words, stdout=subprocess.DEVNULL) as runtime:
        until(lambda: os.path.exists(socket) or runtime.poll() is not None, LIMIT_S, "the runtime does not begin")
        yield


OWN = (sys.executable, "-m", "actorlet", "run")
"""The command of our agent."""


@contextmanager
def live_node(
    runtime: Callable[[str], AbstractContextManager[object]] = plain_runtime,
    *,
    name: str = NODE,
    command: Sequence[str] = OWN,
    kubeconfig: str | None = None,
    **fields: Any,
) -> Iterator[LiveNode]:
    """The node, once it is Ready. `runtime` serves a runtime behind a socket. `command` starts the agent.

    `kubeconfig`: an admin's, of an API server that runs; without, the embedded one is started. `fields` are more of
    the KubeletConfiguration, under their names there.
    """
    with ExitStack() as after:
        beside = IN_MEMORY if os.path.isdir(IN_MEMORY) else None
        place = after.enter_context(tempfile.TemporaryDirectory(prefix="actorlet-bench-", dir=beside))
        socket = f"{place}/cri.sock"
        joins = kubeconfig is not None
        if kubeconfig is None:
            kubeconfig = f"{place}/kubeconfig"
            after.enter_context(embedded_apiserver(kubeconfig, "--no-tls"))
        after.enter_context(runtime(socket))
        loop = after.enter_context(closing(LoopThread("load")))
        api = after.enter_context(closing(api_lines(read_access(kubeconfig), loop, user_agent="load", qps=None))).main
        if joins:  # the server outlives the node, and may still show an earlier one
            _remove_node(api, name)
            after.callback(_remove_node, api, name)
        seen = after.enter_context(closing(Seen()))
        seen.follow(api, NODES, PODS)
        after.callback(unmount_pods, f"{place}/root")
        after.callback(_unlink, f"{place}/log")
        port, read_only = free_ports(2)
        flags = node_flags(name, place, kubeconfig, socket, {"port": port, "readOnlyPort": read_only, **fields})
        log = after.enter_context(open(f"{place}/agent.log", "wb"))
        agent = after.enter_context(program(*command, *flags, stderr=log))
        _wait_for_node(name, seen, agent, log.name)
        yield LiveNode(name, place, api, seen, psutil.Process(agent.pid), port, read_only)


def _remove_node(api: Api, name: str) -> None:
    api.call(delete(NODES, "", name)).exception(LIMIT_S)


def _wait_for_node(name: str, seen: Seen, agent: subprocess.Popen[str], log: str) -> None:
    """Return once the node is Ready. Raises SystemExit when it is not in time, or its agent has ended."""
    last = monotonic() + LIMIT_S
    while not seen.all_ready({name}, 0.5):
        if agent.poll() is not None or monotonic() > last:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise SystemExit(f"the node does not become Ready; its agent says:\n{file.read()[-2000:]}")


def unmount_pods(root: str) -> None:
    """The agent makes its root a mount, and leaves those of its pods when it ends before they do."""
    mounts = KernelMounts()
    for point in (*mounts.below(root), root):
        mounts.unmount(point, detach=True)


def _unlink(logs: str) -> None:
    """The agent leaves the links to the logs of its pods as well."""
    with suppress(FileNotFoundError), os.scandir(CONTAINER_LOGS) as links:
        for link in links:
            if link.is_symlink() and os.readlink(link).startswith(f"{logs}/"):
                os.unlink(link)


def node_flags(name: str, place: str, kubeconfig: str, socket: str, fields: dict[str, Any]) -> list[str]:
    """Those of a node on this machine, whatever it is like, beside which others may run."""
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{socket}",
        "podLogsDir": f"{place}/log",
        "healthzPort": 0,
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "clusterDNS": ["10.0.0.10"],
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": ["none"],
        "evictionHard": {"memory.available": "0%"},  # a full disk of this machine is not what is measured
        **fields,
    }
    path = f"{place}/config.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(configuration, file)
    return [f"--config={path}", f"--kubeconfig={kubeconfig}", f"--root-dir={place}/root", f"--hostname-override={name}"]
