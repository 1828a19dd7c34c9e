"""Simulated clusters for tests: whole agents on simulated nodes, behind an API server over HTTP.

`with cluster(nodes=3) as c:` starts one; `c.kubeconfig` is for any client of Kubernetes. The pytest plugin has a
fixture, `simulated_cluster`. `docs/how-to/testing-with-actorlet.md` shows both.

A cluster is a process of its own. It reads orders from its standard input and answers each on its standard output; both
are JSON, one line each (`simulation/cluster/orders.py` has the orders). It ends when its standard input does, so it
survives neither its test nor a killed test run. One thread at a time may use a cluster; its API server serves any
number. This module imports the standard library only, so a test run that wants no cluster pays nothing.

Durations are texts such as `90s`, `5m` or `1h30m`, and mean the cluster's time. A method that gives an order raises
`ClusterError` when the cluster refuses it, has ended, or does not answer in 15 minutes of real time.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from actorlet._cluster_process import ClusterError, ClusterProcess
from actorlet._operators import Operators

if TYPE_CHECKING:
    from actorlet._handles import Load
    from actorlet._sweep import Sweep, SweepFinding

__all__ = ["Cluster", "ClusterError", "ClusterWarning", "Load", "Sweep", "SweepFinding", "cluster"]

NODES_AT_MOST = 1000
_BEGINS_WITHIN_S = 120.0
_PLANE_BEGINS_WITHIN_S = 600.0
_ANSWERS_WITHIN_S = 900.0
"""A day of a thousand pods takes less."""
_LOOKS_A_SECOND = 10
"""How often `until` evaluates its condition, in real time, where time passes by itself."""
_AUTO = "auto"
_SHOWN_AT_MOST = 500
_LONGER = 0.05
"""How much of the time so far passes between two looks in the mode auto."""
_BEGINS_NOW = ("api-outage", "runtime-outage", "disk-full", "frozen-actor")
"""Faults that have a time; `fault` begins them at once unless `at` names one."""


_LATER = {"Load": "actorlet._handles", "Sweep": "actorlet._sweep", "SweepFinding": "actorlet._sweep"}
"""What is imported when somebody asks for it: most tests do not."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


class ClusterWarning(UserWarning):
    """Something was said of pods that have never existed, or of requests that never came."""


