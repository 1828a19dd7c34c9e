"""A pod that is merely large costs what its size is, and not the square of it.

Work is counted in lines of Python that actors run (`benchmarks.pod_size.ledger`), so it is the same on every machine.
Each pod is large in one field. One of twice the size may cost twice as much, and what every pod costs comes only once.
"""

from __future__ import annotations

import pytest

from benchmarks.pod_size.large_pods import large_pod
from benchmarks.pod_size.ledger import Entry, Ledger, StepClock
from benchmarks.pod_size.measured_node import MeasuredCluster

KIB = 1024
NAME = "large"
REFUSED = ("sysctls",)
"""The node does not take such a pod."""
TWICE = 2.3
FEW_STEPS = 10_000
"""What twice the size may cost beside that.

Messages that wait together are one, now more of them and now fewer.
"""


def life_of(field: str, kib: int) -> tuple[Ledger, ...]:
    cluster = MeasuredCluster(StepClock())
    start = cluster.start(large_pod(NAME, field, kib * KIB))
    assert cluster.status(NAME)["phase"] == ("Failed" if field in REFUSED else "Running")
    return start, cluster.update(NAME), cluster.end(NAME)


@pytest.mark.parametrize(
    ("field", "kib"),
    [
        ("containers", 12),
        ("env", 40),
        ("env that refers", 40),
        ("env of one ConfigMap", 40),
        ("envFrom", 40),
        ("args that refer", 40),
        ("ports", 40),
        ("host ports", 40),
        ("mounts of one volume", 20),
        ("host aliases", 40),
        ("tolerations", 40),
        ("node affinity", 40),
        ("sysctls", 40),
        ("readiness gates", 40),
        ("labels", 40),
        ("annotations", 40),
    ],
)
def test_a_pod_of_twice_the_size_costs_each_actor_at_most_twice_as_much(field: str, kib: int) -> None:
    phases = zip(("start", "update", "end"), life_of(field, kib), life_of(field, 2 * kib), strict=True)
    steps = {
        (phase, account): (small.by_account().get(account, Entry()).spent, entry.spent)
        for phase, small, large in phases
        for account, entry in large.by_account().items()
    }
    assert {each: (once, twice) for each, (once, twice) in steps.items() if twice > TWICE * once + FEW_STEPS} == {}
