"""How long a container that keeps ending waits, on a whole node in virtual time (spec 2.1, 3.5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from config.kubelet import KubeletConfiguration
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import OTHER_IMAGE, SECOND, World, container, manifest

FAILS = {"run-for": "0s", "exit-code": "1"}


def waits(world: World) -> list[int]:
    """Whole seconds between the starts."""
    starts = world.starts_of("web")
    return [round(later - earlier) for earlier, later in pairwise(starts)]


def configured(maximum_s: int) -> KubeletConfiguration:
    usual = KubeletConfiguration()
    chosen = msgspec.structs.replace(usual.crash_loop_back_off, max_container_restart_period=maximum_s * SECOND)
    return msgspec.structs.replace(usual, crash_loop_back_off=chosen)


@pytest.mark.parametrize(
    ("maximum_s", "expected"), [(None, [0, 10, 20, 40, 80, 160, 300, 300]), (25, [0, 10, 20, 25, 25]), (3, [0, 3, 3])]
)
def test_waits_double_up_to_the_most_that_the_configuration_allows(maximum_s: int | None, expected: list[int]):
    options: dict[str, Any] = {} if maximum_s is None else {"configuration": configured(maximum_s)}
    world = World({"web.yaml": manifest("web", behaviour=FAILS)}, **options).start()
    world.run((sum(expected) + 5) * SECOND)
    assert waits(world)[: len(expected)] == expected


def test_a_worker_keeps_only_termination_messages_that_can_be_shown():
    behaviour = {**FAILS, "termination-message": "tired"}
    world = World({"web.yaml": manifest("web", behaviour=behaviour)}, configuration=configured(3)).start()
    world.run(5 * MINUTE)
    assert len(world.starts_of("web")) > 50
    worker = world.node.node.system.find(f"/node/sync-loop/{world.pod('web').metadata.uid}")
    assert worker is not None
    view = worker.actor_inbox.actor.parts.view
    assert set(view.messages.values()) == {"tired"}
    assert view.messages.keys() <= {each.id for each in view.seen().containers()}


def test_another_image_ends_the_wait():
    cluster = Cluster()
    annotations = {f"simulated.actorlet.dev/{knob}": value for knob, value in FAILS.items()}
    cluster.create("web", annotations=annotations)
    cluster.run(3 * MINUTE)
    pod = cluster.ask("GET", "/api/v1/namespaces/default/pods/web")
    before = pod["status"]["containerStatuses"][0]["restartCount"]
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    pod["spec"]["containers"] = [container(image=OTHER_IMAGE)]
    cluster.ask("PUT", "/api/v1/namespaces/default/pods/web", pod)
    cluster.run(5 * SECOND)
    after = cluster.ask("GET", "/api/v1/namespaces/default/pods/web")
    assert after["status"]["containerStatuses"][0]["restartCount"] > before
    assert after["status"]["containerStatuses"][0]["image"] == OTHER_IMAGE


@pytest.mark.parametrize("while_it_runs", [False, True], ids=["in its back-off", "while it runs"])
def test_a_container_that_crashes_with_another_image_too_waits_ten_seconds_again(while_it_runs: bool):
    cluster = Cluster()
    knobs = {"run-for": "5s", "exit-code": "1"}
    cluster.create("web", annotations={f"simulated.actorlet.dev/{knob}": value for knob, value in knobs.items()})

    def shown() -> dict[str, Any]:
        return cluster.ask("GET", "/api/v1/namespaces/default/pods/web")

    def runs() -> bool:
        return "running" in shown()["status"]["containerStatuses"][0]["state"]

    cluster.run(6 * MINUTE)
    cluster.until(lambda: not runs(), MINUTE)
    if while_it_runs:
        cluster.until(runs, 6 * MINUTE)
    pod = shown()
    pod["spec"]["containers"] = [container(image=OTHER_IMAGE)]
    cluster.ask("PUT", "/api/v1/namespaces/default/pods/web", pod)
    before, starts = set(cluster.node.cri.state.containers), dict[str, int]()
    for _ in range(60):
        cluster.run(SECOND)
        made = cluster.node.cri.state.containers.items()
        starts |= {id_: each.started_at // SECOND for id_, each in made if id_ not in before}
    assert [later - earlier for earlier, later in pairwise(starts.values())] == [15, 25]


def test_a_operation_that_fails_beside_it_makes_no_wait_longer():
    behaviour = {f"{knob}.app": value for knob, value in FAILS.items()} | {"fail.other": "CreateContainer"}
    both = [container(), container("other")]
    world = World({"web.yaml": manifest("web", both, behaviour=behaviour)}, configuration=configured(5)).start()
    world.run(2 * MINUTE)
    assert world.starts_of("web", "other") == []
    assert set(waits(world)[1:]) == {5}
