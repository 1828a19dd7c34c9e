"""The orders of a test to its cluster: structs for the lines of JSON between them.

Reading checks everything that needs no cluster; the cluster checks the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from simulation.cluster.auto_time import AUTO, PAUSE_S, PAUSES_S, SPEED
from simulation.cluster.operator_orders import OperatorOrder
from simulation.cri.behaviour import PREFIX, BehaviourError, parse_behaviour
from simulation.cri.behaviour_values import duration_ns
from simulation.scenarios.faults import AnyFault
from simulation.scenarios.mistakes import mistakes

PODS_AT_MOST = 100_000
NODES_AT_MOST = 1000
SPEED_AT_MOST = 10_000.0
YEARS = range(1970, 2200)

DEFAULT = "default"
"""The namespace of an order that names none."""

Count = Annotated[int, Meta(ge=0, le=PODS_AT_MOST)]


Failure = Literal[
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Expired",
    "TooManyRequests",
    "InternalError",
    "ServerTimeout",
    "ServiceUnavailable",
    "Timeout",
    "no-answer",
    "lost-answer",
    "cut",
]
"""The reason in a Status; or there is none, and the connection hangs or breaks."""
Verb = Literal["*", "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class OrderError(ValueError):
    """An order that cannot be carried out. The text says why."""


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="order"):
    pass


class Begin(_Order, frozen=True, tag="begin"):
    """The first order: make the cluster."""

    nodes: Annotated[int, Meta(ge=1, le=NODES_AT_MOST)]
    time: str
    start: str
    seed: int
    scheduler: bool
    cpus: Annotated[int, Meta(ge=1, le=1024)]
    memory: str
    pods_per_node: Annotated[int, Meta(ge=1, le=PODS_AT_MOST)]
    rbac: bool
    tls: bool = True
    """Whether the embedded API server speaks TLS."""
    control_plane: str = ""
    """Folder of etcd, kube-apiserver and the like; empty: the embedded API server."""
    controller_manager: str = ""
    """Path of a kube-controller-manager; empty: none."""
    pause: str = ""
    devices: str = ""
    """What device plugins offer on each node, such as "vendor.example/gpu=8"."""
    dra_drivers: str | dict[str, int | list[dict[str, Any]]] = ""
    """What drivers of claims offer on each node, such as "gpu.vendor.example=4"."""


class Now(_Order, frozen=True, tag="now"):
    """The cluster's time: seconds since its nodes were ready."""


class Step(_Order, frozen=True, tag="step"):
    """Let time pass at full speed."""

    time: str


class Wait(_Order, frozen=True, tag="wait"):
    """Let time pass at the cluster's speed."""

    time: str


class Limit(_Order, frozen=True, tag="limit"):
    """When that much time will have passed."""

    time: str


class Behave(_Order, frozen=True, tag="behave"):
    """Set the behaviour of containers; `knobs` are those of the simulated runtime."""

    name: str = "*"
    namespace: str = "*"
    container: str = ""
    knobs: Mapping[str, str] = {}

    def annotations(self) -> dict[str, str]:
        """The order as annotations of a pod. Raises OrderError."""
        behind = f".{self.container}" if self.container else ""
        said = {f"{PREFIX}{knob}{behind}": text for knob, text in self.knobs.items()}
        try:
            parse_behaviour(said)
        except BehaviourError as error:
            raise OrderError(str(error)) from None
        return said


class Unmatched(_Order, frozen=True, tag="unmatched"):
    """Ask which behaviours were set for pods that never existed."""


class Look(_Order, frozen=True, tag="look"):
    """Ask what there is, what is missing, and what clients ask: for a test that has waited in vain."""


class Apply(_Order, frozen=True, tag="apply"):
    """Apply the manifests in a file or a folder."""

    path: str
    namespace: str = DEFAULT


class ActAs(_Order, frozen=True, tag="act-as"):
    """Write a kubeconfig for a user, or for a service account that exists."""

    user: Annotated[str, Meta(min_length=1)]
    groups: tuple[str, ...]


class ServeWebhook(_Order, frozen=True, tag="serve-webhook"):
    """Set the URL at which a program serves the webhooks of a service."""

    service: Annotated[str, Meta(pattern="^[a-z0-9-]+/[a-z0-9-]+$")]
    url: Annotated[str, Meta(pattern="^https://[^/]+$")]


class Explain(_Order, frozen=True, tag="explain"):
    """Explain why a pod is in its state."""

    pod: str
    namespace: str = DEFAULT


class Troubles(_Order, frozen=True, tag="troubles"):
    """The programs that have ended and begun again, and the pods that are not Running."""


class Reset(_Order, frozen=True, tag="reset"):
    """Delete what has come since the beginning; end faults, loads and orders to pods."""


class Exit(_Order, frozen=True, tag="exit"):
    """End the containers of a pod, or only `container`."""

    pod: str
    namespace: str = DEFAULT
    container: str = ""
    code: Annotated[int, Meta(ge=0, le=255)] = 0
    oom: bool = False


class Hang(_Order, frozen=True, tag="hang"):
    """Let the containers of a pod answer no probe and ignore SIGTERM."""

    pod: str
    namespace: str = DEFAULT


