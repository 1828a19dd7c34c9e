"""Old pains of node agents, played on whole nodes.

One bad pod, call, event or disk, and all the others.

The numbers in the names are those of the project's list of pains.
"""

from __future__ import annotations

import pytest

from actors.pleg.pleg import DescribePleg
from config.kubelet import KubeletConfiguration
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan, Faults
from simulation.cri import Settings
from tests.simulation.node.worlds import IMAGE, OTHER_IMAGE, SECOND, World, container, manifest

MANY = 100
PARALLEL_PULLS = KubeletConfiguration(serialize_image_pulls=False)


def many(count: int = MANY) -> dict[str, str]:
    return {f"p{number:03}": manifest(f"p{number:03}") for number in range(count)}


def names(count: int = MANY) -> list[str]:
    return [f"p{number:03}/app" for number in range(count)]


# --- 1: one hung pod ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["RunPodSandbox", "CreateContainer", "StartContainer", "ContainerStatus"])
def test_pain_1_one_call_that_hangs_holds_up_no_other_pod_and_is_named(verb: str):
    world = World({"hung": manifest("hung", behaviour={"hang": verb}), **many()}).start()
    took_ns = world.until(lambda: [name for name in world.running() if name != "hung/app"] == names())
    assert took_ns < 2 * SECOND
    late: set[str] = set()
    for _ in range(30):
        world.run(20 * SECOND)
        late |= {actor.path for actor in world.node.node.late_actors()}
        if late:
            break
    shown = [trouble for trouble in world.said("hung") if "no answer within" in trouble]
    assert late or shown, "the hang is told by health, or by an event of the pod when its deadline has passed"
    assert all("hung" in path or path.rpartition("/")[2] == uid_of(world, "hung") for path in late)
    world.node.put_manifest("late", manifest("late"))
    assert world.until(lambda: "late/app" in world.running()) <= 2 * SECOND


def test_pain_1_among_500_pods_the_one_without_a_status_is_named_by_an_event_and_no_other_is_late():
    world = World({"hung": manifest("hung", behaviour={"hang": "ContainerStatus"}), **many(500)}).start()
    everyone = dict.fromkeys(many(500), "Running") | {"hung": "Pending"}
    world.until(lambda: world.phases() == everyone, 5 * SECOND)
    victims = [f"p{number:03}" for number in range(0, 500, 50)]
    for name in victims:
        world.cri.kill_container((world.status(name).container_id or "").removeprefix("simulated://"))
        began_ns = world.dispatcher.now_ns()
        while world.status(name).restart_count == 0 or not world.status(name).ready:
            assert world.step(began_ns + SECOND), f"{name} shows the death of its container within a second"
    world.run(130 * SECOND)
    (named,) = [said for said in world.said("hung") if said.startswith("FailedSync")]
    assert "code = DeadlineExceeded desc = no answer within 120 s" in named
    assert not any("FailedSync" in said for name in many(500) for said in world.said(name))
    assert world.phases() == everyone
    pleg = world.node.node.system.find("/node/pleg")
    assert pleg is not None
    age_ns, listed, _ = pleg.ask(DescribePleg())
    assert age_ns is not None
    assert age_ns <= 10 * SECOND
    assert listed == 2 * 501 + len(victims)


def uid_of(world: World, name: str) -> str:
    return world.pod(name).metadata.uid


# --- 2, 3: events and mailboxes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_pain_3_events_doubled_lost_late_and_cut_cost_no_exit_and_double_nothing(seed: int):
    plan = FaultPlan(events=EventFaultPlan(double=0.4, lose=0.4, delay=0.4, cut=0.1))
    behaviour = {"run-for": "3s,4s,forever", "exit-code": "1"}
    pods = {f"p{number}": manifest(f"p{number}", behaviour=behaviour) for number in range(10)}
    world = World(pods, seed=seed, faults=Faults(plan, seed)).start()
    world.run(120 * SECOND)
    assert world.running() == [f"p{number}/app" for number in range(10)]
    for number in range(10):
        assert len(world.starts_of(f"p{number}")) == 3
        assert world.status(f"p{number}").restart_count == 2
        assert world.status(f"p{number}").ready


@pytest.mark.parametrize("seed", range(6))
def test_a_runtime_that_fails_loses_and_delays_one_call_in_ten_gets_everything_running_once_it_is_well(seed: int):
    calls = {"*": CallFaults(fail=0.1, lose=0.05, slow=0.1, late=0.1)}
    faults = Faults(FaultPlan(calls=calls, events=EventFaultPlan(double=0.1, lose=0.1, delay=0.2, cut=0.02)), seed)
    world = World(many(20), seed=seed, faults=faults).start()
    world.run(120 * SECOND)
    for number in range(5):
        world.node.remove_manifest(f"p{number:03}")
    world.run(120 * SECOND)
    faults.heal()
    world.run(400 * SECOND)
    assert world.running() == names(20)[5:]
    assert sorted(world.phases().values()) == ["Running"] * 15
    assert len(world.cri.state.sandboxes) == 15
    assert len(world.node.volumes.list_uids()) == 15


# --- 5: stuck ends --------------------------------------------------------------------------------------------------


