"""What `actorlet explain` tells of pods in trouble, on whole nodes in virtual time."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest

from actors.events.historian import HistoryRing
from actors.events.history_words import container_waits
from actors.messages.history import PodWait
from actors.pod import sync
from cli.inspect.explanation import Explanation, happened_rows, headline, next_lines
from cli.inspect.local_views import explanation, views_of
from config.objects import Pod
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri import Settings
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_config_volumes_of_api import CFG, SETTINGS, settings, using
from tests.simulation.node.worlds import SECOND, World, container, manifest

LOOPS = {"run-for": "2s", "exit-code": "1", "termination-message": "panic: no such file"}


def told(world: World, name: str) -> Explanation:
    return explanation(world.node.node, name)


def node(seconds: int = 20, **pods: str) -> World:
    world = World({f"{name}.yaml": text for name, text in pods.items()}).start()
    world.run(seconds * SECOND)
    return world


def happened(explained: Explanation, kind: str = "") -> list[str]:
    return [each.text for each in explained.happened if kind in ("", each.kind)]


def in_order(explained: Explanation, *wanted: str) -> bool:
    """Whether these words come in this order among what happened."""
    rest = iter(happened(explained))
    return all(any(words in text for text in rest) for words in wanted)


def test_a_pod_that_runs_tells_how_it_came_to_that_and_waits_for_nothing():
    explained = told(node(web=manifest("web")), "web")
    assert (explained.status, explained.stage, explained.why, explained.waits) == ("Running", "syncing", (), ())
    assert in_order(
        explained, "syncing: it is desired", "decided to make a sandbox, then start container app", "Container started"
    )
    assert list(next_lines(explained)) == ["nothing, until something changes: it is ready"]
    assert headline(explained).startswith("default/web-node  Running, syncing since ")


def test_a_crash_loop_tells_exit_codes_last_words_and_when_it_is_started_again():
    world = node(200, web=manifest("web", behaviour=LOOPS))
    explained = told(world, "web")
    assert explained.status == "CrashLoopBackOff"
    [end] = [each for each in explained.happened if each.kind == "end"]
    assert (end.text, end.count) == ("container app ended with exit code 1 (Error)", 6)
    assert end.detail == "attempt 5, after 2.0 s: panic: no such file"
    assert len(explained.happened) < 15, "a loop is counted, not repeated"
    [wait] = explained.waits
    assert (wait.subject, wait.reason, wait.then) == ("container app", "CrashLoopBackOff", "it is started again")
    [line] = next_lines(explained)
    assert line == "container app: it is started again in 2 min 2 s, at 00:05:22.000"
    before = len(world.starts_of("web"))
    world.run(123 * SECOND)
    assert len(world.starts_of("web")) == before + 1, "and so it was"


def test_an_image_that_cannot_be_pulled_tells_why_and_when_it_is_tried_again():
    bad = manifest("web", [container(image="nope:1")], behaviour={"fail": "PullImage=NOT_FOUND"})
    explained = told(node(25, web=bad), "web")
    assert explained.status == "ImagePullBackOff"
    assert in_order(explained, "image nope:1 cannot be pulled", "container app waits: ImagePullBackOff")
    [wait] = explained.waits
    assert wait.reason == "ImagePullBackOff"
    [line] = next_lines(explained)
    assert line.startswith("container app: it is tried again in ")


def test_a_volume_that_cannot_be_had_is_named_with_its_reason():
    share = manifest(
        "share",
        [container(volumeMounts=[{"name": "share", "mountPath": "/s"}])],
        volumes=[{"name": "share", "gitRepo": {"repository": "https://example.com/a.git"}}],
    )
    explained = told(node(30, share=share), "share")
    [wait] = explained.waits
    assert wait.reason == "FailedMount"
    assert "volumes of type gitRepo are not supported yet" in explained.why[0]
    assert any("volumes cannot be made" in text for text in happened(explained, "failure"))


def test_a_config_map_that_is_missing_is_named_and_so_is_what_follows_when_it_comes():
    cluster = Cluster()
    cluster.create("web", **using(CFG))
    cluster.run(10 * SECOND)
    explained = explanation(cluster.node.node, "default/web")
    assert explained.status == "ContainerCreating"
    [wait] = explained.waits
    assert (wait.subject, wait.reason) == ("the pod", "FailedMount")
    assert 'configmap "settings" not found' in wait.text
    cluster.ask("POST", SETTINGS, settings(colour="blue"))
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.run(SECOND)
    explained = explanation(cluster.node.node, "web")
    assert explained.why == ()
    assert in_order(explained, "the pod waits: FailedMount", "decided to make a sandbox", "Container started")


def test_a_network_that_is_not_ready_is_what_all_pods_wait_for_and_the_way_goes_on_after_it():
    world = World({"web.yaml": manifest("web")})
    world.cri.set_ready(network=False)
    world.start()
    world.run(20 * SECOND)
    explained = told(world, "web")
    assert [wait.reason for wait in explained.waits] == ["NetworkNotReady"]
    assert explained.why[0].startswith("the pod: ")
    world.cri.set_ready()
    world.run(20 * SECOND)
    explained = told(world, "web")
    assert explained.why == ()
    assert in_order(explained, "the pod waits: NetworkNotReady", "decided to make a sandbox", "Container started")


def test_a_runtime_that_is_away_is_told():
    world = World({"web.yaml": manifest("web")})
    world.cri.set_ready(runtime=False)
    world.start()
    world.run(20 * SECOND)
    explained = told(world, "web")
    assert explained.why
    assert "the container runtime is away" in explained.why[0]


def test_a_pull_that_has_ended_is_not_waited_for_while_the_runtime_hangs_over_what_comes_next():
    web = manifest("web", behaviour={"hang": "CreateContainer*1"})
    world = World({"web.yaml": web}, settings=Settings()).start()
    world.run(40 * SECOND)
    explained = told(world, "web")
    assert in_order(explained, "app waits: ContainerCreating", "was pulled", "decided to start container app")
    assert explained.waits == ()


def test_an_init_container_that_has_ended_is_not_waited_for_while_the_next_one_takes_long_to_start():
    behaviour = {"run-for.first": "2s", "start-delay.app": "30s"}
    explained = told(node(web=manifest("web", initContainers=[container("first")], behaviour=behaviour)), "web")
    assert in_order(explained, "app waits: PodInitializing", "first ended", "decided to start container app")
    assert explained.waits == ()


def test_containers_that_have_ended_are_not_waited_for_while_the_stop_of_the_sandbox_hangs():
    world = node(5, web=manifest("web", behaviour={"hang": "StopPodSandbox*1"}))
    world.node.remove_manifest("web.yaml")
    world.run(20 * SECOND)
    explained = told(world, "web")
    assert world.running() == []
    assert in_order(explained, "the end of container app waits", "the pod waits: Terminating")
    [wait] = explained.waits
    assert (wait.subject, wait.text) == ("the pod", "its sandbox and its network are being taken down")


def test_a_static_pod_that_waits_for_its_name_says_for_whom():
    slow = manifest("web", uid="first", behaviour={"ignore-stop-signal": "true"})
    world = node(20, a=slow)
    world.node.remove_manifest("a.yaml")
    world.node.put_manifest("b.yaml", manifest("web", uid="second"))
    world.run(10 * SECOND)
    explained = told(world, "second")
    assert explained.stage == "waiting"
    assert explained.why == (
        "the pod: one static pod of a name at a time; the one of UID first is ending or comes first",
    )
    world.run(60 * SECOND)
    explained = told(world, "web")
    assert (explained.uid, explained.status) == ("second", "Running")
    assert in_order(explained, "waits for its turn: one static pod of a name at a time", "Container started")


def test_a_slow_stop_is_told_while_it_goes_on_and_the_end_afterwards():
    world = node(20, web=manifest("web", behaviour={"ignore-stop-signal": "true"}))
    world.node.remove_manifest("web.yaml")
    world.run(12 * SECOND)
    explained = told(world, "web")
    assert (explained.status, explained.stage) == ("Terminating", "terminating")
    assert explained.why == ("the end of container app: Terminating: it was asked to stop and has 30 s for it",)
    [kill] = next_lines(explained)
    assert "it is killed if it still runs in 1" in kill
    world.run(60 * SECOND)
    explained = told(world, "web")
    assert (explained.status, explained.stage) == ("Gone", "finished")
    assert in_order(explained, "terminating:", "ended with exit code 137", "terminated:", "finished:")
    assert explained.gone


def test_a_pod_that_has_ended_tells_how():
    done = manifest("web", behaviour={"run-for": "5s", "exit-code": "3"}, restartPolicy="Never")
    explained = told(node(30, web=done), "web")
    assert explained.phase == "Failed"
    assert explained.why[0] == "container app: it ended with exit code 3 after about 5 s"
    assert in_order(explained, "ended with exit code 3", "terminating: its phase is final")


def test_an_init_container_that_runs_is_what_the_others_wait_for():
    init = manifest("web", initContainers=[container("setup")], behaviour={"run-for.setup": "100s"})
    explained = told(node(20, web=init), "web")
    assert explained.why == (
        "container app: PodInitializing: init container setup has to end well first, for 20 s by now",
    )


def test_an_agent_that_was_started_anew_tells_what_it_found():
    world = node(60, web=manifest("web", behaviour={"run-for": "20s, forever"}))
    world.node.restart_agent()
    world.run(30 * SECOND)
    explained = told(world, "web")
    assert explained.why == ()
    assert in_order(
        explained,
        "its sandbox was made",
        "container app was started",
        "container app ended with exit code 0",
        "the agent remembers nothing of the time before",
        "container app was found running, and goes on",
    )
    assert not [text for text in happened(explained) if "Container started" in text]


def test_a_historian_that_has_failed_is_told_again_what_can_be_seen_and_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
):
    probed = container(readinessProbe={"tcpSocket": {"port": 80}, "periodSeconds": 600})
    world = node(60, web=manifest("web", [probed], behaviour={"readiness-probe": "fail"}), other=manifest("other"))
    with monkeypatch.context() as broken:
        broken.setattr(HistoryRing, "add", lambda *_: 1 / 0)
        world.node.put_manifest("late.yaml", manifest("late"))
        world.until(lambda: "late/app" in world.running())
        world.run(2 * SECOND)
    world.run(10 * SECOND)
    explained = told(world, "web")
    assert in_order(explained, "container app was started", "the agent remembers nothing", "found running")
    assert explained.why[0].startswith("container app: it runs, and its readiness probe does not succeed")
    assert told(world, "other").stage == "syncing"


def test_hooks_are_steps_of_their_own_with_what_they_do_and_how_long_they_may():
    lifecycle = {"postStart": {"exec": {"command": ["warm", "up"]}}, "preStop": {"sleep": {"seconds": 20}}}
    web = manifest("web", [container(lifecycle=lifecycle)], behaviour={"exec-delay": "5s"})
    world = node(4, web=web)
    assert told(world, "web").why == (
        "container app: ContainerCreating: its postStart hook is running, for 4.0 s by now",
    )
    world.run(10 * SECOND)
    world.node.remove_manifest("web.yaml")
    world.run(15 * SECOND)
    explained = told(world, "web")
    assert explained.why == ("the end of container app: Terminating: its preStop hook is running: a sleep of 20 s",)
    [line] = next_lines(explained)
    assert line.startswith("the end of container app: it is asked to stop after that, at the latest in ")
    world.run(30 * SECOND)
    explained = told(world, "web")
    rows = [what for _, _, what in happened_rows(explained)]
    assert "container app: its postStart hook is run [command 'warm up']" in rows
    assert "container app: its preStop hook is run [a sleep of 20 s; it has 30 s]" in rows
    assert in_order(explained, "its postStart hook has ended", "Stopping container app", "its preStop hook has ended")


def test_a_hook_that_failed_tells_why_here_though_its_event_does_not():
    hook = {"preStop": {"exec": {"command": ["drain"]}}}
    behaviour = {"exec-exit-code": "7", "exec-output": "cannot drain"}
    world = node(4, web=manifest("web", [container(lifecycle=hook)], behaviour=behaviour))
    world.node.remove_manifest("web.yaml")
    world.run(5 * SECOND)
    why = "command 'drain' exited with 7: , message: \"cannot drain\""
    assert in_order(told(world, "web"), f"container app: PreStopHook failed: {why}")
    assert "FailedPreStopHook: PreStopHook failed" in world.said("web")


def test_an_open_ended_wait_is_explained_with_its_length():
    large = manifest("web", [container(image="docker.io/library/large:1")], behaviour={"image-size": "100Gi"})
    explained = told(node(30, web=large), "web")
    assert explained.why[0].endswith("its image docker.io/library/large:1 is being pulled, for 30 s by now")
    assert explained.waits[0].since < explained.asked


def test_a_pull_that_has_to_wait_for_another_says_so_and_when_it_is_begun():
    large = manifest("web", [container(image="docker.io/library/large:1")], behaviour={"image-size": "1000Mi"})
    small = manifest("small", [container(image="docker.io/library/small:1")], behaviour={"pull-rate": "1Mi"})
    world = node(1, web=large)
    world.node.put_manifest("small.yaml", small)
    world.run(4 * SECOND)
    [why] = told(world, "small").why
    assert "docker.io/library/small:1 is not begun yet: docker.io/library/large:1 comes first" in why
    world.run(8 * SECOND)
    [why] = told(world, "small").why
    assert "its image docker.io/library/small:1 is being pulled" in why


def test_a_call_that_hangs_is_why_and_not_what_was_waited_for_before_it():
    explained = told(node(45, web=manifest("web", behaviour={"hang": "CreateContainer"})), "web")
    assert explained.why == ("the creation of container app takes long: 45 s by now",)


def test_a_pod_that_is_not_ready_tells_what_its_probes_say():
    probed = container(readinessProbe={"tcpSocket": {"port": 80}, "periodSeconds": 1})
    web = manifest("web", [probed], behaviour={"readiness-probe": "fail*40, ok"})
    world = node(30, web=web)
    explained = told(world, "web")
    assert explained.phase == "Running"
    assert explained.why == ("container app: it runs, and its readiness probe does not succeed, for 30 s by now",)
    [failed] = happened(explained, "failure")
    assert failed.startswith("container app: Readiness probe failed: ")
    world.run(30 * SECOND)
    assert told(world, "web").why == ()


def test_a_container_that_is_killed_by_its_probe_tells_so():
    probed = container(livenessProbe={"tcpSocket": {"port": 80}, "periodSeconds": 1, "failureThreshold": 2})
    web = manifest("web", [probed], behaviour={"liveness-probe": "ok*3, fail"})
    explained = told(node(120, web=web), "web")
    assert any("Liveness probe failed" in text for text in happened(explained, "failure"))
    assert any("ended with exit code" in text for text in happened(explained, "end"))
    assert any("stop container app: its liveness probe has failed" in text for text in happened(explained, "decision"))


def test_calls_that_fail_are_told_with_the_next_try():
    fails = manifest("web", behaviour={"fail": "RunPodSandbox=UNAVAILABLE"})
    explained = told(node(30, web=fails), "web")
    assert in_order(explained, "Failed to create pod sandbox")
    [wait] = explained.waits
    assert (wait.reason, wait.then) == ("FailedSync", "it is tried again")
    assert wait.until > explained.asked


def test_a_pod_that_has_nothing_to_tell_any_more_tells_nothing():
    world = node(60, **{f"p{n}": manifest(f"p{n}") for n in range(10)})

    def handled() -> int:
        return next(each.handled for each in world.node.node.report().actors if each.path == "/node/historian")

    before = handled()
    world.run(3600 * SECOND)
    assert handled() == before


def test_a_history_is_small():
    world = node(3600, web=manifest("web", behaviour=LOOPS), well=manifest("well"))
    for name, limit in (("web", 16_000), ("well", 4_000)):
        explained = told(world, name)
        size = sum(
            sys.getsizeof(each) + sys.getsizeof(each.text) + sys.getsizeof(each.detail) for each in explained.happened
        )
        assert size < limit, f"{name} takes {size} bytes"


def test_rows_say_how_often_and_since_when():
    explained = told(node(200, web=manifest("web", behaviour=LOOPS)), "web")
    [row] = [what for _, kind, what in happened_rows(explained) if kind == "end"]
    assert row.endswith("[attempt 5, after 2.0 s: panic: no such file] (x6 since 00:00:02.000)")


def test_while_the_runtime_hangs_from_the_start_each_pod_shows_its_name_its_source_and_what_it_waits_for():
    hangs = Faults(FaultPlan(calls={"*": CallFaults(hang=1.0)}), 1)
    cluster = Cluster(manifests={"static.yaml": manifest("static")}, faults=hangs)
    cluster.create("web")
    for seconds in (5, 20, 130):
        cluster.run(seconds * SECOND)
        listed = json.loads(views_of(cluster.node.node)["/pods"]().body)["items"]
        assert [pod["metadata"]["name"] for pod in listed] == ["static-node", "web"]
        static, web = (explanation(cluster.node.node, name) for name in ("static", "web"))
        assert (static.source, web.source) == ("file", "api")
        assert (static.status, web.status) == ("Pending", "Pending")
        assert "source api" in headline(web)
        assert "what the runtime runs is not known yet" in static.why[0]
        assert re.search("the list of the pod.s sandboxes takes long|ListPodSandbox: no answer", web.why[0])


def test_a_pod_of_hundreds_of_images_gathers_what_it_tells(monkeypatch: pytest.MonkeyPatch):
    """Each pull says when it waits and when it begins; what a pod waits for names all of its containers."""
    looks: list[str] = []

    def counted(pod: Pod, *rest: Any) -> tuple[PodWait, ...]:
        looks.append(pod.metadata.name)
        return container_waits(pod, *rest)

    monkeypatch.setattr(sync, "container_waits", counted)
    containers = [container(f"c{number}", f"registry.example/app-{number}:1") for number in range(300)]
    world = node(3, web=manifest("web", containers))
    assert any("is being pulled" in wait.text for wait in told(world, "web").waits)
    assert any("is not begun yet" in wait.text for wait in told(world, "web").waits)
    assert 0 < len(looks) < 60
