"""The orders about an operator under test: run it, let it come to rest, record a run of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from simulation.operators.records import Record


class _Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="order"):
    pass


class RunOperator(_Order, frozen=True, tag="run"):
    """Start a program with a kubeconfig and an identity of its own, and again whenever it ends."""

    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    environment: Mapping[str, str] = {}
    """All of it, except `KUBECONFIG`."""
    directory: str = ""
    user: str = "operator"
    groups: tuple[str, ...] = ()


class Settle(_Order, frozen=True, tag="settle"):
    """Let time pass until nothing changes any more: neither for `quiet`, nor while the operator was still.

    `still` is real time in which the operator asks nothing and takes no CPU. `lasting`: a lag ends before.
    """

    quiet: str = "15s"
    still: str = "300ms"
    within: str = "20m"
    lasting: bool = False


class RecordRun(_Order, frozen=True, tag="record"):
    """Record the operator that is run next."""

    fault: str = ""
    """Such as `kill-after create pods default/web #1`, or none."""


class TakeRecord(_Order, frozen=True, tag="take-record"):
    """What was recorded. The operator ends."""

    failure: str = ""
    """Of the scenario."""
    has_state: bool = False
    state: Any = None
    """With `has_state`: what to compare instead of the objects."""


class Outputs(_Order, frozen=True, tag="outputs"):
    """Ask for the last lines of the operators."""


class PlanSweep(_Order, frozen=True, tag="plan-sweep"):
    """Begin a sweep with the records of two runs without a fault; the answer has the faults to play."""

    first: Record
    second: Record
    kinds: tuple[str, ...] = ()
    at_most: Annotated[int, Meta(ge=1)] = 300


class TakeRun(_Order, frozen=True, tag="take-run"):
    """Take the record of a run with a fault; `again`: it is one more of a finding."""

    fault: str
    record: Record
    again: bool = False


class SweepFound(_Order, frozen=True, tag="sweep-found"):
    """Ask what the sweep has found so far."""


SweepOrder = PlanSweep | TakeRun | SweepFound
OperatorOrder = RunOperator | Settle | RecordRun | TakeRecord | Outputs | PlanSweep | TakeRun | SweepFound
