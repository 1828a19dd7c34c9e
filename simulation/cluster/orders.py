"""The orders of a test to its cluster: structs for the lines of JSON between them.

Reading checks everything that needs no cluster; the cluster checks the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from simulation.cri.behaviour import PREFIX, BehaviourError, parse_behaviour
from simulation.cri.behaviour_values import duration_ns
from simulation.scenarios.faults import AnyFault
from simulation.scenarios.misspelt import with_hint

PODS_AT_MOST = 100_000
NODES_AT_MOST = 1000
SPEED_AT_MOST = 10_000.0
YEARS = range(1970, 2200)

Count = Annotated[int, Meta(ge=0, le=PODS_AT_MOST)]


class OrderError(ValueError):
    """An order that cannot be carried out. The text says why."""


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="order"):
    pass


class Begin(_Order, frozen=True, tag="begin"):
    """The first order."""

    nodes: Annotated[int, Meta(ge=1, le=NODES_AT_MOST)]
    time: str
    start: str
    seed: int
    scheduler: bool
    cpus: Annotated[int, Meta(ge=1, le=1024)]
    memory: str
    pods_per_node: Annotated[int, Meta(ge=1, le=PODS_AT_MOST)]


class Now(_Order, frozen=True, tag="now"):
    pass


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
    name: str
    namespace: str
    container: str
    knobs: Mapping[str, str]

    def annotations(self) -> dict[str, str]:
        """As a pod would say it. Raises OrderError."""
        behind = f".{self.container}" if self.container else ""
        said = {f"{PREFIX}{knob}{behind}": text for knob, text in self.knobs.items()}
        try:
            parse_behaviour(said)
        except BehaviourError as error:
            raise OrderError(str(error)) from None
        return said


class Unmatched(_Order, frozen=True, tag="unmatched"):
    """What was said of pods that there have never been."""


class Apply(_Order, frozen=True, tag="apply"):
    """Apply the manifests in a file or a folder."""

    path: str
    namespace: str


class Explain(_Order, frozen=True, tag="explain"):
    pod: str
    namespace: str


class Troubles(_Order, frozen=True, tag="troubles"):
    """The pods that are not Running."""


class Reset(_Order, frozen=True, tag="reset"):
    pass


class Exit(_Order, frozen=True, tag="exit"):
    pod: str
    namespace: str
    container: str
    code: Annotated[int, Meta(ge=0, le=255)]
    oom: bool


class Hang(_Order, frozen=True, tag="hang"):
    pod: str
    namespace: str


class Say(_Order, frozen=True, tag="say"):
    """A container writes lines to its log now."""

    pod: str
    namespace: str
    container: str
    text: Annotated[str, Meta(min_length=1)]


class StartLoad(_Order, frozen=True, tag="load"):
    name: str
    namespace: str
    replicas: Count
    template: Mapping[str, Any]


class Scale(_Order, frozen=True, tag="scale"):
    name: str
    namespace: str
    replicas: Count


class CountReady(_Order, frozen=True, tag="count-ready"):
    name: str
    namespace: str


class AddNodes(_Order, frozen=True, tag="add-nodes"):
    count: Annotated[int, Meta(ge=1, le=NODES_AT_MOST)]


class KillNode(_Order, frozen=True, tag="kill-node"):
    node: str


class StartNode(_Order, frozen=True, tag="start-node"):
    node: str


class KillAgent(_Order, frozen=True, tag="kill-agent"):
    node: str
    away: str


class PauseAgent(_Order, frozen=True, tag="pause-agent"):
    node: str
    lasts: str


class CutNetwork(_Order, frozen=True, tag="cut-network"):
    node: str
    lasts: str


class Befall(_Order, frozen=True, tag="fault"):
    fault: AnyFault


class Heal(_Order, frozen=True, tag="heal"):
    pass


Order = (
    Begin
    | Now
    | Step
    | Wait
    | Limit
    | Behave
    | Unmatched
    | Apply
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
    | Heal
)

_DECODER: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)


def read_order(line: bytes) -> Order:
    """Raises OrderError."""
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError as error:
        raise OrderError(with_hint(str(error), Order, msgspec.json.decode(line))) from None
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
            f"start {text!r} is no moment from {YEARS.start} to {YEARS.stop - 1}; write it as 2026-01-31T09:00:00Z"
        )
    return int(moment.timestamp()) * 10**9


def speed_of(time: str) -> float:
    """The speed as a multiple of real time; 0 is stepped. Raises OrderError."""
    if time == "stepped":
        return 0.0
    if time == "real":
        return 1.0
    try:
        speed = float(time.removeprefix("x")) if time.startswith("x") else 0.0
    except ValueError:
        speed = 0.0
    if not 0 < speed <= SPEED_AT_MOST:
        raise OrderError(f"time {time!r} is none of stepped, real, and x60 (at most x{SPEED_AT_MOST:g})")
    return speed
