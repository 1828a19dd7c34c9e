"""RestartAllContainers, restart rules and stop signals of whole nodes in virtual time.

See spec 3.2, 3.4, 4.2 and 4.3.
"""

from __future__ import annotations

from typing import Any

from config.kubelet.feature_gates import FeatureGates
from runtime.cri.messages import Signal
from tests.simulation.node.worlds import SECOND, World, container, manifest


def ruled(name: str = "app", action: str = "RestartAllContainers", code: int = 42) -> dict[str, Any]:
    rules = [{"action": action, "exitCodes": {"operator": "In", "values": [code]}}]
    return container(name, restartPolicy="Never", restartPolicyRules=rules)


def condition(world: World) -> str | None:
    status = world.pod("web").status
    assert status is not None
    return next((each.status for each in status.conditions if each.type == "AllContainersRestarting"), None)


def words_of_condition(world: World) -> set[tuple[str | None, ...]]:
    """Its status, reason and message, of every pod that has it. It is said of no generation."""
    every = [each for pod in world.node.pods() if pod.status is not None for each in pod.status.conditions]
    found = [each for each in every if each.type == "AllContainersRestarting"]
    assert not any(each.observed_generation for each in found)
    return {(each.status, each.reason, each.message) for each in found}


BEHAVIOUR = {"run-for.app": "10s,forever", "exit-code.app": "42", "run-for.setup": "1s"}


def world_with(behaviour: dict[str, str] | None = None, gates: FeatureGates | None = None, **spec: Any) -> World:
    pod = {"restartPolicy": "Never", "initContainers": [container("setup")], **spec}
    text = manifest("web", [ruled(), container("other")], behaviour=behaviour or BEHAVIOUR, **pod)
    options: dict[str, Any] = {"gates": gates} if gates else {}
    return World({"web": text}, **options).start()


# (spec 2.7.10, 3.2.4)
def test_all_containers_are_made_anew_in_their_sandbox_init_containers_first():
    world = world_with(BEHAVIOUR | {"stop-delay.other": "1s"})
    world.run(8 * SECOND)
    assert (world.running(), condition(world)) == (["web/app", "web/other"], "False")
    sandboxes = set(world.cri.state.sandboxes)
    seen: set[tuple[str, str | None]] = set()
    words: set[tuple[str | None, ...]] = set()
    for _ in range(300):
        world.run(SECOND // 10)
        seen.add((world.phases()["web"], condition(world)))
        words |= words_of_condition(world)
    assert {each for each, _ in seen} <= {"Running", "Pending"}
    assert "True" in {each for _, each in seen}
    because = ("RestartAllContainersStarted", "container exited with restart policy rule")
    assert words == {("False", None, None), ("True", *because)}
    assert (world.running(), condition(world)) == (["web/app", "web/other"], "False")
    assert set(world.cri.state.sandboxes) == sandboxes
    starts = {name: world.starts_of("web", name) for name in ("setup", "app", "other")}
    assert [len(each) for each in starts.values()] == [2, 2, 2]
    assert starts["setup"][1] < starts["app"][1]
    assert {name: world.status("web", name).restart_count for name in starts} == {"setup": 1, "app": 1, "other": 1}


def test_while_it_goes_on_each_shows_why_it_waits_and_how_it_ended():
    world = world_with(BEHAVIOUR | {"run-for.setup": "3s"})
    reasons: set[tuple[str, int]] = set()
    for _ in range(400):
        world.run(SECOND // 20)
        for name in ("app", "other"):
            if world.node.pods():
                status = world.status("web", name)
                waiting = status.state.waiting if status.state is not None else None
                ended = status.last_state.terminated if status.last_state is not None else None
                if waiting is not None and waiting.reason == "RestartingAllContainers" and ended is not None:
                    reasons.add((name, ended.exit_code))
    assert reasons == {("app", 137), ("other", 137)}, "a kubelet says of each that it was removed"


# (spec 3.2.3)
def test_the_others_are_killed_without_a_grace():
    behaviour = BEHAVIOUR | {"ignore-stop-signal.other": "true"}
    world = world_with(behaviour, terminationGracePeriodSeconds=600)
    world.run(60 * SECOND)
    assert world.running() == ["web/app", "web/other"]
    assert len(world.starts_of("web", "other")) == 2


def test_an_agent_that_dies_in_the_middle_leaves_it_to_the_next():
    for after_ms in range(0, 4000, 250):
        world = world_with(BEHAVIOUR | {"stop-delay.other": "1s"})
        world.run(12 * SECOND + after_ms * 10**6)
        world.node.restart_agent()
        world.run(60 * SECOND)
        assert world.running() == ["web/app", "web/other"], after_ms
        assert world.phases() == {"web": "Running"}
        assert len(world.starts_of("web", "app")) == 2
        assert len(world.starts_of("web", "setup")) == 2


def test_with_the_gate_off_the_restart_rule_has_no_effect():
    world = world_with(gates=FeatureGates({"RestartAllContainersOnContainerExits": False}))
    world.run(60 * SECOND)
    assert world.running() == ["web/other"]
    assert condition(world) is None


def test_a_container_that_keeps_failing_so_backs_off():
    behaviour = {"run-for.app": "1s", "exit-code.app": "42", "run-for.setup": "1s"}
    world = world_with(behaviour)
    world.run(120 * SECOND)
    assert 3 <= len(world.starts_of("web", "app")) <= 7


def test_the_back_off_of_a_restart_of_all_survives_the_agent():
    behaviour = {"run-for.app": "1s", "exit-code.app": "42", "run-for.setup": "1s"}
    world = world_with(behaviour)
    for _ in range(24):
        world.run(5 * SECOND)
        world.node.restart_agent()
    assert 3 <= len(world.starts_of("web", "app")) <= 7


def test_a_rule_restarts_what_its_policy_would_not():
    pod = manifest(
        "web", [ruled(action="Restart")], behaviour={"run-for": "3s,3s", "exit-code": "42,1"}, restartPolicy="Never"
    )
    world = World({"web": pod}).start()
    world.run(60 * SECOND)
    assert len(world.starts_of("web")) == 2
    assert world.phases() == {"web": "Failed"}


# (spec 3.8.10)
def test_the_stop_signal_of_a_pod_reaches_the_runtime_where_the_gate_is_on():
    signalled = container(lifecycle={"stopSignal": "SIGUSR1"})
    pod = manifest("web", [signalled], os={"name": "linux"})
    world = World({"web": pod}, gates=FeatureGates({"ContainerStopSignals": True})).start()
    world.run(10 * SECOND)
    [made] = world.made.values()
    assert made.config.stop_signal == Signal.SIGUSR1
    assert world.status("web").stop_signal == "SIGUSR1"
    plain = World({"web": pod}).start()
    plain.run(10 * SECOND)
    [made] = plain.made.values()
    assert made.config.stop_signal == Signal.RUNTIME_DEFAULT