class Cluster(Operators):
    """A running cluster. `cluster` starts it; `close` ends it, and so does the end of a `with` block."""

    kubeconfig: str
    """Path of a file that exists as long as the cluster."""
    url: str
    """The URL of the API server: `https://127.0.0.1:PORT`, or with `tls=False` `http://...`.

    Without RBAC the server asks for no credentials.
    """
    certificate_authority: str
    """Path of the certificate that vouches for the server, for clients that take a URL; empty without TLS."""
    nodes: tuple[str, ...]
    """Names of all nodes, killed ones included."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._process = ClusterProcess()
        try:
            within_s = _PLANE_BEGINS_WITHIN_S if options["control_plane"] else _BEGINS_WITHIN_S
            begun = self._ask({"order": "begin", **options}, within_s)
        except BaseException:
            self.close()
            raise
        self._speed: float = begun["speed"]  # 0: stepped
        self._is_auto = begun["time"] == _AUTO
        self.kubeconfig = begun["kubeconfig"]
        self.url = begun["url"]
        self.certificate_authority = begun["certificate_authority"]
        self.nodes = tuple(begun["nodes"])

    @property
    def pid(self) -> int:
        """The id of the cluster's process."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """Of the cluster's process, 0 after an orderly end; None while it runs."""
        return self._process.exit_status

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ClusterError):
            for text in self._unmatched():
                warnings.warn(text, ClusterWarning, stacklevel=2)
        self.close()

    def close(self) -> None:
        """End the cluster and remove its files. A second call does nothing."""
        self._process.close()

    # --- time -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The cluster's time: seconds since its nodes were ready."""
        return float(self._ask({"order": "now"})["seconds"])

    def step(self, time: str = "1s") -> float:
        """Let this much of the cluster's time pass as fast as possible, with all that happens in it.

        Returns `now` afterwards. Where time passes by itself, this is a leap. In the mode `auto` it waits for clients
        that are at work.
        """
        return float(self._ask({"order": "step", "time": time})["seconds"])

    def until(self, condition: Callable[[], object], *, within: str = "5m", every: str = "") -> float:
        """Let time pass until `condition()` is true; returns `now` then.

        `every` is the time between two evaluations. By default it is one second in a stepped cluster. In the mode
        `auto` it grows from one second to a twentieth of the time so far. Otherwise it is a tenth of a real second.

        Raises ValueError when `every` is 0, and TimeoutError when the condition is not true `within` that time. Its
        text has what the condition returned last, the objects that have come, what is missing for them, and what
        clients have asked.
        """
        if every and self._passes_no_time(every):
            raise ValueError(f"every={every!r} lets no time pass between two looks; write `1s`, or leave it out")
        order = "step" if self._is_auto or not self._speed else "wait"
        limit = self._ask({"order": "limit", "time": within})
        until_s, began_s = float(limit["until"]), float(limit["seconds"])
        seconds = began_s
        while not (last := condition()):
            if seconds >= until_s:
                said = f"{_name_of(condition)} does not hold after {within} of the cluster's time"
                returned = "" if last is False else f"; it returned {_short(last)} last"
                raise TimeoutError("\n  ".join([f"{said}{returned}", *self._unmatched(), *self._circumstances()]))
            look = every or f"{self._look_s(seconds - began_s):f}s"
            seconds = float(self._ask({"order": order, "time": look})["seconds"])
        return seconds

    def _look_s(self, passed_s: float) -> float:
        """The time between two looks of `until`, in which so much time has passed. Each look is work in auto."""
        if self._is_auto:
            return max(1.0, passed_s * _LONGER)
        return self._speed / _LOOKS_A_SECOND or 1.0

    def _unmatched(self) -> list[str]:
        return list(self._ask({"order": "unmatched"})["unmatched"])

    def _circumstances(self) -> list[str]:
        look = self._ask({"order": "look"})
        found = (
            [f"there are {', '.join(look['found'])}"] if look["found"] else ["no object has come since the beginning"]
        )
        clients = look["clients"] or ["no client has asked anything"]
        return [*look["missing"], *found, *clients]

    def _passes_no_time(self, time: str) -> bool:
        limit = self._ask({"order": "limit", "time": time})
        return float(limit["until"]) <= float(limit["seconds"])

    # --- pods -------------------------------------------------------------------------------------------------------

    def behave(self, name: str = "*", *, namespace: str = "*", container: str = "", **knobs: object) -> None:
        """Say what the containers of pods do from now on.

        For example `run_for="3s"`, `exit_code=1`, `readiness_probe="fail"`.

        `name` and `namespace` are shell patterns; `container` limits the order to containers of that name. The knobs
        are those of docs/reference/simulated-runtime.md, with underscores. The last order for a pod and a knob counts,
        but annotations of the pod itself go before. A running container heeds it at its next probe, stop and attempt.

        A pattern may come before its pods. One that has matched no pod when the cluster ends is a `ClusterWarning`,
        and `until` names it when it gives up.
        """
        words = {knob.replace("_", "-"): _word(value) for knob, value in knobs.items()}
        self._ask({"order": "behave", "name": name, "namespace": namespace, "container": container, "knobs": words})

    def exit(
        self, pod: str, code: int = 0, *, container: str = "", namespace: str = "default", oom: bool = False
    ) -> None:
        """End a container of the pod now, or all of them without `container`.

        `code` is the exit code, 0 to 255. `oom`: the kernel killed it for want of memory, with code 137.
        """
        which = {"pod": pod, "namespace": namespace, "container": container}
        self._ask({"order": "exit", **which, "code": 137 if oom else code, "oom": oom})

    def hang(self, pod: str, *, namespace: str = "default") -> None:
        """Let the running containers of the pod answer no probe and ignore SIGTERM from now on."""
        self._ask({"order": "hang", "pod": pod, "namespace": namespace})

    def say(self, pod: str, text: str, *, container: str = "", namespace: str = "default") -> None:
        """Write these lines to the log of a container of the pod, or of all without `container`."""
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
        """Keep `replicas` pods `name-N` of one template, as a Deployment does.

        A new one follows each that is deleted.

        `spec` is a PodSpec as JSON has it; without one, each pod has a container that runs for ever. All pods have the
        label `app: name`.
        """
        pods = {"spec": dict(spec or {}), "labels": dict(labels or {}), "annotations": dict(annotations or {})}
        self._ask({"order": "load", "name": name, "namespace": namespace, "replicas": replicas, **pods})
        from actorlet._handles import Load  # pytest imports this module at each start, in the plugin

        return Load(self._ask, name, namespace)

    # --- objects ----------------------------------------------------------------------------------------------------

    def apply(self, path: str | os.PathLike[str], *, namespace: str = "default") -> tuple[str, ...]:
        """Apply the manifests in a file, or in all files of a folder.

        Returns names such as `deployment.apps/web`. Namespaces and definitions of custom resources come first.
        `namespace` is for objects that name none. The error has all that is refused, with file and line.
        """
        where = os.path.abspath(os.fspath(path))
        return tuple(self._ask({"order": "apply", "path": where, "namespace": namespace})["applied"])

    def explain(self, pod: str, *, namespace: str = "default") -> str:
        """Why the pod is in its state: status, conditions, last events."""
        return str(self._ask({"order": "explain", "pod": pod, "namespace": namespace})["text"])

    def troubles(self) -> tuple[str, ...]:
        """One line with the reason for each pod that is neither Running and ready nor through.

        Before them stands a line for each program, such as a controller manager, that has ended and begun again.
        """
        answer = self._ask({"order": "troubles"})
        return (*answer["programs"], *answer["pods"])

    def reset(self) -> None:
        """Delete what has come since the cluster began, and end all faults, loads and orders to pods.

        Time goes on. Nodes stay, and get their power back. What was there at first stays as tests have changed it.
        """
        self._ask({"order": "reset"})

    def kubernetes(self, user: str = "", groups: Sequence[str] = ()) -> Any:
        """A `kubernetes.client.ApiClient` of this cluster, for `client.CoreV1Api(...)` and the like.

        The client acts as an admin, or as the user and groups given (see `kubeconfig_of`). Raises ClusterError if the
        package is not installed.
        """
        from actorlet._handles import kubernetes_client

        return kubernetes_client(self.kubeconfig_of(user, groups) if user else self.kubeconfig)

    def lightkube(self, user: str = "", groups: Sequence[str] = ()) -> Any:
        """A `lightkube.Client` of this cluster; users and errors are as in `kubernetes`."""
        from actorlet._handles import lightkube_client

        return lightkube_client(self.kubeconfig_of(user, groups) if user else self.kubeconfig)

    def kubeconfig_of(self, user: str, groups: Sequence[str] = ()) -> str:
        """Write a kubeconfig for a user, with a token of his own, and return its path.

        `system:serviceaccount:NAMESPACE:NAME` must be an account that exists. Any other name is a user with these
        groups and `system:authenticated`. In a cluster with `rbac=True`, roles decide what he may do.
        """
        return str(self._ask({"order": "act-as", "user": user, "groups": list(groups)})["kubeconfig"])

    def serve_webhook(self, service: str, url: str) -> None:
        """Set the URL of a service for admission webhooks.

        For example `serve_webhook("shop/hooks", "https://127.0.0.1:9443")`. `service` is `NAMESPACE/NAME`, as in the
        `clientConfig` of webhooks. The certificate at the URL must still be for `NAME.NAMESPACE.svc`. A webhook with a
        `url` of its own does not need this.
        """
        self._ask({"order": "serve-webhook", "service": service, "url": url})

    # --- nodes ------------------------------------------------------------------------------------------------------

    def add_nodes(self, count: int = 1) -> tuple[str, ...]:
        """Add nodes like the others; returns their names.

        They are Ready after about two seconds of cluster time.
        """
        added = tuple(self._ask({"order": "add-nodes", "count": count})["nodes"])
        self.nodes += added
        return added

    def kill_node(self, node: str) -> None:
        """Cut the power of a node: its agent and containers are gone, and nobody is told."""
        self._ask({"order": "kill-node", "node": node})

    def start_node(self, node: str) -> None:
        """Boot a killed node, with the disk it had."""
        self._ask({"order": "start-node", "node": node})

    def kill_agent(self, node: str, *, away: str = "0s") -> None:
        """Kill the agent of a node; a new one starts after `away`. The containers run on."""
        self._ask({"order": "kill-agent", "node": node, "away": away})

    def pause_agent(self, node: str, lasts: str) -> None:
        """Give the agent of a node no CPU for this long."""
        self._ask({"order": "pause-agent", "node": node, "lasts": lasts})

    def cut_network(self, node: str, lasts: str) -> None:
        """Lose all packets between a node and the API server for this long."""
        self._ask({"order": "cut-network", "node": node, "lasts": lasts})

    # --- faults -----------------------------------------------------------------------------------------------------

    def fault(self, kind: str, **fields: object) -> None:
        """Begin a fault of docs/reference/scenarios.md, such as `fault("runtime-calls", fail=0.1)`.

        Faults strike between nodes and the API server, and between agents and runtimes. The test's own client meets
        errors by `fail_requests`.
        `api-outage`, `runtime-outage` and `disk-full` begin now, or in `at`, and last for `lasts`. `runtime-calls`,
        `runtime-events`, `api-calls`, `api-watches` and `network` go on until `heal`.
        """
        words = {"at": "0s", **fields} if kind in _BEGINS_NOW else fields
        self._ask({"order": "fault", "fault": {"fault": kind, **words}})

    def fail_requests(
        self,
        error: str,
        *,
        verb: str = "*",
        resource: str = "*",
        name: str = "*",
        namespace: str = "*",
        user: str = "*",
        times: int = 0,
        retry_after: str = "",
        message: str = "",
    ) -> None:
        """Let requests of the test's own programs fail.

        For example `fail_requests("TooManyRequests", verb="create", times=2)`.

        `error` is the reason of a Status, such as `Conflict`; or `no-answer`, `lost-answer` or `cut` of the connection.
        `resource` (`pods`, `pods/status`, `deployments.apps`), `name`, `namespace` and `user` are shell patterns.
        `times` 0: until `heal`. `retry_after`, such as `2s`, and `message` go into the answer.

        One that no request has matched when the cluster ends is a `ClusterWarning`, and `until` names it.
        """
        which = {"verb": verb, "resource": resource, "name": name, "namespace": namespace, "user": user}
        more = {"times": times, "retry_after": retry_after, "message": message}
        self._ask({"order": "fail-requests", "error": error, **which, **more})

    def heal(self) -> None:
        """End every fault, and drop those that have not begun. Killed nodes stay off."""
        self._ask({"order": "heal"})

    def _another(self, **options: Any) -> Cluster:
        """A cluster with the options of this one, except these."""
        return Cluster({**self._options, **options})

    def _ask(self, order: Mapping[str, Any], within_s: float = _ANSWERS_WITHIN_S) -> dict[str, Any]:
        return self._process.ask(order, within_s)


