"""`actorlet explain --what-if`: the document and its words."""

from __future__ import annotations

import json

import msgspec

from cli.inspect.local_views import WHAT_IF, inquiries_of
from cli.inspect.what_if import WhatIf, lines_of
from tests.simulation.node.test_shares import node, pinned
from tests.simulation.node.worlds import SECOND, World, manifest


def asked(world: World, cpu: str, memory: str = "1Gi") -> WhatIf:
    reply = inquiries_of(world.node.node)[WHAT_IF](manifest("w", [pinned(cpu, memory)]).encode())
    assert reply.status == 200, reply.body
    return msgspec.json.decode(reply.body, type=WhatIf)


def test_a_pod_that_fits_is_told_with_its_cpus_and_its_memory() -> None:
    assert list(lines_of(asked(node(), "2"))) == [
        "default/w: the node would take it",
        "  container app: CPUs 1,9, 1073741824 bytes of memory on NUMA node 0",
        "  CPUs that all others share: 0,2-8,10-15",
    ]


def test_a_pod_that_does_not_fit_is_told_with_what_excludes_it_and_who_would_have_to_go() -> None:
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned("4")]))
    world.node.put_manifest("b.yaml", manifest("b", [pinned("4")]))
    world.run(20 * SECOND)
    lines = list(lines_of(asked(world, "6")))
    assert lines[0] == (
        "default/w: the node would refuse it: TopologyAffinityError: "
        "Resources cannot be allocated with Topology locality"
    )
    assert lines[1] == "  cpu of container app fits on NUMA nodes 0, 1; not on NUMA nodes 0, 1 alone"
    assert lines[-1].startswith("  it would fit without default/")


def test_a_manifest_with_faults_is_told_like_any_other() -> None:
    reply = inquiries_of(node().node.node)[WHAT_IF](b"kind: Pod\napiVersion: v1\nmetadata: {name: w}\nspec: {}\n")
    assert reply.status == 422
    assert "spec.containers" in json.loads(reply.body)["error"]


def test_two_pods_at_once_are_refused() -> None:
    both = "---\n".join(manifest(name, [pinned()]) for name in "ab")
    assert inquiries_of(node().node.node)[WHAT_IF](both.encode()).status == 422
