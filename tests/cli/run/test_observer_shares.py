"""What the observer's page gets of CPUs and memory that pods have for themselves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.messages.shares import NodeShares
from actors.model.shares import MemoryBlock, PodShares, Share
from cli.run.observer_shares import share_parts
from cli.run.observer_view import look
from config.frozen_map import FrozenMap
from simulation.host.topologies import topology_of
from tests.simulation.node.test_shares import node, pinned, runs
from tests.simulation.node.worlds import manifest

GIB = 2**30


def shares(topology: str, **book: PodShares) -> NodeShares:
    machine = topology_of(topology)
    memory = tuple(MemoryBlock((each.number,), "memory", 8 * GIB) for each in machine.nodes)
    return NodeShares(frozenset(book), machine, FrozenMap(book), Share(machine.online - {0}, memory), machine.online)


def pod(cpus: set[int], *blocks: MemoryBlock, whole: Share | None = None) -> PodShares:
    return PodShares(FrozenMap({"app": Share(frozenset(cpus), blocks)}), whole)


def drawn(parts: Any) -> dict[str, list[list[str]]]:
    """NUMA node -> its cores, each CPU as `number state`, with its pod."""
    return {
        key: [
            [" ".join(map(str, cpu.values())) for cpu in core] for socket in part["sockets"] for core in socket["cores"]
        ]
        for key, part in parts.items()
        if key.startswith("numa/")
    }


@pytest.mark.parametrize(
    ("topology", "book", "cores"),
    [
        ("1x2x2", {}, {"numa/0": [["0 reserved", "2 shared"], ["1 shared", "3 shared"]]}),
        ("1x2x2", {"a": pod({1, 3})}, {"numa/0": [["0 reserved", "2 shared"], ["1 given a", "3 given a"]]}),
        ("2x1x1", {"a": pod({1})}, {"numa/0": [["0 reserved"]], "numa/1": [["1 given a"]]}),
        ("1x2x1 memory-only=1", {}, {"numa/0": [["0 reserved"], ["1 shared"]], "numa/1": []}),
        (
            "1x4x1",
            {"a": pod({1}, whole=Share(frozenset({1, 2})))},
            {"numa/0": [["0 reserved"], ["1 given a"], ["2 given a"], ["3 shared"]]},
        ),
    ],
)
def test_each_cpu_is_in_its_node_with_its_pod(
    topology: str, book: dict[str, PodShares], cores: dict[str, list[list[str]]]
) -> None:
    assert drawn(share_parts(shares(topology, **book))) == cores


def test_memory_on_several_nodes_counts_on_each() -> None:
    both = MemoryBlock((0, 1), "memory", 3 * GIB)
    parts = share_parts(shares("2x1x1", a=pod({1}, both), b=pod(set(), MemoryBlock((1,), "memory", GIB))))
    assert [parts[f"numa/{number}"]["memory"][0]["given"] // GIB for number in (0, 1)] == [3, 4]
    assert parts["share/a"] == [
        {"name": "app", "cpus": "1", "memory": [{"kind": "memory", "bytes": 3 * GIB, "nodes": (0, 1)}]}
    ]


def test_a_node_without_policies_shows_nothing() -> None:
    assert share_parts(NodeShares(frozenset({"a"}))) == {}


def test_what_is_not_known_now_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    before = look(world.node.node, "1")
    ((_, held),) = [each for each in before.items() if each[0].startswith("share/")]
    assert msgspec.json.decode(held)[0]["cpus"] == "1,9"
    monkeypatch.setattr(type(world.node.node), "shares", lambda _: None)
    assert look(world.node.node, "1", before).keys() == before.keys()
