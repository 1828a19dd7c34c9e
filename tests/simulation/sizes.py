"""How large the scenarios of the library are as tests: as small as still shows the same.

Over 200 seeds (`tox -e seeds`) a scenario has the middle size. CI plays two seeds of a smaller one, which must reach
what is rare as well.
"""

from __future__ import annotations

import contextlib
import gc
import os
from typing import Any

import msgspec
import psutil

from cli.silence import silence
from simulation.cri.behaviour_values import duration_ns
from simulation.play.parts import PlayPart, parts_of, together
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import Scenario, ScenarioError, library_scenario, with_nodes, with_pods
from tests.seeds import VARIABLE

STEP_NS = 10 * 10**9
ENOUGH_BYTES = 2**30
"""With so much memory it is time to look for worlds that are over."""


class Size(msgspec.Struct, frozen=True):
    """What is other than in the file; None: as there.

    `dead`: containers that lie on each node at the beginning. `greedy`: how large greedy pods are.
    """

    pods: int | None = None
    lasts: str | None = None
    nodes: int | None = None
    dead: int | None = None
    greedy: str | None = None


MIDDLE = {
    "a-day": Size(40, "1h"),
    "agent-restarts": Size(50),
    "everyday": Size(60),
    "everything-fails": Size(60),
    "frozen-actor": Size(4),
    "greedy-pods": Size(greedy="256Ki"),
    "lost-events": Size(60),
    "one-hung-pod": Size(61),
    "probes": Size(55),
    "torn-down": Size(20),
}
SMALL = MIDDLE | {
    "a-day": Size(20, "1h"),
    "bad-network": Size(30),
    "dead-containers": Size(30, "2m", dead=3000),
    "dead-mounts": Size(50),
    "everyday": Size(30),
    "everything-fails": Size(40),
    "evictions": Size(22, nodes=1),
    "false-events": Size(40),
    "frozen-actor": Size(2),
    "greedy-pods": Size(24, greedy="48Ki"),
    "image-collections": Size(lasts="3m"),
    "lost-events": Size(40),
    "one-hung-pod": Size(41),
    "probes": Size(33),
    "resizes": Size(22),
    "static-pods": Size(6),
    "stuck-terminating": Size(33),
    "torn-down": Size(12),
}
AS_IT_IS = Size()
TINY_LASTS_NS = 40 * 10**9
TINY_DEAD = 20
TINY_GREEDY = "4Ki"


def played(name: str, seed: int, size: Size | None = None) -> PlayOutcome:
    """The outcome of that seed, in this size, or in the size that these tests have now."""
    return together([(part, _played(part)) for part in parts_of(sized(name, size), seed)])


def _played(part: PlayPart) -> PlayOutcome:
    with silence():  # pytest would keep what is logged, and with an error the whole world that it came from
        play = Play(part.scenario, part.seed)
        while not play.done:
            play.advance(STEP_NS)
    outcome = play.outcome()
    del play
    # Each world is one ring. Python looks for rings by how many objects there are, not by the 350 MB of logs in one.
    if psutil.Process().memory_info().rss > ENOUGH_BYTES:
        gc.collect()
    return outcome


def sized(name: str, size: Size | None = None) -> Scenario:
    """The scenario of the library, of that size."""
    if size is None:
        size = (MIDDLE if os.environ.get(VARIABLE) else SMALL).get(name, AS_IT_IS)
    scenario = library_scenario(name)
    if size.pods is not None:
        scenario = with_pods(scenario, size.pods)
    if size.dead is not None:
        scenario = msgspec.structs.replace(
            scenario, node=msgspec.structs.replace(scenario.node, dead_containers=size.dead)
        )
    if size.greedy is not None:
        scenario = with_greedy(scenario, size=size.greedy)
    other: dict[str, Any] = {"lasts": size.lasts, "nodes": size.nodes}
    return msgspec.structs.replace(scenario, **{name: value for name, value in other.items() if value is not None})


def with_greedy(scenario: Scenario, **fields: str) -> Scenario:
    """The scenario with other greedy pods: another field, or another size."""
    pods = (
        mix
        if mix.greedy is None
        else msgspec.structs.replace(mix, greedy=msgspec.structs.replace(mix.greedy, **fields))
        for mix in scenario.pods
    )
    return msgspec.structs.replace(scenario, pods=tuple(pods))


def tiny(name: str) -> Scenario:
    """The scenario of the library as small as it can be: two pods of each mix.

    It is played thousands of times.
    """
    scenario = library_scenario(name)
    fixed = sum(mix.count for mix in scenario.pods if mix.fixed)
    free = sum(not mix.fixed for mix in scenario.pods)
    if free and scenario.pod_count() > fixed + 2 * free:
        scenario = with_pods(scenario, fixed + 2 * free)
    if scenario.lasts is not None and duration_ns(scenario.lasts) > TINY_LASTS_NS:
        scenario = msgspec.structs.replace(scenario, lasts=f"{TINY_LASTS_NS}ns")
    dead = min(scenario.node.dead_containers, TINY_DEAD)
    scenario = msgspec.structs.replace(scenario, node=msgspec.structs.replace(scenario.node, dead_containers=dead))
    scenario = with_greedy(scenario, size=TINY_GREEDY)
    with contextlib.suppress(ScenarioError):  # some fault names a node
        scenario = with_nodes(scenario, 1)
    return scenario
