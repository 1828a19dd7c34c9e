"""A runtime that says it has done what it has not: the agent tries on, and does not wear it out (whole nodes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulation.node.worlds import SECOND, World, container, manifest

MINUTE = 60 * SECOND


def counted(world: World, verb_name: str) -> Callable[[], int]:
    """How often the runtime was asked for it, from now on."""
    asked: list[str] = []
    do: Any = world.cri._do

    def note(name: str, request: Any) -> Any:
        if name == verb_name:
            asked.append(name)
        return do(name, request)

    world.cri._do = note  # type: ignore[method-assign]
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
