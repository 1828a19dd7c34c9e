"""How containers and pods live and end, to the second of virtual time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from runtime.cri.errors import StatusCode
from runtime.cri.identity import CONTAINER_NAME
from runtime.cri.messages import ContainerState
from simulation.cri import Settings
from simulation.cri.simulated_cri import DoVerb
from simulation.cri.state import CriRefusal
from tests.simulation.node.worlds import IMAGE, OTHER_IMAGE, SECOND, World, container, manifest


def test_a_crashing_container_waits_10_20_40_seconds_and_at_most_300():
    world = World({"bad": manifest("bad", behaviour={"run-for": "1s", "exit-code": "3"})}).start()
    world.run(2000 * SECOND)
    starts = world.starts_of("bad")
    waits = [later - earlier - 1 for earlier, later in pairwise(starts)]
    assert waits[:6] == pytest.approx([0, 10, 20, 40, 80, 160], abs=1.0)
    assert waits[6] == pytest.approx(300, abs=1.5)
    assert waits[7] == pytest.approx(300, abs=1.5)


# (spec 3.5.3)
def test_a_crash_loop_is_shown_with_its_reason_the_last_end_and_the_count():
    world = World({"bad": manifest("bad", behaviour={"run-for": "1s", "exit-code": "3"})}).start()
    world.run(10 * SECOND)
    status = world.status("bad")
    assert status.state is not None
    assert status.state.waiting is not None
    assert status.state.waiting.reason == "CrashLoopBackOff"
    assert status.last_state is not None
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.exit_code == 3
    assert status.restart_count == 1
    assert world.phases() == {"bad": "Running"}
    assert any(text.startswith("BackOff: Back-off restarting failed container app") for text in world.said("bad"))


def test_a_container_that_ran_ten_minutes_starts_again_at_once():
    behaviour = {"run-for": "1s,1s,1s,700s,1s", "exit-code": "1"}
    world = World({"bad": manifest("bad", behaviour=behaviour)}).start()
    world.run(900 * SECOND)
    starts = world.starts_of("bad")
    assert starts[4] - starts[3] == pytest.approx(700, abs=12)
    assert starts[5] - starts[4] == pytest.approx(11, abs=1.5)


def test_init_containers_run_one_after_another_and_sidecars_start_among_them():
    behaviour = {"run-for.first": "3s", "run-for.second": "2s"}
    inits = [container("first"), container("side", restartPolicy="Always"), container("second")]
    world = World({"web": manifest("web", behaviour=behaviour, initContainers=inits)}).start()
    world.run(1 * SECOND)
    assert world.running() == ["web/first"]
    assert world.phases() == {"web": "Pending"}
    world.run(3 * SECOND)
    assert world.running() == ["web/second", "web/side"]
    world.run(10 * SECOND)
    assert world.running() == ["web/app", "web/side"]
    starts = [world.starts_of("web", name)[0] for name in ("first", "side", "second", "app")]
    assert starts == sorted(starts)
    assert starts[1] >= starts[0] + 3
    assert starts[3] >= starts[2] + 2
    assert len(world.made) == 4


def test_a_failing_init_container_is_tried_again_and_with_never_fails_the_pod():
    behaviour = {"run-for.init": "1s", "exit-code.init": "1,0"}
    inits = [container("init")]
    world = World(
        {
            "again": manifest("again", behaviour=behaviour, initContainers=inits),
            "never": manifest("never", behaviour=behaviour, initContainers=inits, restartPolicy="Never"),
        }
    ).start()
    world.run(60 * SECOND)
    assert world.phases() == {"again": "Running", "never": "Failed"}
    assert world.running() == ["again/app"]
    assert len(world.starts_of("again", "init")) == 2
    assert world.starts_of("never") == []


@pytest.mark.parametrize(
    ("policy", "codes", "phase", "starts"),
    [
        ("OnFailure", "0", "Succeeded", 1),
        ("OnFailure", "1,0", "Succeeded", 2),
        ("Never", "0", "Succeeded", 1),
        ("Never", "1", "Failed", 1),
    ],
)
def test_a_pod_whose_containers_have_ended_has_ended(policy: str, codes: str, phase: str, starts: int):
    behaviour = {"run-for": "2s", "exit-code": codes}
    world = World({"job": manifest("job", behaviour=behaviour, restartPolicy=policy)}).start()
    world.run(120 * SECOND)
    assert world.phases() == {"job": phase}
    assert len(world.starts_of("job")) == starts
    assert world.running() == []


def test_a_pod_of_two_containers_has_ended_when_both_have():
    behaviour = {"run-for.app": "2s", "run-for.other": "20s", "exit-code.other": "1"}
    containers = [container("app"), container("other")]
    world = World({"job": manifest("job", containers, behaviour=behaviour, restartPolicy="Never")}).start()
    world.run(10 * SECOND)
    assert world.phases() == {"job": "Running"}
    world.run(20 * SECOND)
    assert world.phases() == {"job": "Failed"}


def test_a_pod_ends_its_containers_side_by_side_and_its_sidecars_last_in_reverse_order():
    behaviour = {"stop-delay.app": "4s", "stop-delay.other": "2s", "stop-delay.one": "1s", "stop-delay.two": "1s"}
    sidecars = [container("one", restartPolicy="Always"), container("two", restartPolicy="Always")]
    containers = [container("app"), container("other")]
    world = World({"web": manifest("web", containers, behaviour=behaviour, initContainers=sidecars)}).start()
    world.run(10 * SECOND)
    assert world.running() == ["web/app", "web/one", "web/other", "web/two"]
    world.node.remove_manifest("web")
    world.until(lambda: world.running() == [])
    ends = {record.name.partition("_")[0]: record.finished_at for record in world.made.values()}
    assert sorted(ends, key=lambda name: ends[name]) == ["other", "app", "two", "one"]
    assert ends["app"] - ends["other"] == 2 * SECOND
    assert ends["two"] - ends["app"] < 2 * SECOND
    assert ends["one"] - ends["two"] < 2 * SECOND


def test_a_container_that_ignores_its_signal_is_killed_after_the_grace():
    text = manifest("web", behaviour={"ignore-stop-signal": "true"}, terminationGracePeriodSeconds=7)
    world = World({"web": text}).start()
    world.run(10 * SECOND)
    world.node.remove_manifest("web")
    took_ns = world.until(lambda: world.running() == [])
    assert 7 * SECOND <= took_ns <= 9 * SECOND
    assert [record.exit_code for record in world.made.values()] == [137]


# (spec 2.11.1)
def test_a_pod_is_ended_by_its_deadline():
    world = World({"job": manifest("job", activeDeadlineSeconds=30)}).start()
    took_ns = world.until(lambda: world.phases().get("job") == "Failed")
    assert 29 * SECOND <= took_ns <= 33 * SECOND
    world.run(40 * SECOND)
    assert world.running() == []
    status = world.pod("job").status
    assert status is not None
    assert status.reason == "DeadlineExceeded"


def test_a_deadline_that_passes_while_the_runtime_is_away_does_not_spin_the_worker():
    world = World({"job": manifest("job", activeDeadlineSeconds=30)}).start()
    world.run(20 * SECOND)
    world.cri.go_down()
    before = world.dispatcher.steps
    world.run(60 * SECOND)
    assert world.dispatcher.steps - before < 1_000
    world.cri.come_back()
    world.until(lambda: world.phases().get("job") == "Failed")


def test_a_lost_sandbox_is_replaced_with_its_containers():
    world = World({"web": manifest("web")}).start()
    world.run(5 * SECOND)
    (sandbox_id,) = world.cri.state.sandboxes
    world.cri.lose_sandbox(sandbox_id)
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    assert world.running_records()[0].sandbox.id != sandbox_id


# (spec 3.6.1)
def test_a_sandbox_that_is_made_anew_is_told_of_before_the_old_one_ends():
    world = World({"web": manifest("web", [container(lifecycle={"preStop": {"sleep": {"seconds": 2}}})])}).start()
    world.until(world.settled)
    world.cri.lose_sandbox(next(iter(world.cri.state.sandboxes)))
    world.until(lambda: len(world.starts_of("web")) == 2, 60 * SECOND)
    told = [text.partition(":")[0] for text in world.said("web")]
    assert [each for each in told if each in ("SandboxChanged", "Killing", "Created")] == [
        "SandboxChanged",
        "Killing",
        "Created",
    ]


def test_a_container_killed_by_the_kernel_is_shown_so_and_starts_again():
    world = World({"web": manifest("web", behaviour={"oom-after": "4s,never"})}).start()
    world.run(30 * SECOND)
    assert world.running() == ["web/app"]
    status = world.status("web")
    assert status.last_state is not None
    assert status.last_state.terminated is not None
    assert status.last_state.terminated.reason == "OOMKilled"
    assert status.restart_count == 1


# (spec 2.8.4)
def test_an_unwanted_running_pod_is_ended_once_every_source_has_reported():
    world = World({"web": manifest("web"), "gone": manifest("gone")}).start()
    world.run(5 * SECOND)
    world.node.kill()
    world.node.remove_manifest("gone")
    world.run(5 * SECOND)
    assert world.running() == ["gone/app", "web/app"]
    world.node.restart_agent()
    world.run(120 * SECOND)
    assert world.running() == ["web/app"]
    assert {record.state for record in world.cri.state.containers.values()} == {ContainerState.CONTAINER_RUNNING}


def test_an_image_that_cannot_be_had_backs_off_and_the_pod_waits_with_the_reason():
    world = World({"web": manifest("web", [container(image="Not A Name")])}).start()
    world.run(10 * SECOND)
    state = world.status("web").state
    assert state is not None
    assert state.waiting is not None
    assert state.waiting.reason == "InvalidImageName"
    assert world.phases() == {"web": "Pending"}


# (spec 3.7.5, 6.1.5)
def test_events_say_each_start_each_pull_and_each_wait_once():
    crash = manifest("crash", behaviour={"run-for": "1s", "exit-code": "1"})
    away = manifest("away", [container(image="registry.example/missing:1")])
    refused = manifest("refused", behaviour={"fail": "CreateContainer*2"})
    settings = Settings(images=(IMAGE,), registry=frozenset())
    world = World({"crash": crash, "away": away, "refused": refused}, settings=settings).start()
    world.run(8 * SECOND)

    def counts(name: str) -> dict[str, int]:
        events = world.node.node.events()
        return {e.event.message: e.count for e in events if e.event.name == f"{name}-node"}

    assert list(counts("crash").values())[:3] == [2, 2, 2], "the image is there, created, started"
    assert 'Back-off pulling image "registry.example/missing:1"' in counts("away")
    assert counts("away")["Error: ImagePullBackOff"] == 1
    said = [text for text in counts("refused") if text.startswith("Error: ")]
    assert said == ["Error: the pod's annotations make this call fail"]


# (spec 6.1.4)
def test_why_a_pull_failed_is_shown_for_a_second_before_its_back_off():
    world = World({"web": manifest("web")}, settings=Settings(images=(), registry=frozenset())).start()

    def reason() -> str:
        state = world.status("web").state
        return state.waiting.reason or "" if state is not None and state.waiting is not None else ""

    world.until(lambda: world.phases().get("web") == "Pending" and reason() == "ErrImagePull")
    world.run(SECOND // 2)
    assert reason() == "ErrImagePull"
    assert "Failed: Error: ErrImagePull" in world.said("web")
    assert not any(each.startswith("BackOff") for each in world.said("web"))
    world.run(SECOND)
    assert reason() == "ImagePullBackOff"
    assert "Failed: Error: ImagePullBackOff" in world.said("web")


def test_an_image_that_failed_and_is_not_wanted_now_costs_no_looks():
    images = Settings(images=(IMAGE,), registry=frozenset())
    inits = [container("init")]
    text = manifest("web", [container(image=OTHER_IMAGE)], behaviour={"run-for.init": "20s"}, initContainers=inits)
    world = World({"web": text}, settings=images).start()
    world.run(25 * SECOND)
    state = world.status("web").state
    assert state is not None
    assert state.waiting is not None
    assert state.waiting.reason in ("ErrImagePull", "ImagePullBackOff")
    world.cri.lose_sandbox(next(iter(world.cri.state.sandboxes)))
    world.run(2 * SECOND)
    before = world.dispatcher.steps
    world.run(16 * SECOND)
    assert world.dispatcher.steps - before < 300


def test_the_same_seed_gives_the_same_story():
    def story(seed: int) -> list[tuple[int, str, str, str]]:
        pods = {f"p{n}": manifest(f"p{n}", behaviour={"run-for": f"{n + 1}s", "exit-code": "1"}) for n in range(5)}
        lines: list[tuple[int, str, str, str]] = []
        world = World(pods, seed=seed, trace=lambda *line: lines.append(line))
        world.start().run(60 * SECOND)
        return lines

    assert story(4) == story(4)
    assert story(4) != story(5)


# (spec 3.3.16)
def test_spec_3_3_a_sidecar_that_cannot_be_started_holds_up_no_other_that_is_to_start():
    sides = [container(name, restartPolicy="Always") for name in ("first", "second")]
    world = World({"web": manifest("web", initContainers=sides)}).start()
    world.until(lambda: world.running() == ["web/app", "web/first", "web/second"])

    def refuse_the_first(name: str, request: Any, do: DoVerb) -> Any:
        if name == "CreateContainer" and request.config.metadata.name == "first":
            raise CriRefusal(StatusCode.UNKNOWN, "not this one")
        return do(name, request)

    end_interception = world.cri.intercept(refuse_the_first)
    for record in world.running_records():
        if record.config.labels[CONTAINER_NAME] != "app":
            world.cri.kill_container(record.id)
    world.run(3 * SECOND)
    assert world.running() == ["web/app", "web/second"]
    end_interception()
    world.until(lambda: world.running() == ["web/app", "web/first", "web/second"])