def test_pain_5_a_stop_that_hangs_a_few_times_ends_when_it_answers():
    world = World({"stuck": manifest("stuck", behaviour={"hang": "StopContainer*2"}), "web": manifest("web")}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("stuck")
    world.node.remove_manifest("web")
    world.until(lambda: world.running() == ["stuck/app"], 60 * SECOND)
    world.until(lambda: world.running() == [], 1_000 * SECOND)
    world.run(120 * SECOND)
    assert world.node.pods() == ()
    assert not world.cri.state.sandboxes


def test_pain_5_twenty_pods_that_cannot_be_stopped_do_not_keep_others_from_stopping():
    stuck = {f"s{n}": manifest(f"s{n}", behaviour={"hang": "StopContainer"}) for n in range(20)}
    world = World({**stuck, **many(20)}).start()
    world.run(10 * SECOND)
    for name in (*stuck, *many(20)):
        world.node.remove_manifest(name)
    stuck_names = sorted(f"{name}/app" for name in stuck)
    assert world.until(lambda: world.running() == stuck_names) <= 2 * SECOND


# --- 4: disks -------------------------------------------------------------------------------------------------------


def test_pain_4_a_disk_that_hangs_for_one_pod_holds_up_no_other():
    world = World(many(3))
    for name in ("a", "b", "c"):
        uid = f"uid-{name}"
        world.node.host.tree.hang(f"/var/lib/actorlet/pods/{uid}")
        world.node.put_manifest(name, manifest(name, uid=uid))
    world.start()
    assert world.until(lambda: world.running() == names(3)) <= 2 * SECOND
    world.run(60 * SECOND)
    for number in range(10):
        world.node.put_manifest(f"late{number}", manifest(f"late{number}"))
    world.until(lambda: len(world.running()) == 13, 5 * SECOND)
    for name in ("a", "b", "c"):
        world.node.host.tree.heal(f"/var/lib/actorlet/pods/uid-{name}")
    world.run(300 * SECOND)
    assert len(world.running()) == 16


# --- 7: static pod races --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_pain_7_manifests_edited_renamed_and_removed_in_any_order_leave_one_life_of_the_newest_form(seed: int):
    world = World({"a": manifest("web", [container("v0")], behaviour={"stop-delay": "1500ms"})}, seed=seed).start()
    chance = world.dispatcher.chance
    file = "a"
    for version in range(1, 12):
        world.run(int(chance.random() * 4 * SECOND))
        operation = chance.choice(["edit", "rename", "remove and put", "restart", "kill"])
        text = manifest("web", [container(f"v{version}")], behaviour={"stop-delay": "1500ms"})
        if operation == "rename":
            world.node.remove_manifest(file)
            file = "b" if file == "a" else "a"
        elif operation == "remove and put":
            world.node.remove_manifest(file)
            world.run(int(chance.random() * 2 * SECOND))
        elif operation == "restart":
            world.node.restart_agent()
        elif operation == "kill":
            world.node.kill()
            world.run(int(chance.random() * 2 * SECOND))
        world.node.put_manifest(file, text)
        if operation == "kill":
            world.node.restart_agent()
    world.run(120 * SECOND)
    assert world.running() == ["web/v11"]
    assert world.phases() == {"web": "Running"}


# --- 10: pulls ------------------------------------------------------------------------------------------------------


def test_pain_10_an_endless_pull_holds_up_no_pod_whose_image_is_there_and_no_other_pull():
    settings = Settings(images=(IMAGE,))
    big = manifest("big", [container(image="registry.example/big:1")], behaviour={"hang": "PullImage"})
    world = World({"big": big, **many(50)}, settings=settings, configuration=PARALLEL_PULLS).start()
    assert world.until(lambda: world.running() == names(50)) <= 2 * SECOND
    world.node.put_manifest("small", manifest("small", [container(image=OTHER_IMAGE)]))
    assert world.until(lambda: "small/app" in world.running()) <= 3 * SECOND
    assert [pull.image for pull in world.node.node.pulls()] == ["registry.example/big:1"]
    world.node.remove_manifest("big")
    world.run(60 * SECOND)
    assert world.node.node.pulls() == ()
    assert "big" not in world.phases()


def test_pain_10_a_container_that_dies_while_another_pulls_is_restarted_at_once():
    settings = Settings(images=(IMAGE,))
    text = manifest(
        "web",
        [container("app"), container("other", image="registry.example/big:1")],
        behaviour={"hang": "PullImage", "run-for.app": "5s,forever"},
    )
    world = World({"web": text}, settings=settings, configuration=PARALLEL_PULLS).start()
    world.run(8 * SECOND)
    assert world.running() == ["web/app"]
    assert len(world.starts_of("web")) == 2


# --- 12: a runtime that goes away -----------------------------------------------------------------------------------


def test_a_runtime_that_goes_away_and_comes_back_finds_all_as_it_was():
    world = World(many(20)).start()
    world.run(10 * SECOND)
    before = [record.id for record in world.running_records()]
    world.cri.go_down()
    world.run(90 * SECOND)
    assert set(world.phases().values()) == {"Running"}
    world.cri.come_back()
    world.node.put_manifest("late", manifest("late"))
    world.run(30 * SECOND)
    assert [record.id for record in world.running_records()][:20] == before
    assert world.running() == ["late/app", *names(20)]


# (spec 2.2.4)
def test_a_missing_runtime_is_waited_for_and_said_so_once(caplog: pytest.LogCaptureFixture):
    world = World(many(2))
    world.cri.go_down()
    with caplog.at_level("WARNING"):
        world.start().run(300 * SECOND)
        waiting = [record.message for record in caplog.records if "waiting for the runtime" in record.message]
        assert len(waiting) == 1
    world.cri.come_back()
    assert world.until(lambda: world.running() == names(2)) <= 15 * SECOND
