"""Sweeps of a scenario in Python: it plays each run in a thread with a cluster of its own.

What to play, and what a run proves, is the business of the cluster that was asked for the sweep
(`simulation/sweep/book.py`). This module imports the standard library only.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from actorlet._cluster_process import ClusterError

if TYPE_CHECKING:
    from actorlet.testing import Cluster

ONLY = "ACTORLET_SWEEP"
JOBS_PER_CORE = 4
PATIENCE = 2
"""How many times as long the operator must be still in runs without a fault and in those that confirm."""
PAUSE = "30ms"
_OUTPUT_SHOWN = 12

Oracle = Callable[["Cluster"], object]
Scenario = Callable[["Cluster"], object]


@dataclass(frozen=True)
class SweepFinding:
    """`name`: the same in each sweep. `fault`: plays it again, in `ACTORLET_SWEEP`. `lines`: its story.

    It came in `came` of `tried` runs.
    """

    name: str
    fault: str
    lines: tuple[str, ...]
    came: int
    tried: int
    known: bool
    output: tuple[str, ...]

    def __str__(self) -> str:
        head = f"{self.name}  ({self.came} of {self.tried} runs{', known' if self.known else ''})"
        again = f"again:  {ONLY}={_quoted(self.fault)} pytest ..."
        return "\n  ".join([head, *self.lines, again])


@dataclass(frozen=True)
class Sweep:
    """What a sweep has found; its text tells all. `unmet`: faults whose moment never came."""

    findings: tuple[SweepFinding, ...]
    runs: int
    left_out: int = 0
    unmet: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[SweepFinding, ...]:
        """The findings that are in no file of known ones: `assert not sweep.new, str(sweep)`."""
        return tuple(one for one in self.findings if not one.known)

    def __str__(self) -> str:
        count = len(self.findings)
        head = f"{count} finding{'' if count == 1 else 's'} in {self.runs} runs, {len(self.new)} of them new"
        return "\n".join([head, *map(str, self.findings)])


def swept(
    book: Cluster,
    scenario: Scenario,
    *,
    oracle: Oracle | None,
    kinds: Sequence[str],
    known: str,
    runs: int,
    again: int,
    jobs: int,
    still: str,
) -> Sweep:
    """See `Cluster.sweep`. `book`: the cluster that plans and judges; no run is played in it."""
    names = _known_names(known)
    jobs = jobs or JOBS_PER_CORE * len(os.sched_getaffinity(0))
    with _Players(book, scenario, oracle, still, jobs) as players:
        first, second = players.play([("", PATIENCE), ("", PATIENCE)])
        _check(first)
        plan = {"order": "plan-sweep", "first": first, "second": second, "kinds": list(kinds), "at_most": runs}
        planned = book._ask(plan)
        faults = list(planned["faults"])
        if only := os.environ.get(ONLY, ""):
            faults = [only]
        _give(book, faults, players.play([(fault, 1) for fault in faults]), again=False)
        found = book._ask({"order": "sweep-found"})["findings"]
        repeated = [one["fault"] for one in found for _ in range(again)]
        _give(book, repeated, players.play([(fault, PATIENCE) for fault in repeated]), again=True)
    answer = book._ask({"order": "sweep-found"})
    findings = tuple(_finding(one, names) for one in answer["findings"])
    played = 2 + len(faults) + len(repeated)
    return Sweep(findings, played, planned["left_out"], tuple(answer["unmet"]))


def _give(book: Cluster, faults: Sequence[str], records: Sequence[Any], *, again: bool) -> None:
    for fault, record in zip(faults, records, strict=True):
        book._ask({"order": "take-run", "fault": fault, "record": record, "again": again})


def _check(first: Mapping[str, Any]) -> None:
    said = "".join(f"\n  {line}" for line in first["output"][-_OUTPUT_SHOWN:])
    words = f"\nits last words:{said}" if said else ""
    if first["failure"]:
        raise ClusterError(f"the scenario fails without a fault: {first['failure']}{words}")
    if not first["asked"]:
        raise ClusterError(f"the operator has asked the API server for nothing; does it read KUBECONFIG?{words}")
    if not first["runs"]:
        raise ClusterError(f"the operator does not run at the end without a fault{words}")


def _finding(told: Mapping[str, Any], known: frozenset[str]) -> SweepFinding:
    name = str(told["name"])
    lines, output = tuple(told["lines"]), tuple(told["output"])
    return SweepFinding(name, str(told["fault"]), lines, told["came"], told["tried"], name in known, output)


def _known_names(path: str) -> frozenset[str]:
    if not path or not os.path.exists(path):
        return frozenset()
    with open(path, encoding="utf-8") as file:
        lines = (line.partition("  #")[0].strip() for line in file)
        return frozenset(line for line in lines if line and not line.startswith("#"))


def _quoted(text: str) -> str:
    from shlex import quote  # most test runs find nothing

    return quote(text)


class _Players:
    """Threads with a cluster each. The first error of one ends the sweep."""

    def __init__(self, book: Cluster, scenario: Scenario, oracle: Oracle | None, still: str, jobs: int) -> None:
        self._book = book
        self._scenario = scenario
        self._oracle = oracle
        self._still = still
        self._jobs = jobs
        self._idle: queue.SimpleQueue[Cluster] = queue.SimpleQueue()
        self._all: list[Cluster] = []
        self._lock = threading.Lock()

    def __enter__(self) -> _Players:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._all:
            each.close()

    def play(self, runs: Sequence[tuple[str, int]]) -> list[Any]:
        """The records of these runs: fault and patience of each. Raises what a run raises."""
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(runs)):
            todo.put(number)
        records: list[Any] = [None] * len(runs)
        errors: list[BaseException] = []

        def work() -> None:
            try:
                mine = self._cluster()
                while not errors:
                    number = todo.get_nowait()
                    records[number] = self._played(mine, *runs[number])
            except queue.Empty:
                self._idle.put(mine)
            except BaseException as error:  # whatever it is, the caller gets it
                errors.append(error)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(self._jobs, len(runs)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return records

    def _cluster(self) -> Cluster:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            made = self._book._another(time="auto", pause=PAUSE)
            with self._lock:
                self._all.append(made)
            return made

    def _played(self, mine: Cluster, fault: str, patience: int) -> Any:
        mine.reset()
        mine._ask({"order": "record", "fault": fault})
        failure, state = "", None
        try:
            self._scenario(mine)
            still = f"{patience * _ns(mine, self._still)}ns"
            mine._ask({"order": "settle", "still": still, "lasting": True})
            if self._oracle is not None:
                state = self._oracle(mine)
        except ClusterError:
            if mine.exit_status is not None:
                raise
            failure = _text_of_error()
        except Exception:
            failure = _text_of_error()
        taken = {"order": "take-record", "failure": failure, "has_state": self._oracle is not None, "state": state}
        return mine._ask(taken)["record"]


def _ns(mine: Cluster, time: str) -> int:
    limit = mine._ask({"order": "limit", "time": time})
    return round((float(limit["until"]) - float(limit["seconds"])) * 1e9)


def _text_of_error() -> str:
    import traceback  # most runs fail nowhere
    from sys import exc_info

    return traceback.format_exception_only(exc_info()[1])[-1].strip()
