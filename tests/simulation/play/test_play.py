"""When the pods of a mix come and go."""

from __future__ import annotations

from collections import Counter

from simulation.play.play import Play
from simulation.scenarios.scenario import read_scenario

REPLICAS = b"""
about: replicas
pods: [{name: web, count: 7, together: 3, arrives: [0s, 30s], lives: [5s, 20s]}]
"""


def operations_of_the_world(seed: int) -> list[tuple[int, str]]:
    """Each with its time, in ns."""
    lines: list[str] = []
    play = Play(read_scenario(REPLICAS), seed, sink=lines.append)
    while not play.done:
        play.advance(10**9)
    assert (play.outcome().violations, play.converged, play.share()) == ((), True, 1.0)
    words = [line.split(maxsplit=2) for line in "".join(lines).splitlines()]
    return [(int(now_ns), what) for now_ns, who, what in words if who == "world"]


def test_replicas_come_at_one_moment_and_go_at_one():
    operations = [(now_ns, *what.split()) for now_ns, what in operations_of_the_world(7) if "web" in what]
    for operation in ("creates", "deletes"):
        at_ns = {name: now_ns for now_ns, what, name in operations if what == operation}
        assert len(at_ns) == 7
        assert sorted(Counter(at_ns.values()).values()) == [1, 3, 3]
        assert at_ns["web-0"] == at_ns["web-1"] == at_ns["web-2"]
