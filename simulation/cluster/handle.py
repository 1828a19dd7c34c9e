"""The test's side of a simulated cluster: a process that is started, told what to do, and ended.

Orders and answers are lines of JSON over the pipes of the child (`simulation.cluster.orders`). The child ends when its
standard input does, so that nothing is left when a test, or the whole process of tests, is killed. Everything here is
of the standard library: importing it costs a test run nothing. One thread at a time may use a cluster; its API server
serves any number.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

STEPPED, REAL = "stepped", "real"
BEGINS_WITHIN_S = 120.0
ANSWERS_WITHIN_S = 900.0
"""A day of a thousand pods is played in less."""
ENDS_WITHIN_S = 10.0
TOLD_OF_ERRORS_BYTES = 4000
LOOKS_A_SECOND = 10
"""How often a condition is looked at while time goes by itself."""
BEGINS_NOW = ("api-outage", "runtime-outage", "disk-full", "frozen-actor")
"""Faults that have a time, and come at once where none is said."""
CHILD = "simulation.cluster.child"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ClusterError(Exception):
    """The cluster refuses an order, or is no more. The text says why."""


class Cluster:
    """A cluster that runs. Made by `cluster`; ends with `close`, or as a context manager."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_search_path())}
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )
        self.pid = self._child.pid
        """Of the cluster's process."""
        self._unread = b""
        self._unanswered = 0
        """Orders whose answers nobody has read: whoever gave them was interrupted, or lost patience."""
        try:
            told = self._ask({"order": "begin", **options}, BEGINS_WITHIN_S)
        except BaseException:
            self.close()
            raise
        self._stepped: bool = told["speed"] == 0
        self._speed: float = told["speed"]
        self.kubeconfig: str = told["kubeconfig"]
        """Path of a file that is there for as long as the cluster."""
        self.url: str = told["url"]
        self.nodes: tuple[str, ...] = tuple(told["nodes"])
        """Names of all nodes, killed ones included."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it. May be called more than once."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._child.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._errors.close()

    # --- time -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Seconds of the cluster's own time since its nodes were ready."""
        return float(self._ask({"order": "now"})["seconds"])

    def step(self, time: str = "1s") -> float:
        """Let so much of the cluster's time pass as fast as it can (`90s`, `5m`, `1h30m`), with all that happens in it.

        Returns the time then, in seconds. In a cluster whose time goes by itself it is a leap.
        """
        return float(self._ask({"order": "step", "time": time})["seconds"])

    def until(self, condition: Callable[[], object], *, within: str = "5m", every: str = "") -> float:
        """Let time pass until `condition()` is true, looked at `every` so often: each second where time is stepped.

        Returns the time then. Raises TimeoutError when it is not true `within` that much of the cluster's time.
        """
        if every and self._passes_no_time(every):
            raise ValueError(f"every={every!r} lets no time pass between two looks; write `1s`, or leave it out")
        look = every or ("1s" if self._stepped else f"{self._speed / LOOKS_A_SECOND:f}s")
        told = self._ask({"order": "limit", "time": within})
        until_s, seconds = float(told["until"]), float(told["seconds"])
        while not condition():
            if seconds >= until_s:
                raise TimeoutError(f"{_name_of(condition)} does not hold after {within} of the cluster's time")
            order = "step" if self._stepped else "wait"
            seconds = float(self._ask({"order": order, "time": look})["seconds"])
        return seconds

    def _passes_no_time(self, time: str) -> bool:
        told = self._ask({"order": "limit", "time": time})
        return float(told["until"]) <= float(told["seconds"])

    # --- pods -------------------------------------------------------------------------------------------------------

    def behave(self, name: str = "*", *, namespace: str = "*", container: str = "", **knobs: object) -> None:
        """What the containers of these pods do from now on (`run_for="3s"`, `exit_code=1`, `readiness_probe="fail"`).

        `name` and `namespace` are patterns as in a shell; `container`: of that name only. The knobs are those of
        docs/simulated-runtime.md with underscores; what the pod itself says in annotations goes before. What runs
        takes it for its next probe, its stop, its next attempt. The last order for a pod and knob counts.
        """
        said = {knob.replace("_", "-"): _word(value) for knob, value in knobs.items()}
        self._ask({"order": "behave", "name": name, "namespace": namespace, "container": container, "knobs": said})

    def exit(
        self, pod: str, code: int = 0, *, container: str = "", namespace: str = "default", oom: bool = False
    ) -> None:
        """A container of the pod ends now (all of them without `container`); `oom`: killed for want of memory."""
        which = {"pod": pod, "namespace": namespace, "container": container}
        self._ask({"order": "exit", **which, "code": 137 if oom else code, "oom": oom})

    def hang(self, pod: str, *, namespace: str = "default") -> None:
        """The containers that the pod has answer no probe and heed no SIGTERM from now on."""
        self._ask({"order": "hang", "pod": pod, "namespace": namespace})

    def say(self, pod: str, text: str, *, container: str = "", namespace: str = "default") -> None:
        """A container of the pod writes these lines to its log now (all of them without `container`)."""
        self._ask({"order": "say", "pod": pod, "namespace": namespace, "container": container, "text": text})

    def load(
        self,
        name: str,
        replicas: int,
        *,
        namespace: str = "default",
        spec: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Load:
        """Keep so many pods `name-N` of one template, as a Deployment does: what goes is replaced.

        `spec`: of a pod; without one, a container that runs for ever. They have the label `app: name`.
        """
        template = {
            "labels": {"app": name, **(labels or {})},
            "annotations": dict(annotations or {}),
            "spec": dict(spec or {"containers": [{"name": "app", "image": "registry.example/app:1"}]}),
        }
        self._ask({"order": "load", "name": name, "namespace": namespace, "replicas": replicas, "template": template})
        return Load(self._ask, name, namespace)

    # --- nodes ------------------------------------------------------------------------------------------------------

    def add_nodes(self, count: int = 1) -> tuple[str, ...]:
        """So many more, like the others; their names. They are Ready after a second or two of the cluster's time."""
        added = tuple(self._ask({"order": "add-nodes", "count": count})["nodes"])
        self.nodes += added
        return added

    def kill_node(self, node: str) -> None:
        """The machine loses its power: agent and containers are gone, and nothing is said to anybody."""
        self._ask({"order": "kill-node", "node": node})

    def start_node(self, node: str) -> None:
        """A machine that was killed boots, with the disk it had."""
        self._ask({"order": "start-node", "node": node})

    def kill_agent(self, node: str, *, away: str = "0s") -> None:
        """The agent of a node dies, and a new one begins after a while; containers run on."""
        self._ask({"order": "kill-agent", "node": node, "away": away})

    def pause_agent(self, node: str, lasts: str) -> None:
        """The agent of a node gets no CPU for a while."""
        self._ask({"order": "pause-agent", "node": node, "lasts": lasts})

    def cut_network(self, node: str, lasts: str) -> None:
        """Nothing passes between a node and the API server for a while; nothing is refused either."""
        self._ask({"order": "cut-network", "node": node, "lasts": lasts})

    # --- faults -----------------------------------------------------------------------------------------------------

    def fault(self, kind: str, **fields: object) -> None:
        """Something goes wrong from now on: a fault of docs/simulate.md, such as `fault("runtime-calls", fail=0.1)`.

        Between the nodes and the API server, and between agents and runtimes; the test's own client is left alone.
        What has a length (`api-outage`, `runtime-outage`, `disk-full`) begins now and `lasts`; `runtime-calls`,
        `runtime-events`, `api-calls`, `api-watches` and `network` go on until `heal`.
        """
        said = {"at": "0s", **fields} if kind in BEGINS_NOW else fields
        self._ask({"order": "fault", "fault": {"fault": kind, **said}})

    def heal(self) -> None:
        """Nothing goes wrong any more. Nodes that were killed stay so."""
        self._ask({"order": "heal"})

    # --- the pipe ---------------------------------------------------------------------------------------------------

    def _ask(self, order: Mapping[str, Any], within_s: float = ANSWERS_WITHIN_S) -> dict[str, Any]:
        assert self._child.stdin is not None
        words = json.dumps(order).encode() + b"\n"
        for _ in range(self._unanswered):
            self._read_line("an earlier order", within_s)
        try:
            self._child.stdin.write(words)
            self._child.stdin.flush()
        except (OSError, ValueError):
            raise ClusterError(f"the simulated cluster is no more{self._last_words()}") from None
        self._unanswered += 1
        answer: dict[str, Any] = json.loads(self._read_line(repr(order["order"]), within_s))
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer

    def _read_line(self, order: str, within_s: float) -> bytes:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        while b"\n" not in self._unread:
            if not select.select([descriptor], [], [], within_s)[0]:
                raise ClusterError(f"the simulated cluster does not answer to {order} for {within_s:g} s")
            data = os.read(descriptor, 65536)
            if not data:
                raise ClusterError(f"the simulated cluster has ended{self._last_words()}")
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        self._unanswered -= 1
        return line

    def _last_words(self) -> str:
        if self._errors.closed:
            return ""
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - TOLD_OF_ERRORS_BYTES))
        text = self._errors.read().decode(errors="replace").strip()
        return f":\n{text}" if text else ""


