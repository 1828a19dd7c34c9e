"""Lifecycle hooks of whole nodes in virtual time (spec 3.10, 3.11).

postStart, preStop, and the grace period that they share.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.messages.admission import AdmissionWaits
from actors.messages.pods import LookAgain
from actors.pod.worker import PodWorker
from cli.inspect.local_views import explanation
from runtime.cri.identity import CONTAINER_NAME
from runtime.cri.messages import ContainerState
from simulation.cri.behaviour import PREFIX
from simulation.cri.state import ContainerRecord
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import OTHER_IMAGE, SECOND, World, container, manifest

EXEC = {"exec": {"command": ["drain"]}}
HTTP = {"httpGet": {"port": "web", "path": "drain", "scheme": "HTTPS", "httpHeaders": [{"name": "A", "value": "b"}]}}
PORT: dict[str, Any] = {"ports": [{"name": "web", "containerPort": 8443}]}
WEB: dict[str, Any] = {"terminationGracePeriodSeconds": 30}


def hooked(name: str = "app", post_start: Any = None, pre_stop: Any = None, **fields: Any) -> dict[str, Any]:
    lifecycle = {key: hook for key, hook in (("postStart", post_start), ("preStop", pre_stop)) if hook is not None}
    return container(name, lifecycle=lifecycle, **fields)


def record(world: World, name: str = "app", attempt: int = 0) -> ContainerRecord:
    made = [each for each in world.made.values() if each.config.labels[CONTAINER_NAME] == name]
    return next(each for each in made if each.attempt == attempt)


def lived_on_s(world: World, began_ns: int, name: str = "app") -> float:
    """How long after `began_ns` the container ended, s."""
    ended = record(world, name)
    assert ended.finished_at
    return (ended.finished_at - world.dispatcher.wall_offset_ns - began_ns) / SECOND


def remove(world: World, limit_s: int = 120) -> int:
    """Take the manifest away and run to the pod's end; when that began."""
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    world.run(limit_s * SECOND)
    assert world.running() == []
    return began_ns


# --- preStop --------------------------------------------------------------------------------------------------------


def whys(world: World) -> list[str]:
    """Why hooks have failed, which their events do not say."""
    return [each.text for each in explanation(world.node.node, "web").happened if "Hook failed: " in each.text]


