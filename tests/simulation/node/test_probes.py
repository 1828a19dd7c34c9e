"""Probes of a whole node in virtual time: what becomes ready and what is killed (spec 5).

Also what is left alone.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from actors.pod.one_pass import Outcome
from actors.pod.sync import PodSync
from runtime.cri.identity import CONTAINER_NAME
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri.simulated_cri import DoVerb
from simulation.cri.state import ContainerRecord
from tests.simulation.node.worlds import SECOND, World, container, manifest

TCP = {"tcpSocket": {"port": 80}}
ALWAYS = {"restartPolicy": "Always"}
OLD = 60 * SECOND
"""An agent of that age puts no jitter on first probes."""


def probe(**fields: Any) -> dict[str, Any]:
    return {**TCP, "periodSeconds": 1, **fields}


def aged(**options: Any) -> World:
    """A world whose agent has been up for a while."""
    world = World(**options).start()
    world.run(OLD)
    return world


def ready(world: World, name: str, container_name: str = "app") -> bool:
    return bool(world.status(name, container_name).ready)


def conditions(world: World, name: str) -> dict[str, str]:
    status = world.pod(name).status
    assert status is not None
    return {each.type: each.status for each in status.conditions}


def ends_of(world: World, name: str, container_name: str = "app") -> list[ContainerRecord]:
    world.running_records()
    return [
        each
        for each in world.made.values()
        if each.config.metadata is not None
        and each.config.metadata.name == container_name
        and each.sandbox.config.metadata is not None
        and each.sandbox.config.metadata.name == f"{name}-node"
    ]


def test_a_pod_is_ready_once_its_readiness_probe_succeeds_and_not_ready_after_it_has_failed_three_times() -> None:
    world = aged()
    behaviour = {"readiness-probe": "fail*2, ok*3, fail*3, ok"}
    world.node.put_manifest("a.json", manifest("a", [container(readinessProbe=probe())], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    began = world.dispatcher.now_ns()
    seen: list[tuple[int, bool]] = []
    for second in range(12):
        world.run(began + second * SECOND + SECOND // 2 - world.dispatcher.now_ns())
        seen.append((second, ready(world, "a")))
    assert [second for second, was in seen if was] == [2, 3, 4, 5, 6, 8, 9, 10, 11]
    assert "Unhealthy: Readiness probe failed: the simulated container says no" in world.said("a")
    assert world.status("a").restart_count == 0
    assert conditions(world, "a")["Ready"] == "True"


def test_the_first_readiness_probe_waits_for_its_initial_delay() -> None:
    world = aged()
    world.node.put_manifest("a.json", manifest("a", [container(readinessProbe=probe(initialDelaySeconds=7))]))
    world.until(lambda: "a/app" in world.running())
    world.run(6 * SECOND + SECOND // 2)
    assert not ready(world, "a")
    assert conditions(world, "a")["ContainersReady"] == "False"
    world.run(SECOND)
    assert ready(world, "a")


def test_a_container_that_fails_its_liveness_probe_is_killed_and_started_again() -> None:
    world = aged()
    behaviour = {"liveness-probe": "ok*5, fail"}
    world.node.put_manifest("a.json", manifest("a", [container(livenessProbe=probe())], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: world.status("a").restart_count == 1, 20 * SECOND)
    first, second = world.starts_of("a")[:2]
    assert 7 <= second - first <= 8.5, "five good answers and three bad ones, a second apart"
    said = world.said("a")
    assert "Killing: Container app failed liveness probe, will be restarted" in said
    assert "Unhealthy: Liveness probe failed: the simulated container says no" in said


def test_the_timer_of_a_liveness_probe_begins_with_the_pod_and_not_with_its_container() -> None:
    world = aged()
    app, first = container(livenessProbe=probe(periodSeconds=20, failureThreshold=1)), container("first")
    behaviour = {"liveness-probe": "fail", "run-for.first": "12s"}
    world.node.put_manifest("a.json", manifest("a", [app], initContainers=[first], behaviour=behaviour))
    world.until(lambda: len(world.starts_of("a")) == 2, 60 * SECOND)
    begun, again = world.starts_of("a")
    assert 6 <= again - begun <= 9, "12 of the first 20 seconds were gone when it started"


KINDS: dict[str, dict[str, Any]] = {
    "exec": {"exec": {"command": ["check"]}},
    "httpGet": {"httpGet": {"port": 80}},
    "tcpSocket": TCP,
    "grpc": {"grpc": {"port": 80}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_container_that_stays_ill_is_started_again_and_again_and_the_count_only_grows(kind: str) -> None:
    world = aged()
    behaviour = {"exec-exit-code": "1"} if kind == "exec" else {"liveness-probe": "fail"}
    app = container(livenessProbe={**KINDS[kind], "periodSeconds": 1, "failureThreshold": 1})
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    counts = [0]
    while counts[-1] < 5:
        world.run(SECOND)
        assert world.seconds() < 500
        counts.append(world.status("a").restart_count)
    assert counts == sorted(counts)
    assert len(world.starts_of("a")) >= 5


def test_a_container_that_lives_longer_than_its_back_off_is_never_held_up_for_its_liveness_probe() -> None:
    """As under a kubelet: the back-off runs from the end before the kill."""
    world = aged()
    app = container(livenessProbe=probe(periodSeconds=15, failureThreshold=1, initialDelaySeconds=15))
    world.node.put_manifest("a.json", manifest("a", [app], behaviour={"liveness-probe": "fail"}))
    world.until(lambda: len(world.starts_of("a")) == 4, 120 * SECOND)
    starts = world.starts_of("a")
    assert [round(later - earlier) for earlier, later in pairwise(starts)] == [15, 15, 15]
    assert not any(said.startswith("BackOff") for said in world.said("a"))
    world.until(lambda: any(said.startswith("BackOff") for said in world.said("a")), 60 * SECOND)
    assert world.status("a").restart_count == 3, "now it owes 20 s, and lives for 15"


@pytest.mark.parametrize("kind", KINDS)
def test_a_container_that_is_well_is_asked_on_and_never_started_again(kind: str) -> None:
    world = aged()
    app = container(livenessProbe={**KINDS[kind], "periodSeconds": 1, "failureThreshold": 1})
    world.node.put_manifest("a.json", manifest("a", [app]))
    world.until(lambda: "a/app" in world.running())
    [record] = world.running_records()
    world.run(240 * SECOND)
    asked = record.execs if kind == "exec" else record.probes["liveness"]
    assert asked >= 230
    assert world.status("a").restart_count == 0


def test_while_the_runtime_cannot_stop_it_nothing_is_started_in_its_place() -> None:
    world = aged()
    app = container(livenessProbe=probe(failureThreshold=1, terminationGracePeriodSeconds=1))
    behaviour = {"liveness-probe": "fail", "fail": "StopContainer=UNAVAILABLE*2"}
    world.node.put_manifest("a.json", manifest("a", [app, container("other")], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.run(60 * SECOND)  # the world complains of two
    first, second = world.starts_of("a")[:2]
    assert 20 <= second - first <= 24, "two stops have failed, ten seconds apart"
    assert len(world.starts_of("a", "other")) == 1


# (spec 3.6.2)
def test_a_stop_that_failed_is_tried_again_though_nobody_could_see_that_the_container_runs_on() -> None:
    faults = Faults(FaultPlan(), 1)
    world = aged(faults=faults)
    app = container(livenessProbe=probe(failureThreshold=1, terminationGracePeriodSeconds=1))
    other = container("other", readinessProbe=probe(failureThreshold=1))
    behaviour = {"liveness-probe": "fail", "readiness-probe.other": "fail*4, ok", "fail": "StopContainer*1"}
    world.node.put_manifest("a.json", manifest("a", [app, other], behaviour=behaviour))

    def fail_looks_after_a_stop(name: str, request: Any, do: DoVerb) -> Any:
        if name == "StopContainer":
            faults.follow(FaultPlan({"ContainerStatus": CallFaults(fail=1.0)}))
        return do(name, request)

    end_interception = world.cri.intercept(fail_looks_after_a_stop)
    world.until(lambda: any(said.startswith("FailedSync") for said in world.said("a")))
    end_interception()
    faults.heal()
    assert not ready(world, "a", "other")
    waited_ns = world.until(lambda: ready(world, "a", "other"))
    assert waited_ns < 10 * SECOND, "the pass that shows this has seen nothing new"
    world.run(30 * SECOND)
    first, second = world.starts_of("a")[:2]
    assert 10 <= second - first <= 24


def test_two_probe_failures_below_the_threshold_change_nothing() -> None:
    world = aged()
    behaviour = {"liveness-probe": ", ".join(["fail*2, ok"] * 30)}
    world.node.put_manifest("a.json", manifest("a", [container(livenessProbe=probe())], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.run(60 * SECOND)
    assert world.status("a").restart_count == 0


def test_a_container_of_never_that_fails_its_liveness_probe_stays_dead() -> None:
    world = aged()
    world.node.put_manifest(
        "a.json",
        manifest("a", [container(livenessProbe=probe())], behaviour={"liveness-probe": "fail"}, restartPolicy="Never"),
    )
    world.until(lambda: world.phases().get("a") in ("Failed", "Succeeded"), 60 * SECOND)
    assert len(world.starts_of("a")) == 1


def test_the_last_container_of_never_that_fails_its_liveness_probe_ends_with_its_pod() -> None:
    world = aged()
    app = container(livenessProbe=probe(failureThreshold=2, terminationGracePeriodSeconds=40))
    behaviour = {"liveness-probe": "fail", "ignore-stop-signal": "true"}
    spec: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 4}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour, **spec))
    world.until(lambda: world.phases().get("a") in ("Failed", "Succeeded"), 60 * SECOND)
    [end] = ends_of(world, "a")
    assert end.finished_at - end.started_at < 10 * SECOND, "the grace is the pod's"
    assert [text for text in world.said("a") if text.startswith("Killing")] == ["Killing: Stopping container app"]


def test_a_container_of_never_that_fails_its_liveness_probe_beside_others_has_the_grace_of_the_probe() -> None:
    world = aged()
    app = container(livenessProbe=probe(failureThreshold=2, terminationGracePeriodSeconds=4))
    behaviour = {"liveness-probe.app": "fail", "ignore-stop-signal.app": "true"}
    spec: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 300}
    world.node.put_manifest("a.json", manifest("a", [app, container("side")], behaviour=behaviour, **spec))
    world.until(lambda: {"a/app", "a/side"} <= set(world.running()))
    world.until(lambda: "a/app" not in world.running(), 60 * SECOND)
    [end] = ends_of(world, "a")
    assert end.finished_at - end.started_at < 10 * SECOND
    assert "a/side" in world.running()
    assert "Killing: Container app failed liveness probe" in world.said("a")


# (spec 5.13)
def test_nothing_else_is_asked_before_the_startup_probe_has_succeeded_and_it_is_not_asked_again() -> None:
    world = aged()
    app = container(startupProbe=probe(failureThreshold=30), livenessProbe=probe(), readinessProbe=probe())
    behaviour = {"startup-probe": "fail*10, ok, fail", "liveness-probe": "ok"}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    record = world.running_records()[0]
    world.run(9 * SECOND + SECOND // 2)
    assert set(record.probes) == {"startup"}
    assert (world.status("a").started, ready(world, "a")) == (False, False)
    world.run(2 * SECOND)
    assert (world.status("a").started, ready(world, "a")) == (True, True)
    asked = record.probes["startup"]
    world.run(20 * SECOND)
    assert record.probes["startup"] == asked
    assert record.probes["liveness"] >= 20
    assert world.status("a").restart_count == 0


def test_a_container_that_fails_its_startup_probe_is_killed_with_the_grace_of_the_probe() -> None:
    world = aged()
    app = container(startupProbe=probe(failureThreshold=2, terminationGracePeriodSeconds=4))
    behaviour = {"startup-probe": "fail", "ignore-stop-signal": "true"}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour, terminationGracePeriodSeconds=300))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: world.status("a").restart_count == 1, 60 * SECOND)
    first = ends_of(world, "a")[0]
    assert 5 * SECOND <= first.finished_at - first.started_at <= 7 * SECOND, "two probes and four seconds of grace"
    assert "Killing: Container app failed startup probe, will be restarted" in world.said("a")


def test_a_sidecar_is_probed_as_others_are_and_the_next_container_waits_for_its_startup_probe() -> None:
    world = aged()
    sidecar = container("side", startupProbe=probe(), readinessProbe=probe(), livenessProbe=probe(), **ALWAYS)
    behaviour = {
        "startup-probe.side": "fail*2, ok",
        "readiness-probe.side": "fail*3, ok",
        "liveness-probe.side": "ok*10, fail",
    }
    world.node.put_manifest("a.json", manifest("a", initContainers=[sidecar], behaviour=behaviour))
    world.until(lambda: "a/side" in world.running())
    world.run(SECOND + SECOND // 2)
    assert world.running() == ["a/side"]
    world.until(lambda: "a/app" in world.running(), 5 * SECOND)
    assert conditions(world, "a")["Initialized"] == "True"
    world.run(SECOND)
    assert conditions(world, "a")["ContainersReady"] == "False", "a sidecar counts"
    world.until(lambda: conditions(world, "a")["Ready"] == "True", 10 * SECOND)
    world.until(lambda: world.status("a", "side").restart_count == 1, 20 * SECOND)
    assert world.status("a").restart_count == 0
    assert "Killing: Init container side failed liveness probe" in world.said("a")


def test_a_sidecar_is_neither_asked_whether_it_lives_nor_restarted_while_a_hook_of_another_container_runs() -> None:
    """KEP-4438 wants that to change; kubelet 1.36 does as here."""
    world = aged()
    sidecar = container("side", livenessProbe=probe(failureThreshold=1), **ALWAYS)
    app = container(lifecycle={"preStop": {"exec": {"command": ["drain"]}}})
    behaviour = {"liveness-probe.side": "ok*5, fail", "exec-delay.app": "40s"}
    text = manifest("a", [app], initContainers=[sidecar], behaviour=behaviour, terminationGracePeriodSeconds=60)
    world.node.put_manifest("a.json", text)
    world.until(lambda: world.running() == ["a/app", "a/side"])
    world.run(2 * SECOND)
    world.node.remove_manifest("a.json")
    world.run(2 * SECOND)
    [side] = [each for each in world.running_records() if each.config.labels[CONTAINER_NAME] == "side"]
    asked = side.probes["liveness"]
    world.run(30 * SECOND)
    assert world.running() == ["a/app", "a/side"]
    assert side.probes["liveness"] == asked
    world.run(30 * SECOND)
    assert world.running() == []
    assert len(world.starts_of("a", "side")) == 1


def test_a_command_is_run_by_the_runtime() -> None:
    world = aged()
    check = {"exec": {"command": ["check", "$(WHAT)"]}, "periodSeconds": 1}
    app = container(readinessProbe=check, env=[{"name": "WHAT", "value": "all"}])
    behaviour = {"exec-exit-code": "1,1,0", "exec-output": "not yet"}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: ready(world, "a"), 10 * SECOND)
    assert world.running_records()[0].execs in (3, 4), "two failed, and one may have followed at once"
    assert "Unhealthy: Readiness probe failed: not yet" in world.said("a")


@pytest.mark.parametrize("kind", ["livenessProbe", "startupProbe"])
@pytest.mark.parametrize("sidecar", [False, True], ids=["container", "sidecar"])
def test_exec_probe_that_answers_late_fails(kind: str, sidecar: bool) -> None:
    """`sleep 10 & exit 1`: the sleeper keeps the output open.

    So the runtime answers nine seconds after the timeout.
    """
    world = aged()
    check = {"exec": {"command": ["check"]}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 2}
    fields: dict[str, Any] = {kind: check, **(ALWAYS if sidecar else {})}
    app = container("ill", **fields)
    containers: dict[str, Any] = {"initContainers": [app]} if sidecar else {"containers": [app]}
    behaviour = {"exec-exit-code.ill": "1", "exec-output-held.ill": "10s"}
    world.node.put_manifest("a.json", manifest("a", behaviour=behaviour, **containers))
    world.until(lambda: "a/ill" in world.running())
    world.until(lambda: world.status("a", "ill").restart_count == 1, 60 * SECOND)
    first, second = world.starts_of("a", "ill")[:2]
    assert 20 <= second - first <= 25, "two answers, ten seconds each"


def test_a_container_whose_exec_readiness_probe_answers_late_is_not_ready() -> None:
    world = aged()
    check = {"exec": {"command": ["check"]}, "periodSeconds": 1, "timeoutSeconds": 1}
    behaviour = {"exec-exit-code": "0,1", "exec-output-held": "10s"}
    world.node.put_manifest("a.json", manifest("a", [container(readinessProbe=check)], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: ready(world, "a"), 20 * SECOND)
    world.until(lambda: not ready(world, "a"), 60 * SECOND)


def test_a_liveness_probe_that_errors_or_hangs_kills_no_container() -> None:
    world = aged()
    for operation in ("error", "silent"):
        app = container(livenessProbe=probe(failureThreshold=1))
        world.node.put_manifest(
            f"{operation}.json", manifest(operation, [app], behaviour={"liveness-probe": operation})
        )
    world.run(300 * SECOND)
    assert [world.status(name).restart_count for name in ("error", "silent")] == [0, 0]
    text = "the simulated container cannot be asked"
    assert f"Unhealthy: Liveness probe errored and resulted in unknown state: {text}" in world.said("error")


def test_a_probe_that_hangs_until_its_timeout_has_failed() -> None:
    world = aged()
    app = container(livenessProbe=probe(timeoutSeconds=2, failureThreshold=2))
    world.node.put_manifest("a.json", manifest("a", [app], behaviour={"liveness-probe": "hang"}))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: world.status("a").restart_count == 1, 60 * SECOND)
    first, second = world.starts_of("a")[:2]
    assert 4 <= second - first <= 6, "two of them, one after the other"


def test_an_odd_answer_is_a_success_with_a_warning() -> None:
    world = aged()
    app = container(readinessProbe=probe())
    world.node.put_manifest("a.json", manifest("a", [app], behaviour={"readiness-probe": "warn"}))
    world.until(lambda: "a/app" in world.running())
    world.until(lambda: ready(world, "a"), 60 * SECOND)
    assert "ProbeWarning: Readiness probe warning: the simulated container answers oddly" in world.said("a")


# (spec 5.12)
def test_a_pod_that_ends_is_asked_whether_it_is_ready_and_not_killed_for_being_ill() -> None:
    world = aged()
    app = container(livenessProbe=probe(failureThreshold=1), readinessProbe=probe(failureThreshold=1))
    behaviour = {"liveness-probe": "ok*5, fail", "readiness-probe": "ok*8, fail", "stop-delay": "20s"}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour, terminationGracePeriodSeconds=60))
    world.until(lambda: "a/app" in world.running())
    record = world.running_records()[0]
    world.run(3 * SECOND + SECOND // 2)
    asked = record.probes["liveness"]
    world.node.remove_manifest("a.json")
    world.until(lambda: record.stop_signalled, 30 * SECOND)
    before = record.probes["readiness"]
    world.run(10 * SECOND)
    assert record.probes["readiness"] >= before + 9
    assert record.probes["liveness"] <= asked + 20
    assert not any("failed liveness probe" in each for each in world.said("a"))


@pytest.mark.parametrize("more", [{}, {"readinessProbe": probe()}], ids=["by itself", "with a readiness probe"])
# (spec 5.11)
def test_a_pod_that_ends_before_it_has_started_is_never_ready(more: dict[str, Any]) -> None:
    """Readers of endpoints would send it requests that it cannot answer.

    A pod that ends serves as long as it is ready.
    """
    world = aged()
    behaviour = {"startup-probe": "fail", "readiness-probe": "ok", "stop-delay": "20s"}
    app = container(startupProbe=probe(failureThreshold=1000), **more)
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour, terminationGracePeriodSeconds=60))
    world.until(lambda: "a/app" in world.running())
    record = world.running_records()[0]
    world.run(3 * SECOND)
    world.node.remove_manifest("a.json")
    world.until(lambda: record.stop_signalled, 30 * SECOND)
    for _ in range(10):
        world.run(SECOND)
        assert (world.status("a").started, conditions(world, "a")["Ready"]) == (False, "False")


def test_pods_without_probes_have_no_runner() -> None:
    world = aged(manifests={"a.json": manifest("a"), "b.json": manifest("b", [container(livenessProbe=probe())])})
    paths = [each.path for each in world.node.node.system.report().actors if each.path.endswith("/probes")]
    assert len(paths) == 1


@pytest.mark.parametrize("operation", ["fail", "hang"])
def test_after_a_restart_of_the_agent_nothing_is_killed_for_old_failures(operation: str) -> None:
    world = aged()
    app = container(livenessProbe=probe(failureThreshold=5))
    world.node.put_manifest("a.json", manifest("a", [app], behaviour={"liveness-probe": f"ok, {operation}*4, ok"}))
    world.until(lambda: "a/app" in world.running())
    world.run(3 * SECOND)
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert world.status("a").restart_count == 0


def test_on_a_node_without_an_api_server_a_restart_of_the_agent_shows_nobody_unready_who_is_ready() -> None:
    world = aged()
    app = container(readinessProbe=probe(periodSeconds=20), startupProbe=probe(periodSeconds=20))
    slow = container("slow", readinessProbe=probe(periodSeconds=20))
    behaviour = {"readiness-probe.slow": "fail", "probe-delay": "300ms"}
    world.node.put_manifest("a.json", manifest("a", [app], behaviour=behaviour))
    world.node.put_manifest("b.json", manifest("b", [slow], behaviour=behaviour))
    world.until(lambda: {"a/app", "b/slow"} <= set(world.running()))
    world.run(50 * SECOND)
    assert ready(world, "a")
    assert not ready(world, "b", "slow")
    world.node.restart_agent()
    shown: list[tuple[str, str]] = []
    for _ in range(300):
        world.run(SECOND // 10)
        for pod in world.node.pods():
            found = {each.type: each.status for each in pod.status.conditions} if pod.status is not None else {}
            shown += [(pod.metadata.name, found["Ready"])] if "Ready" in found else []
    assert set(shown) == {("a-node", "True"), ("b-node", "False")}


def test_a_worker_that_fails_and_comes_back_does_not_forget_who_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    world = aged()
    app = container(readinessProbe=probe(periodSeconds=50), startupProbe=probe(periodSeconds=50))
    behaviour = {"run-for.other": "30s, forever"}
    world.node.put_manifest("a.json", manifest("a", [app, container("other")], behaviour=behaviour))
    world.until(lambda: "a/app" in world.running())
    world.run(10 * SECOND)
    assert ready(world, "a")
    sync, failures = PodSync.sync, list[PodSync]()

    async def fails_once(self: PodSync) -> Outcome:
        if not failures:
            failures.append(self)
            raise RuntimeError("a mistake of ours")
        return await sync(self)

    monkeypatch.setattr(PodSync, "sync", fails_once)
    for _ in range(400):
        world.run(SECOND // 10)
        assert ready(world, "a")
    assert failures
    assert world.status("a", "other").restart_count == 1