class Load:
    """Pods of one template that are kept at a number."""

    def __init__(self, ask: Callable[[Mapping[str, Any]], dict[str, Any]], name: str, namespace: str) -> None:
        self._ask = ask
        self.name = name
        self.namespace = namespace

    def scale(self, replicas: int) -> None:
        """So many from now on; the youngest go first."""
        self._ask({"order": "scale", "name": self.name, "namespace": self.namespace, "replicas": replicas})

    @property
    def ready(self) -> int:
        """How many of its pods are Ready, as the API server has it."""
        return int(self._ask({"order": "count-ready", "name": self.name, "namespace": self.namespace})["ready"])


def cluster(
    *,
    nodes: int = 1,
    time: str = STEPPED,
    seed: int = 1,
    scheduler: bool = True,
    cpus: int = 4,
    memory: str = "16Gi",
    pods_per_node: int = 110,
) -> Cluster:
    """Start a cluster; returns when its nodes are Ready. Raises `ClusterError`.

    `time`: `stepped` (it stands still but for `step` and `until`), `real`, or `x60`: sixty times as fast as real time.
    `seed`: decides everything that happens in a stepped cluster. `scheduler`: whether the built-in one binds pods;
    without it yours does. `cpus`, `memory`, `pods_per_node`: what each node has.
    """
    sizes = {"cpus": cpus, "memory": memory, "pods_per_node": pods_per_node}
    return Cluster({"nodes": nodes, "time": time, "seed": seed, "scheduler": scheduler, **sizes})


def _search_path() -> list[str]:
    """Ours before all, and then those of this process: it may have been told of them by hand."""
    return [_ROOT, *(path for path in sys.path if path and path != _ROOT)]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name_of(condition: Callable[[], object]) -> str:
    return getattr(condition, "__name__", None) or repr(condition)
