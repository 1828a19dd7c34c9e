"""Refused pods say what excluded them, and the node says once that there are many of one owner."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.resources.refused_owners import CALM_NS, TOO_MANY
from cli.inspect.explain import show
from cli.inspect.local_views import WHAT_IF, explanation, inquiries_of
from cli.inspect.what_if import REFUSES, WhatIf, lines_of
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_shares import MACHINE, STATIC, node, pinned
from tests.simulation.node.worlds import SECOND, World, container, manifest

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-of-web", "controller": True}
REFUSALS = "RepeatedPodRefusals"


def cluster() -> Cluster:
    made = Cluster(topology=MACHINE, configuration=STATIC)
    made.run(5 * SECOND)
    return made


def create(made: Cluster, name: str, cpu: str) -> None:
    """A pod of the ReplicaSet web, bound to the node."""
    made.ask(
        "POST",
        "/api/v1/namespaces/default/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [OWNER]},
            "spec": {
                "nodeName": "node",
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 1,
                "containers": [{**container(), "resources": pinned(cpu)["resources"]}],
            },
        },
    )


def condition(made: Cluster) -> dict[str, Any] | None:
    found = made.ask("GET", "/api/v1/nodes/node")["status"]["conditions"]
    return next((each for each in found if each["type"] == REFUSALS), None)


def what_if(world: World, wanted: str) -> WhatIf:
    return msgspec.json.decode(inquiries_of(world.node.node)[WHAT_IF](wanted.encode()).body, type=WhatIf)


def test_a_refused_pod_is_explained_as_what_if_said_it_then(capsys: pytest.CaptureFixture[str]) -> None:
    world = node()
    for name in "ab":
        world.node.put_manifest(f"{name}.yaml", manifest(name, [pinned("4")]))
    world.run(20 * SECOND)
    wanted = manifest("w", [pinned("6")])
    then = what_if(world, wanted)
    world.node.put_manifest("w.yaml", wanted)
    world.run(20 * SECOND)
    world.node.remove_manifest("a.yaml")
    world.run(120 * SECOND)
    explained = explanation(world.node.node, "w")
    assert explained.at_refusal is not None
    assert msgspec.structs.replace(explained.at_refusal, pod=then.pod) == then
    assert then.verdict == REFUSES
    assert what_if(world, wanted) != then, "it is another moment now"
    lines = list(lines_of(explained.at_refusal))
    assert "  cpu of container app fits on NUMA nodes 0, 1; not on NUMA nodes 0, 1 alone" in lines
    assert lines[-1].startswith("  it would fit without default/")
    show(explained)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"When it was refused ({explained.refused_at})" in printed
    assert all(" ".join(line.split()) in printed for line in lines)


def test_hundreds_of_refused_pods_of_one_owner_are_told_once() -> None:
    made = cluster()
    create(made, "web-first", "4")
    made.run(2 * SECOND)
    writes = made.calls("patch nodes/status")
    for number in range(200):
        create(made, f"web-{number}", "9")
        made.run(SECOND // 2)
    made.run(5 * SECOND)
    assert made.pods()["web-199"]["status"]["reason"] == "TopologyAffinityError"
    told = condition(made)
    assert told is not None
    assert (told["status"], told["reason"]) == ("True", "PodsOfOwnerRefused")
    assert told["message"].startswith("ReplicaSet default/web: at least 160 pods in a row, such as web-159: Topology")
    (event,) = [each for each in made.node.node.events() if each.event.reason == REFUSALS]
    assert event.count == 200 - TOO_MANY + 1
    assert REFUSALS in made.events("node")
    assert made.calls("patch nodes/status") - writes <= 20, "200 refusals are no 200 writes"


def test_the_node_says_that_it_is_over_when_a_pod_of_the_owner_is_admitted() -> None:
    made = cluster()
    for number in range(TOO_MANY):
        create(made, f"web-{number}", "9")
    made.until(lambda: condition(made) is not None, 20 * SECOND)
    create(made, "web-small", "2")
    made.until(lambda: (condition(made) or {})["status"] == "False", 20 * SECOND)
    assert (condition(made) or {})["reason"] == "NoRepeatedPodRefusals"


def test_the_node_says_that_it_is_over_when_no_pod_was_refused_for_a_while() -> None:
    made = cluster()
    for number in range(TOO_MANY):
        create(made, f"web-{number}", "9")
    made.until(lambda: condition(made) is not None, 20 * SECOND)
    made.run(CALM_NS + 20 * SECOND)
    assert (condition(made) or {})["status"] == "False"


def test_a_new_agent_takes_back_what_the_last_one_said_and_a_quiet_node_says_nothing() -> None:
    made = cluster()
    assert condition(made) is None
    for number in range(TOO_MANY):
        create(made, f"web-{number}", "9")
    made.until(lambda: condition(made) is not None, 20 * SECOND)
    made.node.restart_agent()
    made.until(lambda: (condition(made) or {})["status"] == "False", 60 * SECOND)
