"""What a pod writes with `$(NAME)` may cost the node little (spec 13.4).

The pod says why it does not start.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.expansion import EXPANDED_AT_MOST, PATH_AT_MOST
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_references import MAPS, put, runs, waiting
from tests.simulation.node.worlds import IMAGE, SECOND, World, container, manifest

REFUSED = "CreateContainerConfigError"
DOUBLING = [{"name": "A0", "value": "x" * 64}] + [
    {"name": f"A{number + 1}", "value": f"$(A{number})$(A{number})"} for number in range(25)
]
"""2 GiB, if it was expanded."""
LONG = [{"name": "L", "value": "x" * 100_000}]
OPEN = "$(" * 75_000
"""Once held the interpreter for a minute."""
TWENTY_FIVE = "$(L)" * 25


def why(world: World) -> tuple[str, str]:
    state = world.status("web").state
    assert state is not None
    return ("", "") if state.waiting is None else (state.waiting.reason or "", state.waiting.message or "")


@pytest.mark.parametrize(
    ("fields", "said", "at_most"),
    [
        ({"env": DOUBLING}, "spec.containers[0].env", EXPANDED_AT_MOST),
        ({"env": LONG, "command": [TWENTY_FIVE]}, "spec.containers[0].command", EXPANDED_AT_MOST),
        ({"env": LONG, "args": ["$(L)"] * 25}, "spec.containers[0].args", EXPANDED_AT_MOST),
        (
            {"env": LONG, "volumeMounts": [{"name": "data", "mountPath": "/d", "subPathExpr": TWENTY_FIVE}]},
            "spec.containers[0].volumeMounts[0].subPathExpr",
            PATH_AT_MOST,
        ),
    ],
    ids=["env", "command", "args", "subPathExpr"],
)
def test_a_container_whose_references_multiply_is_refused_by_place(
    fields: dict[str, Any], said: str, at_most: int
) -> None:
    pod = manifest("web", [container(**fields)], volumes=[{"name": "data", "emptyDir": {}}])
    world = World({"web": pod, "well": manifest("well")}).start()
    world.run(30 * SECOND)
    reason, message = why(world)
    assert reason == REFUSED
    assert said in message
    assert f"longer than {at_most} characters after expansion" in message
    assert len(message) < 1000
    assert [each for each in world.running() if "web" in each] == []
    assert [each for each in world.running() if "well" in each]


def test_a_config_map_taken_again_and_again_is_refused() -> None:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    put(cluster, MAPS, "ConfigMap", "large", data={"A": "x" * 1_000_000})
    origin = {"configMapRef": {"name": "large"}}
    cluster.create("web", containers=[container(envFrom=[{**origin, "prefix": f"P{number}"} for number in range(3)])])
    cluster.run(30 * SECOND)
    reason, message = waiting(cluster, "web")
    assert reason == REFUSED
    assert "longer than 2097152 characters" in message
    assert not runs(cluster, "web")


@pytest.mark.parametrize("field", ["command", "args", "env"])
def test_a_text_full_of_open_references_starts_as_it_stands(field: str) -> None:
    fields = {"env": [{"name": "A", "value": OPEN}]} if field == "env" else {field: [OPEN]}
    world = World({"web": manifest("web", [container(**fields)])}).start()
    world.until(world.settled)
    [record] = world.running_records()
    config = record.config
    found = [each.value.decode() for each in config.envs] if field == "env" else getattr(config, field)
    assert OPEN in found


def test_a_probe_whose_command_multiplies_fails_and_says_so() -> None:
    probe = {"exec": {"command": [TWENTY_FIVE]}, "periodSeconds": 1, "failureThreshold": 1}
    world = World({"web": manifest("web", [container(env=LONG, readinessProbe=probe)])}).start()
    world.run(30 * SECOND)
    assert any("Readiness probe" in each and "longer than 2097152 characters" in each for each in world.said("web"))
    [record] = world.running_records()
    assert record.commands == []


def test_a_hook_is_given_its_words_as_they_stand() -> None:
    hook = {"postStart": {"exec": {"command": ["say", TWENTY_FIVE]}}}
    world = World({"web": manifest("web", [container(image=IMAGE, env=LONG, lifecycle=hook)])}).start()
    world.until(world.settled)
    [record] = world.running_records()
    assert record.commands == [("say", TWENTY_FIVE)]
