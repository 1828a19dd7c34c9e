"""What a run of an operator came to: requests, events that it was shown, and the state at the end."""

from __future__ import annotations

from typing import Any

import msgspec

from simulation.operators.keys import Key


class Asked(msgspec.Struct, frozen=True):
    """A request. `code`: of its answer, 0 if none was given.

    `step`: of the scenario, from 0. `life`: of the process, from 1. `changed`: whether it changed anything.
    `lagged`: whether the server lagged behind for the operator.
    """

    key: Key
    code: int
    step: int
    life: int
    changed: bool = False
    lagged: bool = False


class Shown(msgspec.Struct, frozen=True):
    """An event of a watch: a change of an object that the operator was shown for the first time."""

    key: Key
    step: int


class Record(msgspec.Struct, frozen=True):
    """All of one run.

    `struck`: whether the fault struck; true without one. `settled`: whether the operator came to rest. `runs`: whether
    its process did at the end. `ends`: how it has ended by itself, each time. `state`: place of each object -> the
    object, as `sweep.state` makes it. `output`: the last lines of the operator. `failure`: of the scenario, or empty.
    `steps`: the state after each step but the last; None while a fault still had its effect.
    """

    asked: tuple[Asked, ...] = ()
    shown: tuple[Shown, ...] = ()
    pods: tuple[Shown, ...] = ()
    struck: bool = True
    settled: bool = True
    runs: bool = True
    ends: tuple[str, ...] = ()
    state: dict[str, Any] = {}
    steps: tuple[dict[str, Any] | None, ...] = ()
    output: tuple[str, ...] = ()
    failure: str = ""
