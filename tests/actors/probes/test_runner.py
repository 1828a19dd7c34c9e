"""The runner of a pod's probes (spec 5).

Times kept under load, answers that come too late, and what outlives a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from weakref import WeakSet

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher, kept
from actors.messages.events import RecordEvent
from actors.messages.probes import (
    ContainersSeen,
    ProbeRunnerStarted,
    ProbesJudged,
    RunningContainer,
    TellVerdicts,
)
from actors.model.observed import ProbeResults
from actors.probes.runner import ProbeRunner
from config.documents.codec import from_builtins
from config.objects import Pod
from config.pods.identity import has_probes
from runtime.io.pending import PendingAnswer, settle
from runtime.metrics.kubelet import PROBE_DURATION, PROBE_TOTAL
from runtime.metrics.meters import Meters
from runtime.probes import Check, ProbeAnswer, ProbeOutcome
from tests.actors.recorders import Recorder, only
from tests.actors.services import services_for

SECOND = 10**9
MS = 10**6
TCP = {"tcpSocket": {"port": 80}, "periodSeconds": 1}
OK, NO = ProbeAnswer(ProbeOutcome.SUCCESS), ProbeAnswer(ProbeOutcome.FAILURE, "no")
HOUR = 3600 * SECOND


def pod_of(name: str, containers: int = 1, **fields: Any) -> Pod:
    made = [{"name": f"c{number}", "image": "b", **fields} for number in range(containers)]
    return from_builtins({"metadata": {"name": name, "uid": name}, "spec": {"containers": made}}, Pod)


class Answers:
    """A prober whose answers a function chooses, by (container id, kind).

    The function gives an answer, or a delay with an answer.
    """

    def __init__(self, dispatcher: SimulatedDispatcher) -> None:
        self.say: Callable[[str, str], ProbeAnswer | tuple[int, ProbeAnswer] | None] = lambda container, kind: OK
        self.asked: list[tuple[int, str, str]] = []
        self.futures: WeakSet[Future[ProbeAnswer]] = WeakSet()
        self.cancelled = 0
        self._dispatcher = dispatcher

    def probe(self, container_id: str, kind: str, check: Check, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
        self.asked.append((self._dispatcher.now_ns(), container_id, kind))
        answer = self.say(container_id, kind)
        if isinstance(answer, ProbeAnswer):
            return kept(answer)
        future: Future[ProbeAnswer] = Future()
        self.futures.add(future)
        if answer is not None:
            after_ns, late = answer
            self._dispatcher.schedule(after_ns, lambda: settle(future, result=late))
        return future


class Runner:
    """One runner, with the test in place of its worker."""

    def __init__(self, pod: Pod, began_ns: int = -HOUR) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.answers = Answers(self.dispatcher)
        self.pod = pod
        self.worker, self.told = Recorder.spawn_in(self.system, "worker", ProbesJudged, ProbeRunnerStarted)
        events, self.said = Recorder.spawn_in(self.system, "events", RecordEvent)
        self.meters = Meters()
        services = services_for(
            self.dispatcher,
            self.system,
            prober=self.answers,
            events=events,
            began_ns=began_ns,
            meters=self.meters,
        )
        self.ref = self.system.spawn(ProbeRunner, self.worker, services, name="probes")

    def see(self, *running: RunningContainer, ending: bool = False) -> None:
        self.ref.tell(ContainersSeen(self.pod, running, "10.0.0.1", ending))
        self.run(0)

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND))

    def container(self, id_: str = "x", name: str = "c0", **known: bool) -> RunningContainer:
        return RunningContainer(name, id_, self.dispatcher.wall_ns(), **known)

    @property
    def results(self) -> ProbeResults:
        return only(self.told, ProbesJudged)[-1].results


@pytest.mark.parametrize(
    ("elapsed_s", "dead"), [(1, True), (60, False)], ids=["in time", "after the agent was stopped for a minute"]
)
def test_spec_5_an_agent_that_was_paused_for_a_minute_kills_nobody_for_it(elapsed_s: int, dead: bool) -> None:
    runner = Runner(pod_of("p", livenessProbe={**TCP, "failureThreshold": 1}))
    runner.answers.say = lambda container, kind: (elapsed_s * SECOND, NO)
    runner.see(runner.container())
    runner.run(70)
    assert (runner.results.liveness["x"] is False) is dead


def test_spec_5_a_check_that_never_ends_is_given_up_and_the_next_one_counts() -> None:
    runner = Runner(pod_of("p", readinessProbe=TCP))
    runner.answers.say = lambda container, kind: None if len(runner.answers.asked) == 1 else OK
    runner.see(runner.container())
    runner.run(10)
    assert len(runner.answers.asked) == 1
    runner.run(10)
    assert runner.results.readiness["x"] is True


@pytest.mark.usefixtures("no_collections")
def test_checks_that_have_ended_are_freed_without_a_pass_of_the_garbage_collector() -> None:
    runner = Runner(pod_of("p", readinessProbe=TCP))
    runner.answers.say = lambda container, kind: (SECOND // 2, OK)
    runner.see(runner.container())
    runner.run(10)
    assert len(runner.answers.asked) >= 10
    assert len(runner.answers.futures) <= 1


def test_spec_5_an_answer_about_a_container_that_is_gone_says_nothing_of_the_next() -> None:
    runner = Runner(pod_of("p", livenessProbe={**TCP, "failureThreshold": 1, "timeoutSeconds": 5}))
    runner.answers.say = lambda container, kind: (3 * SECOND, NO) if container == "x" else OK
    runner.see(runner.container("x"))
    runner.run(1)
    runner.see(runner.container("y"))
    runner.run(10)
    assert runner.results.liveness == {"y": True}


# (spec 5.10)
def test_spec_5_a_container_that_is_gone_is_not_asked() -> None:
    runner = Runner(pod_of("p", livenessProbe=TCP, readinessProbe=TCP))
    runner.see(runner.container())
    runner.run(5)
    runner.see()
    asked = len(runner.answers.asked)
    runner.run(60)
    assert len(runner.answers.asked) == asked


def test_a_probe_that_an_edit_takes_away_is_not_asked_again_and_takes_no_verdict_of_another_with_it() -> None:
    runner = Runner(pod_of("p", livenessProbe=TCP, readinessProbe=TCP))
    runner.see(runner.container())
    runner.run(5)
    assert runner.meters.value(PROBE_TOTAL, "Liveness", "successful", "c0", "p", "", "p") > 0
    runner.pod = pod_of("p", readinessProbe=TCP)
    runner.see(runner.container())
    asked = len(runner.answers.asked)
    runner.run(30)
    assert {kind for _, _, kind in runner.answers.asked[asked:]} == {"readiness"}
    assert (dict(runner.results.readiness), dict(runner.results.liveness)) == ({"x": True}, {})
    assert runner.meters.value(PROBE_TOTAL, "Liveness", "successful", "c0", "p", "", "p") == 0
    assert len(only(runner.told, ProbeRunnerStarted)) == 1, "it has not failed"


def test_an_answer_to_a_removed_probe_is_ignored() -> None:
    runner = Runner(pod_of("p", livenessProbe={**TCP, "timeoutSeconds": 5}, readinessProbe=TCP))
    runner.answers.say = lambda container, kind: (3 * SECOND, NO) if kind == "liveness" else OK
    runner.see(runner.container())
    runner.run(1)
    runner.pod = pod_of("p", readinessProbe=TCP)
    runner.see(runner.container())
    runner.run(10)
    assert runner.results.liveness == {}
    assert len(only(runner.told, ProbeRunnerStarted)) == 1, "it has not failed"


# (spec 5.9)
def test_spec_5_published_readiness_is_kept_until_the_first_probe_result() -> None:
    runner = Runner(pod_of("p", readinessProbe={**TCP, "failureThreshold": 1}, startupProbe=TCP), began_ns=0)
    runner.answers.say = lambda container, kind: NO
    old = replace_start(runner.container(ready=True, started=True), -HOUR)
    runner.see(old)
    assert runner.results.readiness == {"x": True}
    assert runner.results.startup == {"x": True}
    runner.run(2)
    assert runner.results.readiness == {"x": False}
    assert {kind for _, _, kind in runner.answers.asked} == {"readiness"}, "it has started: nobody asks again"


def replace_start(container: RunningContainer, by_ns: int) -> RunningContainer:
    return RunningContainer(
        container.name, container.id, container.started_wall_ns + by_ns, container.ready, container.started
    )


# (spec 5.4)
def test_spec_5_a_young_agent_spreads_its_first_probes_over_a_period() -> None:
    period = {**TCP, "periodSeconds": 10}
    runner = Runner(pod_of("p", 50, livenessProbe=period), began_ns=0)
    runner.see(*(runner.container(f"x{number}", f"c{number}") for number in range(50)))
    runner.run(10)
    times = sorted(at for at, _, _ in runner.answers.asked)
    assert len(times) == 50
    assert times[10] < 5 * SECOND < times[40]


# (spec 5.4)
def test_spec_5_an_old_agent_asks_at_once() -> None:
    runner = Runner(pod_of("p", 50, livenessProbe=TCP))
    runner.see(*(runner.container(f"x{number}", f"c{number}") for number in range(50)))
    assert {at for at, _, _ in runner.answers.asked} == {0}


@pytest.mark.parametrize("kind", ["liveness", "startup"])
# (spec 5.5)
def test_spec_5_one_failure_does_not_kill_a_container_that_needs_most_of_a_period_to_start(kind: str) -> None:
    probe: dict[str, Any] = {f"{kind}Probe": {**TCP, "periodSeconds": 10, "failureThreshold": 1}}
    runner = Runner(pod_of("p", **probe))
    well_from = {"x": 9 * SECOND, "y": 19 * SECOND}
    runner.answers.say = lambda container, kind: OK if runner.dispatcher.now_ns() > well_from[container] else NO
    runner.see()
    runner.run(1)
    runner.see(runner.container("x"))
    runner.run(10)
    runner.see(runner.container("y"))
    runner.run(10)
    assert runner.answers.asked == [(10 * SECOND, "x", kind), (20 * SECOND, "y", kind)]
    assert getattr(runner.results, kind) == {"y": True}


# (spec 5.5)
def test_spec_5_a_liveness_probe_begins_a_period_after_a_startup_probe_of_the_same_period_succeeded() -> None:
    runner = Runner(pod_of("p", livenessProbe={**TCP, "periodSeconds": 10}, startupProbe={**TCP, "periodSeconds": 10}))
    runner.see()
    runner.run(1)
    runner.see(runner.container("x"))
    runner.run(20)
    assert runner.answers.asked == [(10 * SECOND, "x", "startup"), (20 * SECOND, "x", "liveness")]


def test_spec_5_a_worker_that_has_forgotten_is_told_again_and_a_runner_that_has_forgotten_asks() -> None:
    runner = Runner(pod_of("p", readinessProbe=TCP))
    runner.run(0)
    assert only(runner.told, ProbeRunnerStarted)
    runner.see(runner.container())
    runner.run(5)
    before = len(only(runner.told, ProbesJudged))
    runner.ref.tell(TellVerdicts())
    runner.run(0)
    assert len(only(runner.told, ProbesJudged)) == before + 1
    assert runner.results.readiness == {"x": True}


def test_spec_5_a_probe_whose_port_has_no_name_says_so_and_kills_nobody() -> None:
    runner = Runner(pod_of("p", livenessProbe={"tcpSocket": {"port": "web"}, "failureThreshold": 1}))
    runner.see(runner.container())
    runner.run(60)
    assert runner.results.liveness == {"x": True}
    assert "couldn't find port 'web' in container c0" in only(runner.said, RecordEvent)[0].message


# (spec 2.7.8)
def test_spec_5_a_pod_has_probes_where_a_container_that_stays_has_one() -> None:
    assert not has_probes(pod_of("p").spec)
    assert has_probes(pod_of("p", startupProbe=TCP).spec)


def test_with_100_of_1000_probes_hanging_the_others_are_on_time_within_100_ms() -> None:
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    answers = Answers(dispatcher)
    worker, told = Recorder.spawn_in(system, "worker", ProbesJudged, ProbeRunnerStarted)
    hang = {f"p{pod}c0" for pod in range(100)}
    # What hangs does so until its timeout, half a minute; what does not takes a while.
    answers.say = lambda container, kind: (30 * SECOND, NO) if container in hang else (50 * MS, OK)
    events, _ = Recorder.spawn_in(system, "events", RecordEvent)
    services = services_for(dispatcher, system, prober=answers, events=events, began_ns=0)
    wall_ns = dispatcher.wall_ns()
    for number in range(100):
        pod = pod_of(f"p{number}", 10, livenessProbe={**TCP, "timeoutSeconds": 30})
        ref = system.spawn(ProbeRunner, worker, services, name=f"p{number}")
        running = tuple(RunningContainer(f"c{each}", f"p{number}c{each}", wall_ns) for each in range(10))
        ref.tell(ContainersSeen(pod, running, "10.0.0.1", False))
    seconds = 8
    dispatcher.run_for(seconds * SECOND)
    times: dict[str, list[int]] = {}
    for at, container, _ in answers.asked:
        times.setdefault(container, []).append(at)
    assert len(times) == 1000
    assert all(len(found) == 1 for container, found in times.items() if container in hang)
    for container, found in times.items():
        if container not in hang:
            assert len(found) in (seconds, seconds + 1), container
            assert max(abs(at - found[0] - n * SECOND) for n, at in enumerate(found)) <= 100 * MS
    assert not any(False in message.results.liveness.values() for message in only(told, ProbesJudged))


# (spec 2.3.3, 5.16)
def test_spec_5_the_worker_is_told_of_a_verdict_only_when_it_changes() -> None:
    runner = Runner(pod_of("p", readinessProbe={**TCP, "failureThreshold": 1}))
    verdicts = iter([OK, OK, OK, NO, NO, OK])
    runner.answers.say = lambda container, kind: next(verdicts, OK)
    runner.see(runner.container())
    runner.run(20)
    told = [message.results.readiness.get("x") for message in only(runner.told, ProbesJudged)]
    assert told[told.index(True) :] == [True, False, True]


# (spec 5.1)
def test_spec_5_each_probe_of_each_container_is_asked_by_itself_and_init_containers_are_not() -> None:
    pod = from_builtins(
        {
            "metadata": {"name": "p", "uid": "p"},
            "spec": {
                "initContainers": [
                    {"name": "once", "image": "b", "livenessProbe": TCP},
                    {"name": "side", "image": "b", "restartPolicy": "Always", "livenessProbe": TCP},
                ],
                "containers": [{"name": "c0", "image": "b", "livenessProbe": TCP, "readinessProbe": TCP}],
            },
        },
        Pod,
    )
    runner = Runner(pod)
    runner.see(runner.container("o", "once"), runner.container("s", "side"), runner.container("x", "c0"))
    runner.run(0.5)
    asked = sorted((container, kind) for _, container, kind in runner.answers.asked)
    assert asked == [("s", "liveness"), ("x", "liveness"), ("x", "readiness")]


@pytest.mark.parametrize("successes", [2, 7])
# (spec 5.33)
def test_spec_5_each_answer_is_measured_by_kind_and_result_until_the_pod_is_over(successes: int) -> None:
    runner = Runner(pod_of("p", readinessProbe=TCP))
    runner.answers.say = lambda container, kind: OK if len(runner.answers.asked) <= successes else NO
    runner.see(runner.container())
    runner.run(1.5)
    runner.see(runner.container())
    runner.run(successes + 1)

    def counted() -> list[float]:
        who = ("c0", "p", runner.pod.metadata.namespace, "p")
        return [runner.meters.value(PROBE_TOTAL, "Readiness", each, *who) for each in ("successful", "failed")]

    assert counted() == [successes, 3]
    who = ("c0", "p", runner.pod.metadata.namespace)
    assert runner.meters.value(PROBE_DURATION, "Readiness", *who) == successes + 3
    runner.system.stop()
    assert counted() == [0, 0]