# (spec 3.10.7)
def test_a_pre_stop_command_runs_before_the_stop_signal():
    behaviour = {"exec-delay": "4s"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = remove(world)
    assert record(world).commands == [("drain",)]
    assert lived_on_s(world, began_ns) == pytest.approx(4, abs=1.2)
    assert record(world).exit_code == 0


# (spec 3.11.1)
def test_a_hook_that_does_not_end_is_given_the_grace_and_the_container_two_seconds():
    behaviour = {"exec-delay": "1h", "ignore-stop-signal": "true"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = remove(world)
    assert lived_on_s(world, began_ns) == pytest.approx(32, abs=1.2)
    assert record(world).exit_code == 137
    [why] = whys(world)
    assert "grace period" in why or "in its time" in why


@pytest.mark.parametrize(("takes_s", "fails"), [(31, False), (40, True)])
@pytest.mark.parametrize("hook", ["command", "call"])
def test_a_hook_that_outlasts_the_grace_goes_on_while_its_container_is_being_stopped(
    hook: str, takes_s: int, fails: bool
):
    behaviour = {"exec-delay": f"{takes_s}s", "hook-delay": f"{takes_s}s", "ignore-stop-signal": "true"}
    app = hooked(pre_stop=EXEC) if hook == "command" else hooked(pre_stop=HTTP, **PORT)
    world = World({"web": manifest("web", [app], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = remove(world)
    assert lived_on_s(world, began_ns) == pytest.approx(32, abs=1.2)
    happened = [each.text for each in explanation(world.node.node, "web").happened]
    assert [said for said in world.said("web") if "PreStop" in said] == (
        ["FailedPreStopHook: PreStopHook failed"] if fails else []
    )
    assert ("container app: its preStop hook has ended" in happened) is not fails


def test_a_hook_has_its_time_and_no_more_also_when_the_worker_is_late_and_its_mailbox_is_full(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(PodWorker, "mailbox_capacity", 2)
    web = manifest("web", [hooked(pre_stop=HTTP, **PORT)], behaviour={"hook-call": "hang"}, **WEB)
    world = World({"web": web}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    world.run(25 * SECOND)
    path = f"/node/sync-loop/{world.pod('web').metadata.uid}"
    world.node.agent.freeze(path)
    worker = world.node.node.system.find(path)
    assert worker is not None
    worker.tell(LookAgain())
    worker.tell(AdmissionWaits("nothing"))
    world.run(15 * SECOND)
    world.node.agent.thaw()
    world.run(15 * SECOND)
    assert lived_on_s(world, began_ns) == pytest.approx(41, abs=2)


def test_the_time_of_the_hook_is_taken_off_the_grace():
    behaviour = {"exec-delay": "10s", "ignore-stop-signal": "true"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    assert lived_on_s(world, remove(world)) == pytest.approx(30, abs=1.2)


# (spec 3.10.10)
def test_a_failing_hook_is_an_event_and_holds_nothing_up():
    behaviour = {"exec-exit-code": "7", "exec-output": "cannot drain"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    assert lived_on_s(world, remove(world)) < 1.2
    assert "FailedPreStopHook: PreStopHook failed" in world.said("web"), "what a hook prints may be secret"


def test_the_killing_is_said_before_the_hook_runs():
    behaviour = {"exec-exit-code": "7"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    remove(world)
    reasons = [said.split(":")[0] for said in world.said("web")]
    assert reasons.index("Killing") < reasons.index("FailedPreStopHook")


# (spec 3.11.2)
def test_an_http_hook_calls_the_named_port_of_the_pod_and_says_that_it_fell_back():
    world = World({"web": manifest("web", [hooked(pre_stop=HTTP, **PORT)], behaviour={"hook-call": "plain"})}).start()
    world.run(5 * SECOND)
    status = world.pod("web").status
    assert status is not None
    remove(world)
    assert record(world).hook_calls == [f"https://{status.pod_ip}:8443/drain"]
    assert any(said.startswith("LifecycleHTTPFallback: ") for said in world.said("web"))


# (spec 3.11.4)
def test_a_sleep_is_slept_and_not_longer_than_the_grace():
    asleep = hooked(pre_stop={"sleep": {"seconds": 6}})
    world = World({"web": manifest("web", [asleep], **WEB)}).start()
    world.run(5 * SECOND)
    assert lived_on_s(world, remove(world)) == pytest.approx(6, abs=1.2)
    sleeps = hooked(pre_stop={"sleep": {"seconds": 5}})
    behaviour = {"ignore-stop-signal": "true"}
    world = World({"web": manifest("web", [sleeps], behaviour=behaviour, terminationGracePeriodSeconds=5)}).start()
    world.run(5 * SECOND)
    assert lived_on_s(world, remove(world)) == pytest.approx(7, abs=1.2)


def test_a_hook_that_nobody_can_run_says_so():
    tcp = hooked(pre_stop={"tcpSocket": {"port": 80}})
    world = World({"web": manifest("web", [tcp])}).start()
    world.run(5 * SECOND)
    remove(world)
    assert any("tcpSocket is not supported" in why for why in whys(world))


def test_a_container_that_ends_by_itself_has_no_pre_stop_hook():
    done = manifest("web", [hooked(pre_stop=EXEC)], behaviour={"run-for": "5s"}, restartPolicy="Never")
    world = World({"web": done}).start()
    world.run(30 * SECOND)
    assert world.phases() == {"web": "Succeeded"}
    assert record(world).commands == []


def test_all_hooks_begin_at_once_and_the_stops_of_sidecars_wait_for_their_turn():
    behaviour = {"exec-delay": "4s", "stop-delay": "3s"}
    inits = [hooked(name, pre_stop=EXEC, restartPolicy="Always") for name in ("early", "late")]
    pod = manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, initContainers=inits, **WEB)
    world = World({"web": pod}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    world.run(2 * SECOND)
    assert [record(world, name).commands for name in ("app", "late", "early")] == [[("drain",)]] * 3
    world.run(30 * SECOND)
    ends = [lived_on_s(world, began_ns, name) for name in ("app", "late", "early")]
    assert ends == pytest.approx([7, 10, 13], abs=1.5)
    assert [len(record(world, name).commands) for name in ("app", "late", "early")] == [1, 1, 1]


def test_no_liveness_probe_ends_a_sidecar_while_the_hook_of_another_container_runs():
    """As a kubelet 1.36 does. KEP-4438 wants these probes to go on."""
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1}
    inits = [container("proxy", restartPolicy="Always", livenessProbe=probe)]
    behaviour = {"exec-delay.app": "20s", "liveness-probe.proxy": "ok*10, fail"}
    pod = manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, initContainers=inits, **WEB)
    world = World({"web": pod}).start()
    world.run(5 * SECOND)
    asked = record(world, "proxy").probes["liveness"]
    assert asked >= 2
    began_ns = remove(world)
    assert record(world, "proxy").probes["liveness"] <= asked + 1
    assert lived_on_s(world, began_ns, "app") == pytest.approx(20, abs=1.5)
    assert lived_on_s(world, began_ns, "proxy") == pytest.approx(20, abs=1.5)
    assert not any("liveness" in said for said in world.said("web"))


def test_a_sidecar_whose_hook_outlasts_the_others_is_stopped_when_it_has_ended():
    inits = [hooked("early", pre_stop=EXEC, restartPolicy="Always")]
    pod = manifest("web", behaviour={"exec-delay": "6s"}, initContainers=inits, **WEB)
    world = World({"web": pod}).start()
    world.run(5 * SECOND)
    began_ns = remove(world)
    assert lived_on_s(world, began_ns, "app") == pytest.approx(0, abs=1.5)
    assert lived_on_s(world, began_ns, "early") == pytest.approx(6, abs=1.5)


def test_an_agent_that_is_restarted_keeps_the_order_and_runs_no_hook_of_a_sidecar_again():
    cluster = Cluster()
    inits = [hooked("early", pre_stop=EXEC, restartPolicy="Always")]
    cluster.create("web", annotations={f"{PREFIX}stop-delay.app": "20s"}, initContainers=inits, **WEB)
    cluster.run(5 * SECOND)
    early = next(
        each for each in cluster.node.cri.state.containers.values() if each.config.labels[CONTAINER_NAME] == "early"
    )
    began_ns = cluster.dispatcher.now_ns()
    cluster.ask("DELETE", "/api/v1/namespaces/default/pods/web")
    cluster.run(5 * SECOND)
    cluster.node.restart_agent()
    cluster.run(60 * SECOND)
    assert early.commands == [("drain",)]
    assert (early.finished_at - cluster.dispatcher.wall_offset_ns - began_ns) / SECOND == pytest.approx(20, abs=2)


def test_an_image_that_changes_in_place_runs_the_hook_and_then_the_new_image_even_with_never():
    spec: dict[str, Any] = {"restartPolicy": "Never", "uid": "same", **WEB}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour={"exec-delay": "3s"}, **spec)}).start()
    world.run(5 * SECOND)
    phases: set[str] = set()
    changed = hooked(pre_stop=EXEC, image=OTHER_IMAGE)
    world.node.put_manifest("web", manifest("web", [changed], behaviour={"exec-delay": "3s"}, **spec))
    for _ in range(40):
        world.run(SECOND)
        phases.add(world.phases()["web"])
    assert record(world).commands == [("drain",)]
    assert [each.image.id for each in world.running_records()] != [record(world).image.id]
    assert len(world.starts_of("web")) == 2
    assert phases == {"Running"}


def test_an_agent_that_is_restarted_in_the_middle_ends_the_pod_all_the_same():
    behaviour = {"exec-delay": "10s", "ignore-stop-signal": "true"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("web")
    world.run(5 * SECOND)
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert world.running() == []


def restarted(world: World, after_s: float, dead_s: float = 1) -> None:
    """Time passes, the agent is killed, time passes, another begins."""
    world.run(int(after_s * SECOND))
    world.node.kill()
    world.run(int(dead_s * SECOND))
    world.node.restart_agent()


@pytest.mark.parametrize("after_s", [2, 9, 12])
def test_a_hook_that_was_begun_before_the_agent_was_killed_is_not_run_again_and_the_grace_goes_on(after_s: int):
    behaviour = {"exec-delay": "10s", "ignore-stop-signal": "true"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    restarted(world, after_s)
    world.run(60 * SECOND)
    assert record(world).commands == [("drain",)]
    assert 29 <= lived_on_s(world, began_ns) <= 31


@pytest.mark.parametrize(("after_s", "dead_s", "lived_s"), [(5, 1, 20), (5, 18, 24), (5, 40, 45)])
def test_a_sleep_is_slept_to_its_end_and_not_anew(after_s: int, dead_s: int, lived_s: int):
    world = World({"web": manifest("web", [hooked(pre_stop={"sleep": {"seconds": 20}})], **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    restarted(world, after_s, dead_s)
    world.run(60 * SECOND)
    assert lived_s - 1 <= lived_on_s(world, began_ns) <= lived_s + 2


def test_a_container_without_a_hook_has_no_second_grace_either():
    behaviour = {"ignore-stop-signal": "true"}
    world = World({"web": manifest("web", behaviour=behaviour, **WEB)}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    restarted(world, 20)
    world.run(60 * SECOND)
    assert 29 <= lived_on_s(world, began_ns) <= 32


def test_an_image_that_changes_in_place_is_run_even_with_never_by_the_agent_that_comes_after():
    spec: dict[str, Any] = {"restartPolicy": "Never", "uid": "same", **WEB}
    behaviour = {"exec-delay": "3s", "stop-exit-code": "0"}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour=behaviour, **spec)}).start()
    world.run(5 * SECOND)
    changed = hooked(pre_stop=EXEC, image=OTHER_IMAGE)
    world.node.put_manifest("web", manifest("web", [changed], behaviour=behaviour, **spec))
    world.until(lambda: bool(record(world).commands))
    world.node.kill()
    world.cri.kill_container(record(world).id)
    world.node.restart_agent()
    world.run(20 * SECOND)
    assert len(world.starts_of("web")) == 2
    assert world.phases() == {"web": "Running"}


def test_a_disk_that_hangs_holds_up_the_end_of_a_container_for_two_seconds_and_no_longer():
    spec = {"uid": "uid-web", **WEB}
    world = World({"web": manifest("web", [hooked(pre_stop=EXEC)], behaviour={"exec-delay": "1s"}, **spec)}).start()
    world.run(5 * SECOND)
    world.node.host.tree.hang("/var/lib/actorlet/pods/uid-web")
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    world.run(10 * SECOND)
    assert record(world).commands == [("drain",)]
    assert 3 <= lived_on_s(world, began_ns) <= 4


# --- postStart ------------------------------------------------------------------------------------------------------


def test_a_container_whose_post_start_hook_was_running_when_the_agent_was_killed_has_started():
    pair = [hooked("first", post_start=EXEC), container("second")]
    world = World({"web": manifest("web", pair, behaviour={"exec-delay": "20s"})}).start()
    restarted(world, 5)
    world.run(2 * SECOND)
    assert world.running() == ["web/first", "web/second"]
    assert (world.status("web", "first").started, world.phases()) == (True, {"web": "Running"})
    world.run(60 * SECOND)
    assert record(world, "first").commands == [("drain",)]
    assert len(world.starts_of("web", "first")) == 1


def test_a_container_has_not_started_before_its_post_start_hook_has_ended():
    pair = [hooked("first", post_start=EXEC), container("second")]
    world = World({"web": manifest("web", pair, behaviour={"exec-delay": "5s"})}).start()
    world.run(4 * SECOND)
    assert world.running() == ["web/first"]
    status = world.status("web", "first")
    assert status.state is not None
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "ContainerCreating"
    assert (status.started, status.ready, world.phases()) == (False, False, {"web": "Pending"})
    world.run(6 * SECOND)
    assert world.running() == ["web/first", "web/second"]
    assert world.phases() == {"web": "Running"}
    assert record(world, "first").commands == [("drain",)]


def test_a_sidecar_lets_the_next_begin_when_its_hook_has_ended():
    side = hooked("side", post_start={"sleep": {"seconds": 5}}, restartPolicy="Always")
    world = World({"web": manifest("web", initContainers=[side])}).start()
    world.run(4 * SECOND)
    assert world.running() == ["web/side"]
    world.run(4 * SECOND)
    assert world.running() == ["web/app", "web/side"]


# (spec 3.7.7)
def test_a_post_start_hook_that_fails_ends_the_container_which_is_restarted_with_back_off():
    world = World({"web": manifest("web", [hooked(post_start=EXEC)], behaviour={"exec-exit-code": "1"}, **WEB)}).start()
    world.run(15 * SECOND)
    said = world.said("web")
    assert "FailedPostStartHook: PostStartHook failed" in said
    assert "Killing: FailedPostStartHook" in said
    assert len(world.starts_of("web")) >= 2
    status = world.status("web")
    assert status.state is not None
    assert status.state.waiting is not None
    assert status.state.waiting.reason in ("PostStartHookError", "CrashLoopBackOff")


def test_a_container_whose_post_start_hook_has_failed_is_ended_though_its_first_stop_fails():
    behaviour = {"exec-exit-code": "1", "fail": "StopContainer*1"}
    world = World({"web": manifest("web", [hooked(post_start=EXEC)], behaviour=behaviour, **WEB)}).start()
    world.run(9 * SECOND)
    assert world.said("web").count("Killing: FailedPostStartHook") == 1
    assert len(world.starts_of("web")) == 1
    world.run(15 * SECOND)
    assert record(world).finished_at
    assert len(world.starts_of("web")) >= 2


def test_a_post_start_hook_that_fails_ends_a_pod_that_is_never_restarted():
    behaviour = {"exec-exit-code": "1", "stop-exit-code": "143"}
    spec = {"restartPolicy": "Never", **WEB}
    world = World({"web": manifest("web", [hooked(post_start=EXEC)], behaviour=behaviour, **spec)}).start()
    world.run(15 * SECOND)
    assert world.phases() == {"web": "Failed"}
    assert len(world.starts_of("web")) == 1


def test_a_pod_whose_hook_hangs_can_be_ended():
    world = World({"web": manifest("web", [hooked(post_start=EXEC)], behaviour={"exec-delay": "1h"}, **WEB)}).start()
    world.run(20 * SECOND)
    assert world.phases() == {"web": "Pending"}
    assert lived_on_s(world, remove(world)) < 2


def test_a_container_that_ends_before_its_hook_has_failed_to_start():
    behaviour = {"exec-delay": "1h", "run-for": "3s", "exit-code": "1"}
    spec = {"restartPolicy": "Never"}
    world = World({"web": manifest("web", [hooked(post_start=EXEC)], behaviour=behaviour, **spec)}).start()
    world.run(20 * SECOND)
    assert world.phases() == {"web": "Failed"}
    assert any("ended before its hook" in why for why in whys(world))


def test_a_hook_does_not_hold_up_other_pods_or_the_worker_itself():
    slow = manifest("web", [hooked(post_start=EXEC)], behaviour={"exec-delay": "1h"})
    world = World({"web": slow, "other": manifest("other")}).start()
    world.run(30 * SECOND)
    assert "other/app" in world.running()
    assert world.node.node.late_actors() == ()
    assert record(world).state is ContainerState.CONTAINER_RUNNING


# --- a second order -------------------------------------------------------------------------------------------------


def hurried_end_s(behaviour: dict[str, str], lifecycle: dict[str, Any]) -> tuple[float, int]:
    """A pod with 60 s is deleted, and 10 s later again with 5 s.

    Returns (its end after the first order, hooks run).
    """
    world = Cluster()
    annotations = {PREFIX + key: value for key, value in behaviour.items()}
    world.create(
        "web", annotations=annotations, containers=[container(lifecycle=lifecycle)], terminationGracePeriodSeconds=60
    )
    world.until(lambda: world.all_are("Running", 1))
    [made] = world.node.containers()
    began_ns = world.dispatcher.wall_ns()
    world.delete("web")
    world.run(10 * SECOND)
    world.delete("web", grace_seconds=5)
    world.until(lambda: not world.pods(), 120 * SECOND)
    return (made.finished_at - began_ns) / SECOND, len(made.commands)


def test_a_second_order_gives_its_own_time_from_when_it_came():
    lived_s, _ = hurried_end_s({"ignore-stop-signal": "true"}, {})
    assert lived_s == pytest.approx(15, abs=1)


def test_a_second_order_hurries_the_hook_and_does_not_run_it_again():
    behaviour = {"ignore-stop-signal": "true", "exec-delay": "1h"}
    lived_s, hooks = hurried_end_s(behaviour, {"preStop": EXEC})
    assert lived_s == pytest.approx(17, abs=1)
    assert hooks == 1