def cluster(
    *,
    nodes: int = 1,
    time: str = "",
    start: str = "",
    seed: int = 1,
    scheduler: bool = True,
    cpus: int = 4,
    memory: str = "16Gi",
    pods_per_node: int = 110,
    rbac: bool = False,
    tls: bool = True,
    control_plane: str | os.PathLike[str] = "",
    controller_manager: str | os.PathLike[str] = "",
    pause: str = "",
    devices: str = "",
    dra_drivers: str | Mapping[str, int | Sequence[Mapping[str, Any]]] = "",
) -> Cluster:
    """Start a cluster and return when its nodes are Ready.

    Args:
        nodes: how many, 1 to 1000; their names are `node-0` and so on.
        time: `stepped` (time passes in `step` and `until` only; the default), `auto` (time passes while clients wait),
            `real`, or `x60`: sixty times as fast as real time. With a control plane it is `real`.
        start: the time of day when the nodes begin, such as `2026-01-31T09:00:00Z`. Without one, it is the real one, or
            2026-01-01T00:00:00Z in a stepped cluster.
        seed: decides everything random; a stepped cluster with the same seed and orders does the same.
        scheduler: whether the built-in scheduler binds pods; with False, yours does.
        cpus, memory, pods_per_node: the size of each node; `memory` is a quantity.
        rbac: whether roles and bindings are enforced. Then `kubeconfig` is that of an admin, nodes have the
            rights of nodes, and a client without a token is anonymous.
        tls: whether the API server speaks TLS. With False it speaks plain HTTP, for a proxy or a recorder of requests.
        control_plane: folder with a real etcd and kube-apiserver, as envtest has them, and if wanted a
            kube-controller-manager and a kube-scheduler. They are the cluster's API server, in real time.
        controller_manager: path of a kube-controller-manager. It makes the pods of Deployments, Jobs and the like, in
            real time: take `time="auto"` or `"real"`.
        pause: with `time="auto"`: for how much real time no client asks or hears anything until time passes; `20ms` if
            nothing is said.
        devices: what device plugins offer on each node, such as `vendor.example/gpu=8,vendor.example/nic=2`.
        dra_drivers: drivers on each node that offer devices for claims, such as `gpu.vendor.example=4`; or driver ->
            number, or list of devices as a ResourceSlice has them. Each has a DeviceClass of its name.

    Raises:
        ClusterError: an option is wrong, or the cluster did not start within two minutes of real time, with a control
            plane ten.
    """
    if isinstance(nodes, int) and not 1 <= nodes <= NODES_AT_MOST:
        raise ClusterError(f"nodes={nodes} is refused: a cluster has 1 to {NODES_AT_MOST} nodes")
    more: dict[str, Any] = {"cpus": cpus, "memory": memory, "pods_per_node": pods_per_node, "rbac": rbac}
    more["tls"] = tls
    more |= {"control_plane": _absolute(control_plane), "controller_manager": _absolute(controller_manager)}
    more |= {"pause": pause, "devices": devices, "dra_drivers": dra_drivers}
    time = time or ("real" if more["control_plane"] else "stepped")
    return Cluster({"nodes": nodes, "time": time, "start": start, "seed": seed, "scheduler": scheduler, **more})


def _absolute(path: str | os.PathLike[str]) -> str:
    """The path for a process elsewhere; empty stays empty."""
    return os.path.abspath(path) if os.fspath(path) else ""


def _word(value: object) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_AT_MOST else f"{text[:_SHOWN_AT_MOST]}..."


def _name_of(condition: Callable[[], object]) -> str:
    return getattr(condition, "__name__", None) or repr(condition)
