"""The agent is killed at any moment and started again.

The pods do not notice (pain 8), and nothing is made twice.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.node.worlds import MS, SECOND, World, container, manifest

PODS = {
    "plain": manifest("plain"),
    "slow": manifest("slow", behaviour={"start-delay": "300ms", "late": "RunPodSandbox=200ms, CreateContainer=200ms"}),
    "staged": manifest(
        "staged",
        [container("app"), container("other")],
        behaviour={"run-for.init": "500ms"},
        initContainers=[container("init"), container("side", restartPolicy="Always")],
    ),
    "job": manifest("job", behaviour={"run-for": "700ms"}, restartPolicy="Never"),
    "volume": manifest(
        "volume",
        [container(volumeMounts=[{"name": "data", "mountPath": "/data"}])],
        volumes=[{"name": "data", "emptyDir": {}}],
    ),
}
EXPECTED = ["plain/app", "slow/app", "staged/app", "staged/other", "staged/side", "volume/app"]
MADE = 8


def steps_to_run() -> int:
    world = World(PODS).start()
    world.run(20 * SECOND)
    assert world.running() == EXPECTED
    assert len(world.made) == MADE
    world = World(PODS).start()
    steps = 0
    while world.running() != EXPECTED or world.phases().get("job") != "Succeeded":
        world.step()
        steps += 1
    return steps


@pytest.fixture(scope="module")
def last_step() -> int:
    return steps_to_run()


def kill_after(steps: int, seed: int, dead_ns: int, **options: Any) -> World:
    world = World(PODS, seed=seed, **options).start()
    for _ in range(steps):
        world.step()
    world.node.kill()
    world.run(dead_ns)
    world.node.restart_agent()
    return world


@pytest.mark.parametrize("dead_ns", [0, 50 * MS, 3 * SECOND])
def test_an_agent_killed_at_any_step_of_the_start_makes_no_container_twice(last_step: int, dead_ns: int):
    for step in range(0, last_step + 40, 5 if dead_ns else 3):
        world = kill_after(step, step % 7, dead_ns)
        world.run(60 * SECOND)
        assert world.running() == EXPECTED, f"killed after {step} steps"
        names = [record.name for record in world.made.values()]
        assert len(names) == MADE, f"killed after {step} steps: {sorted(names)}"
        assert set(world.phases().values()) == {"Running", "Succeeded"}


def test_an_agent_killed_many_times_in_a_row_restarts_no_container():
    world = World(PODS, seed=5).start()
    world.run(20 * SECOND)
    before = {record.id for record in world.running_records()}
    for life in range(30):
        world.node.restart_agent()
        for _ in range(life * 5):
            world.step()
    world.run(60 * SECOND)
    assert {record.id for record in world.running_records()} == before
    assert world.running() == EXPECTED
    assert {name: world.status(name).restart_count for name in ("plain", "slow", "volume")} == {
        "plain": 0,
        "slow": 0,
        "volume": 0,
    }


# (spec 16.5)
def test_a_pod_that_was_shown_running_is_shown_running_with_the_same_start_after_a_restart():
    world = World(PODS).start()
    world.run(20 * SECOND)
    before = {pod.metadata.name: pod.status for pod in world.node.pods()}
    world.node.kill()
    world.run(30 * SECOND)
    world.node.restart_agent()
    seen: set[str] = set()
    for _ in range(2_000):
        world.step(world.dispatcher.now_ns() + 5 * SECOND)
        seen.add(world.phases().get("plain", "unknown"))
    assert seen <= {"unknown", "Running", ""}, "no other phase is ever shown of a pod that runs"
    after = {pod.metadata.name: pod.status for pod in world.node.pods()}
    for name, status in before.items():
        now = after[name]
        assert status is not None
        assert now is not None
        assert now.phase == status.phase
        assert [each.container_id for each in now.container_statuses] == [
            each.container_id for each in status.container_statuses
        ]
        assert [each.restart_count for each in now.container_statuses] == [
            each.restart_count for each in status.container_statuses
        ]


# (spec 16.5)
def test_a_crash_loop_goes_on_where_it_was():
    world = World({"bad": manifest("bad", behaviour={"run-for": "1s", "exit-code": "3"})}).start()
    world.run(45 * SECOND)
    starts = world.starts_of("bad")
    assert len(starts) == 4
    world.node.restart_agent()
    world.until(lambda: len(world.starts_of("bad")) == 5)
    starts = world.starts_of("bad")
    assert starts[4] - starts[3] - 1 == pytest.approx(40, abs=2)
    assert world.status("bad").restart_count >= 3


def test_an_agent_killed_while_a_pod_ends_leaves_nothing_when_it_has_come_back():
    text = manifest("web", [container("app"), container("other")], behaviour={"stop-delay.app": "400ms"})
    for step in range(0, 160, 3):
        world = World({"web": text, "stays": manifest("stays")}, seed=step).start()
        world.run(5 * SECOND)
        world.node.remove_manifest("web")
        for _ in range(step):
            world.step()
        world.node.restart_agent()
        world.run(200 * SECOND)
        assert world.running() == ["stays/app"], f"killed after {step} steps"
        assert len(world.cri.state.containers) == 1
        assert len(world.cri.state.sandboxes) == 1
        assert len(world.node.volumes.list_uids()) == 1
        assert len(world.node.host.pod_logs.list_pods()) == 1


def test_an_agent_that_stops_cleanly_leaves_the_containers_running():
    world = World(PODS).start()
    world.run(20 * SECOND)
    assert world.node.stop()
    world.run(60 * SECOND)
    assert world.running() == EXPECTED