class Say(_Order, frozen=True, tag="say"):
    """A container writes lines to its log now."""

    pod: str
    text: Annotated[str, Meta(min_length=1)]
    namespace: str = DEFAULT
    container: str = ""


class StartLoad(_Order, frozen=True, tag="load"):
    """Keep `replicas` pods, named `NAME-N`. Without a spec, each has one container that runs for ever."""

    name: str
    replicas: Count
    namespace: str = DEFAULT
    spec: Mapping[str, Any] = {}
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    def template(self) -> dict[str, Any]:
        """Labels, annotations and spec of a pod. All pods have the label `app: NAME`."""
        spec = self.spec or {"containers": [{"name": "app", "image": "registry.example/app:1"}]}
        return {"labels": {"app": self.name, **self.labels}, "annotations": self.annotations, "spec": spec}


class Scale(_Order, frozen=True, tag="scale"):
    """Keep another number of pods of a load."""

    name: str
    replicas: Count
    namespace: str = DEFAULT


class CountReady(_Order, frozen=True, tag="count-ready"):
    """How many pods of a load are Ready."""

    name: str
    namespace: str = DEFAULT


class AddNodes(_Order, frozen=True, tag="add-nodes"):
    """Add nodes like the others."""

    count: Annotated[int, Meta(ge=1, le=NODES_AT_MOST)] = 1


class KillNode(_Order, frozen=True, tag="kill-node"):
    """Cut the power of a node."""

    node: str


class StartNode(_Order, frozen=True, tag="start-node"):
    """Boot a killed node, with the disk it had."""

    node: str


class KillAgent(_Order, frozen=True, tag="kill-agent"):
    """Kill the agent of a node; a new one starts after `away`."""

    node: str
    away: str = "0s"


class PauseAgent(_Order, frozen=True, tag="pause-agent"):
    """Give the agent of a node no CPU for the time `lasts`."""

    node: str
    lasts: str


class CutNetwork(_Order, frozen=True, tag="cut-network"):
    """Lose all packets between a node and the API server for the time `lasts`."""

    node: str
    lasts: str


class Befall(_Order, frozen=True, tag="fault"):
    """Begin a fault, in the words of a scenario."""

    fault: AnyFault


class FailRequests(_Order, frozen=True, tag="fail-requests"):
    """Let requests of the test's own programs fail, `times` times, or (0) until `heal`. Agents are spared."""

    error: Failure
    verb: Verb = "*"
    resource: str = "*"
    name: str = "*"
    namespace: str = "*"
    user: str = "*"
    times: Annotated[int, Meta(ge=0)] = 0
    retry_after: str = ""
    message: str = ""


class Heal(_Order, frozen=True, tag="heal"):
    """End all faults."""


Order = (
    Begin
    | Now
    | Step
    | Wait
    | Limit
    | Behave
    | Unmatched
    | Look
    | Apply
    | ActAs
    | ServeWebhook
    | Explain
    | Troubles
    | Reset
    | Exit
    | Hang
    | Say
    | StartLoad
    | Scale
    | CountReady
    | AddNodes
    | KillNode
    | StartNode
    | KillAgent
    | PauseAgent
    | CutNetwork
    | Befall
    | FailRequests
    | Heal
    | OperatorOrder
)

_DECODER: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def read_order(line: bytes) -> Order:
    """Raises OrderError."""
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError:
        raise OrderError("; ".join(map(str, mistakes(Order, msgspec.json.decode(line))))) from None
    except msgspec.MsgspecError as error:
        raise OrderError(str(error)) from None


def ns_of(time: str) -> int:
    """`5m`. Raises OrderError."""
    try:
        return duration_ns(time)
    except ValueError as error:
        raise OrderError(str(error)) from None


def start_of(text: str) -> int | None:
    """Nanoseconds since 1970; None: the usual start. Raises OrderError."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = datetime.min
    if moment.tzinfo is None or moment.year not in YEARS:
        raise OrderError(
            f"start {text!r} is not a moment from {YEARS.start} to {YEARS.stop - 1}; write it as 2026-01-31T09:00:00Z"
        )
    return int(moment.timestamp()) * 10**9


def speed_of(time: str) -> float:
    """The speed as a multiple of real time; 0 is stepped. Raises OrderError.

    In the mode auto it is that while clients wait.
    """
    known = {"stepped": 0.0, "real": 1.0, AUTO: SPEED}.get(time)
    if known is not None:
        return known
    try:
        speed = float(time.removeprefix("x")) if time.startswith("x") else 0.0
    except ValueError:
        speed = 0.0
    if not 0 < speed <= SPEED_AT_MOST:
        raise OrderError(f"time {time!r} is none of stepped, real, auto, and x60 (at most x{SPEED_AT_MOST:g})")
    return speed


def pause_of(pause: str, time: str) -> float:
    """The pause of the mode auto in seconds. Raises OrderError."""
    if not pause:
        return PAUSE_S
    if time != AUTO:
        raise OrderError(f"pause {pause!r} means something with the time {AUTO} only, and the time is {time!r}")
    seconds, (shortest, longest) = ns_of(pause) / 1e9, PAUSES_S
    if not shortest <= seconds <= longest:
        raise OrderError(f"pause {pause!r} is not from {shortest * 1000:g}ms to {longest:g}s")
    return seconds
