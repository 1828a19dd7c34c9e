"""A runtime that claims to have done what it has not done (whole nodes).

The agent tries again, and does not overload it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from runtime.cri.messages import ContainerState
from simulation.cri.simulated_cri import DoVerb
from tests.simulation.node.worlds import SECOND, World, container, manifest

MINUTE = 60 * SECOND


def counted(world: World, verb_name: str) -> Callable[[], int]:
    """How often the runtime was asked for it, from now on."""
    asked: list[str] = []

    def note(name: str, request: Any, do: DoVerb) -> Any:
        if name == verb_name:
            asked.append(name)
        return do(name, request)

    world.cri.intercept(note)
    return lambda: len(asked)


def test_a_sandbox_that_is_stopped_and_shown_running_is_asked_to_stop_less_and_less_often():
    pod = manifest("web", [container("app")], behaviour={"lie": "StopPodSandbox*14"})
    world = World({"web": pod}).start()
    world.until(lambda: world.running() == ["web/app"])
    [sandbox] = world.cri.state.sandboxes.values()
    sandbox.ip = ""
    world.cri.state.changed(sandbox)
    stops = counted(world, "StopPodSandbox")
    world.node.restart_agent()  # that sees a sandbox without an address, which has to go
    world.run(MINUTE)
    assert 8 <= stops() <= 12
    before = stops()
    world.run(5 * MINUTE)
    assert stops() - before <= 6, "it doubles its pause up to a minute"
    world.until(lambda: world.running() == ["web/app"], 10 * MINUTE)
    assert len(world.cri.state.sandboxes) == 2, "it is made anew as soon as the runtime is true"


def test_a_container_that_is_removed_and_shown_still_is_removed_less_and_less_often():
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    app = container("app", restartPolicy="Never", restartPolicyRules=rules)
    behaviour = {"run-for.app": "10s,forever", "exit-code.app": "42", "lie": "RemoveContainer*10"}
    world = World({"web": manifest("web", [app], behaviour=behaviour, restartPolicy="Never")}).start()
    removals = counted(world, "RemoveContainer")
    world.run(MINUTE)
    assert 6 <= removals() <= 10
    world.until(lambda: world.running() == ["web/app"], 5 * MINUTE)
    assert len(world.starts_of("web", "app")) == 2


def test_a_container_whose_sandbox_was_lost_goes_with_its_pod_though_the_next_sandbox_has_the_number_of_the_first():
    world = World({"web": manifest("web", [container("app")])}).start()
    world.until(lambda: world.running() == ["web/app"])
    state = world.cri.state
    [lost], [container_of_it] = state.sandboxes.values(), state.containers.values()
    world.cri.kill_container(container_of_it.id)
    state.drop_sandbox(lost)
    world.until(lambda: world.running() == ["web/app"], 5 * MINUTE)
    [sandbox] = state.sandboxes.values()
    assert (sandbox.name, len(state.containers)) == (lost.name, 2)
    world.node.remove_manifest("web")
    world.run(3 * MINUTE)
    assert (state.sandboxes, state.containers) == ({}, {})
    assert world.node.host.pod_logs.list_pods() == ()


@pytest.mark.parametrize("late_s", [1, 15, 100])
def test_a_runtime_that_tells_of_an_end_before_it_can_be_seen_delays_a_restart_and_does_not_lose_it(late_s: int):
    """The end may become visible only after the next list, which shows it as well."""
    world = World({"web": manifest("web", [container("app")], behaviour={"run-for": "23s,forever"})}).start()

    def late(name: str, request: Any, do: DoVerb) -> Any:
        answer = do(name, request)
        status: Any = getattr(answer, "status", None)
        if name != "ContainerStatus" or status.state != ContainerState.CONTAINER_EXITED:
            return answer
        if world.dispatcher.wall_ns() - status.finished_at > late_s * SECOND:
            return answer
        shown = msgspec.structs.replace(status, state=ContainerState.CONTAINER_RUNNING, finished_at=0)
        return msgspec.structs.replace(answer, status=shown)

    world.cri.intercept(late)
    looks = counted(world, "ContainerStatus")
    world.run((40 + 2 * late_s) * SECOND)
    assert len(world.starts_of("web")) == 2
    assert looks() <= 12
    before = looks()
    world.run(5 * MINUTE)
    assert looks() == before, "what has been seen by now is not looked for"
