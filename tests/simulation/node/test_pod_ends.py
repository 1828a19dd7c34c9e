"""How pods end on a whole node in virtual time: causes, speed, messages (spec 2.6, 3.10)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.containers.gc import ContainerGCActor
from actors.kernel import ActorRef, MailboxOverflowed
from actors.messages.pods import CollectPod, LookAgain, TerminatePod
from actors.pod.runtime import PodCalls
from runtime.cri.identity import CONTAINER_NAME
from runtime.cri.messages import ContainerState, RemoveContainerRequest
from runtime.cri.verbs import REMOVE_CONTAINER
from simulation.cri.behaviour import PREFIX
from simulation.cri.simulated_cri import DoVerb
from simulation.cri.state import ContainerRecord
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import SECOND, World, container, manifest, replace_handler


def worker_of(world: World, name: str) -> ActorRef:
    found = world.node.node.system.find(f"/node/sync-loop/{world.pod(name).metadata.uid}")
    assert found is not None
    return found


def shown(cluster: Cluster) -> dict[str, Any]:
    """The status of the first container of `web`, as the API has it."""
    return dict(cluster.pods()["web"]["status"]["containerStatuses"][0])


def verbs_after(world: World, verbs: list[str]) -> list[str]:
    """The verbs of `verbs` that are called from now on, in order, as they come."""
    called: list[str] = []

    def note(name: str, request: Any, do: DoVerb) -> Any:
        if name in verbs:
            called.append(name)
        return do(name, request)

    world.cri.intercept(note)
    return called


# --- 2.6: what is done again, and when ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["0", "3"])
# (spec 2.6.10)
def test_spec_2_6_a_pod_that_had_ended_is_cleaned_up_by_the_next_agent_and_nothing_of_it_is_killed_or_begun(code: str):
    behaviour = {"run-for": "2s", "exit-code": code}
    world = World({"web": manifest("web", behaviour=behaviour, restartPolicy="Never")}).start()
    world.until(lambda: world.phases().get("web") in ("Succeeded", "Failed"))
    phase = world.phases()["web"]
    world.node.kill()
    called = verbs_after(world, ["RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer"])
    world.node.restart_agent()
    world.run(MINUTE)
    assert (world.phases(), called) == ({"web": phase}, [])
    assert world.node.volumes.list_uids() == ()
    assert not [said for said in world.said("web") if said.startswith("Killing")]


@pytest.mark.parametrize(
    ("verb", "event"),
    [
        ("RunPodSandbox", "FailedCreatePodSandBox"),
        ("PodSandboxStatus", "FailedPodSandBoxStatus"),
        ("CreateContainer", "Failed"),
        ("StartContainer", "Failed"),
    ],
)
# (spec 2.6.20, 2.8.1)
def test_spec_2_6_a_call_that_fails_is_told_by_one_event(verb: str, event: str):
    world = World({"web": manifest("web", behaviour={"fail": f"{verb}=UNAVAILABLE*3"})}).start()
    world.until(lambda: world.phases().get("web") == "Running")
    reasons = [said.partition(":")[0] for said in world.said("web")]
    assert event in reasons
    assert "FailedSync" not in reasons


# (spec 2.1.4, 2.6.20)
def test_spec_2_6_a_pass_that_fails_is_made_again_after_10_s_and_up_to_half_of_it_more():
    world = World({"web": manifest("web", behaviour={"fail": "RunPodSandbox=UNAVAILABLE*3"})}).start()
    took_s = world.until(lambda: world.phases().get("web") == "Running") / SECOND
    assert 30 <= took_s <= 46


# (spec 2.6.20)
def test_spec_2_6_a_status_that_cannot_be_had_is_told_once_in_upstream_s_words():
    world = World({"web": manifest("web", behaviour={"fail": "ContainerStatus=INTERNAL*3"})}).start()
    world.until(lambda: world.phases().get("web") == "Running")
    (said,) = [said for said in world.said("web") if said.startswith("FailedSync")]
    assert said.startswith("FailedSync: error determining status: rpc error: code = Internal desc = ")


# (spec 2.6.25)
def test_spec_2_6_a_pass_that_the_end_of_its_pod_has_cancelled_is_no_failure():
    world = World({"web": manifest("web", behaviour={"late": "StartContainer=20s"})}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("web")
    world.run(MINUTE)
    assert (world.running(), world.phases()) == ([], {})
    assert not [said for said in world.said("web") if said.startswith(("FailedSync", "Failed:"))]


def test_the_end_of_a_operation_that_a_full_mailbox_has_lost_holds_up_no_pod(monkeypatch: pytest.MonkeyPatch):
    world = World({"web": manifest("web", behaviour={"late": "StartContainer=20s"})}).start()
    world.run(5 * SECOND)
    worker = worker_of(world, "web")
    monkeypatch.setattr(PodCalls, "ended", lambda *_: None)  # it comes to nobody
    world.node.remove_manifest("web")
    world.run(30 * SECOND)
    worker.tell(MailboxOverflowed(1))
    world.run(MINUTE)
    assert (world.running(), world.phases(), world.node.containers()) == ([], {}, ())


# (spec 2.6.21, 2.7.1)
def test_spec_2_6_a_final_phase_ends_what_is_left_of_the_pod_at_once():
    side = container("side", restartPolicy="Always")
    pod = manifest("web", behaviour={"run-for.app": "3s"}, initContainers=[side], restartPolicy="Never")
    world = World({"web": pod}).start()
    world.until(lambda: "web/app" in world.running())
    world.until(lambda: "web/app" not in world.running())
    assert world.until(lambda: world.running() == []) <= 2 * SECOND
    world.until(lambda: world.phases() == {"web": "Succeeded"})


@pytest.mark.parametrize(("ends", "code"), [("app", "0"), ("app", "1"), ("init", "1")])
def test_a_sidecar_of_a_pod_that_ends_by_itself_has_the_grace_of_the_pod(ends: str, code: str):
    cluster = Cluster()
    cluster.run(MINUTE)  # the machine has been up for longer than any grace
    cluster.create(
        "web",
        initContainers=[container("side", restartPolicy="Always"), container("init")],
        annotations={
            f"{PREFIX}run-for.init": "1s",
            f"{PREFIX}run-for.{ends}": "2s",
            f"{PREFIX}exit-code.{ends}": code,
            f"{PREFIX}stop-delay.side": "5s",
        },
        restartPolicy="Never",
        terminationGracePeriodSeconds=30,
    )

    def sidecars() -> list[ContainerRecord]:
        return [each for each in cluster.node.containers() if each.config.labels[CONTAINER_NAME] == "side"]

    cluster.until(lambda: cluster.phases()["web"] in ("Succeeded", "Failed"))
    [side] = sidecars()
    assert side.state is ContainerState.CONTAINER_EXITED, "no phase is final while something runs"
    assert side.exit_code == 0, "it was not killed while it had time"
    assert cluster.phases() == {"web": "Succeeded" if code == "0" else "Failed"}


# (spec 2.6.14)
def test_spec_2_6_a_pod_that_is_deleted_without_a_grace_is_killed_within_the_floor():
    cluster = Cluster()
    cluster.create("web", annotations={PREFIX + "ignore-stop-signal": "true"}, terminationGracePeriodSeconds=600)
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    [made] = cluster.node.containers()
    began_ns = cluster.dispatcher.wall_ns()
    cluster.delete("web", grace_seconds=0)
    cluster.until(lambda: cluster.node.containers() == ())
    assert (made.finished_at - began_ns) / SECOND == pytest.approx(2, abs=0.5)


@pytest.mark.parametrize("told", [False, True], ids=["nothing was told since", "another hand has removed a container"])
def test_the_remains_of_a_pod_are_listed_only_where_something_was_told_since_its_worker_has_looked(told: bool):
    world = World({"job": manifest("job", behaviour={"run-for": "2s"}, restartPolicy="Never")}).start()
    world.until(lambda: world.phases().get("job") == "Succeeded")
    world.run(5 * SECOND)
    if told:
        [made] = world.node.containers()
        world.cri.call(REMOVE_CONTAINER, RemoveContainerRequest(container_id=made.id))
        world.run(2 * SECOND)
    world.node.remove_manifest("job")
    called = verbs_after(world, ["ListContainers", "RemovePodSandbox", "RemoveContainer"])
    world.until(lambda: "RemovePodSandbox" in called)
    assert called == (["ListContainers", "RemovePodSandbox"] if told else ["RemovePodSandbox"])
    assert world.node.containers() == ()


@pytest.mark.parametrize("trouble", ["hang", "fail", "late"])
def test_a_deleted_pod_shows_ended_containers_while_its_sandbox_hangs(trouble: str):
    rule = "StopPodSandbox=40s" if trouble == "late" else "StopPodSandbox"
    cluster = Cluster()
    cluster.create("web", annotations={PREFIX + trouble: rule})
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    cluster.delete("web")
    assert cluster.until(lambda: "terminated" in shown(cluster)["state"]) <= 5 * SECOND


@pytest.mark.parametrize(("grace_s", "told_after_s"), [(1, 10), (20, 30)])
# (spec 2.6.9, 2.6.28)
def test_spec_2_6_an_eviction_that_takes_too_long_is_reported(grace_s: int, told_after_s: int):
    world = World({"web": manifest("web", behaviour={"hang": "StopContainer"})}).start()
    world.run(5 * SECOND)
    order = TerminatePod(grace_seconds=grace_s, evicted=True, reason="Evicted", message="the node was low on memory")
    worker_of(world, "web").tell(order)

    def told() -> list[str]:
        return [said for said in world.said("web") if said.startswith("ExceededGracePeriod")]

    world.run((told_after_s - 1) * SECOND)
    assert told() == []
    world.run(2 * SECOND)
    assert told() == [f"ExceededGracePeriod: the pod was given {grace_s} s to end and has not ended"]
    world.run(3 * MINUTE)
    assert len(told()) == 1
    status = world.pod("web").status
    assert status is not None
    assert (status.phase, status.reason, status.message) == ("Failed", "Evicted", "the node was low on memory")


# (spec 2.6.28)
def test_spec_2_6_an_eviction_that_ends_in_time_is_not_complained_of():
    world = World({"web": manifest("web", behaviour={"ignore-stop-signal": "true"})}).start()
    world.run(5 * SECOND)
    worker_of(world, "web").tell(TerminatePod(grace_seconds=4, evicted=True, reason="Evicted"))
    world.run(MINUTE)
    assert world.running() == []
    assert not [said for said in world.said("web") if said.startswith("ExceededGracePeriod")]


@pytest.mark.parametrize("code", ["0", "3"])
def test_a_pod_that_had_ended_when_it_was_evicted_keeps_what_is_said_of_its_end(code: str):
    """Its sandbox took long to stop. Otherwise it would be counted as evicted or failed."""
    behaviour = {"run-for": "2s", "exit-code": code, "late": "StopPodSandbox=20s"}
    world = World({"job": manifest("job", behaviour=behaviour, restartPolicy="Never")}).start()
    world.until(lambda: world.phases().get("job") in ("Succeeded", "Failed"))
    before = world.pod("job").status
    order = TerminatePod(grace_seconds=1, evicted=True, disrupted=True, reason="Evicted", message="the node was short")
    worker_of(world, "job").tell(order)
    world.run(MINUTE)
    now = world.pod("job").status
    assert before is not None
    assert now is not None
    assert (now.phase, now.reason, now.message) == (before.phase, before.reason, before.message)
    assert not [each for each in now.conditions if each.type == "DisruptionTarget"]


# --- 3.10 -----------------------------------------------------------------------------------------------------------


# (spec 2.8.2, 3.10.15)
def test_spec_3_10_containers_are_ended_side_by_side_and_the_sandbox_is_stopped_after_them():
    behaviour = {"stop-delay": "4s"}
    world = World({"web": manifest("web", [container("a"), container("b")], behaviour=behaviour)}).start()
    world.run(5 * SECOND)
    called = verbs_after(world, ["StopContainer", "StopPodSandbox"])
    world.node.remove_manifest("web")
    world.run(MINUTE)
    assert called[:3] == ["StopContainer", "StopContainer", "StopPodSandbox"]
    first, second = (each.finished_at for each in world.made.values())
    assert abs(first - second) < SECOND // 10


# (spec 3.10.5)
def test_spec_3_10_each_end_is_told_once_however_often_it_is_looked_at():
    world = World({"web": manifest("web", behaviour={"stop-delay": "20s"})}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("web")
    world.run(MINUTE)
    assert [said for said in world.said("web") if said.startswith("Killing")] == ["Killing: Stopping container app"]


@pytest.mark.parametrize("by_ns", [60 * MINUTE, -60 * MINUTE])
def test_a_clock_that_jumps_while_a_pod_ends_takes_no_time_from_its_sidecars(by_ns: int):
    side = container("side", restartPolicy="Always")
    behaviour = {"ignore-stop-signal": "true"}
    pod = manifest("web", behaviour=behaviour, initContainers=[side], terminationGracePeriodSeconds=20)
    world = World({"web": pod}).start()
    world.until(lambda: len(world.running()) == 2)
    world.node.remove_manifest("web")
    world.run(5 * SECOND)
    world.dispatcher.wall_offset_ns += by_ns
    worker_of(world, "web").tell(LookAgain())
    world.until(lambda: len(world.running()) < 2, MINUTE)
    assert world.running() == ["web/side"], "it serves the other to its end"
    assert world.until(lambda: world.running() == [], MINUTE) <= 4 * SECOND, "and has no more time than it"


@pytest.mark.parametrize("by_ns", [0, 60 * MINUTE, -60 * MINUTE])
@pytest.mark.parametrize("pre_stop", [None, {"sleep": {"seconds": 50}}], ids=["no hook", "sleeps"])
def test_an_agent_that_comes_while_a_pod_ends_gives_it_what_is_left_whatever_the_clock_says(
    by_ns: int, pre_stop: dict[str, Any] | None
):
    """Clocks are set while machines start, which is when agents start."""
    fields: dict[str, Any] = {} if pre_stop is None else {"lifecycle": {"preStop": pre_stop}}
    cluster = Cluster()
    cluster.create(
        "web",
        containers=[container(**fields)],
        annotations={PREFIX + "ignore-stop-signal": "true"} if pre_stop is None else {},
        terminationGracePeriodSeconds=60,
    )
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    began_ns = cluster.dispatcher.now_ns()
    cluster.delete("web")
    cluster.run(20 * SECOND)
    cluster.node.kill()
    cluster.dispatcher.wall_offset_ns += by_ns
    cluster.node.restart_agent()
    cluster.until(lambda: cluster.node.containers() == (), 5 * MINUTE)
    took_s = (cluster.dispatcher.now_ns() - began_ns) / SECOND
    assert took_s == pytest.approx(60 if pre_stop is None else 50, abs=3)


# (spec 3.10.13)
def test_spec_3_10_a_sidecar_waits_no_longer_than_the_grace_and_has_its_two_seconds_after_it():
    side = container("side", restartPolicy="Always")
    behaviour = {"ignore-stop-signal": "true"}
    pod = manifest("web", behaviour=behaviour, initContainers=[side], terminationGracePeriodSeconds=6)
    world = World({"web": pod}).start()
    world.run(5 * SECOND)
    began_ns = world.dispatcher.wall_ns()
    world.node.remove_manifest("web")
    world.run(MINUTE)
    ended_s = sorted(round((each.finished_at - began_ns) / SECOND) for each in world.made.values())
    assert ended_s == [6, 8] or ended_s == [7, 9], "the second in which the manifest's going is noticed"


def test_the_next_static_pod_of_a_name_does_not_wait_for_a_minute_when_its_collector_has_begun_anew(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[str] = []

    def fails_once(actor: ContainerGCActor, message: CollectPod) -> None:
        asked.append(message.uid)
        if len(asked) == 1:
            raise RuntimeError("as the test wants it")
        actor.collect_pod(message)

    replace_handler(monkeypatch, ContainerGCActor, CollectPod, fails_once)
    world = World({"web": manifest("web")}).start()
    world.run(5 * SECOND)
    world.node.put_manifest("web", manifest("web", [container("other")]))
    assert world.until(lambda: world.running() == ["web/other"]) < SECOND
    assert asked == [asked[0]] * 2
