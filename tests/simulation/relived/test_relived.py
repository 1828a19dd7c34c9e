"""A recorded night becomes a scenario that says what went wrong, and breaks the same rule."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.kernel import SimulatedDispatcher
from actors.messages.pods import Operation, PodChanged
from cli.replay.scenario_file import night_of
from cli.silence import silence
from cli.simulate.play_watch import Interrupt
from config.objects import Pod
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.identity import POD_UID
from runtime.cri.v1.messages import (
    ContainerConfig,
    ContainerMetadata,
    ContainerStatus,
    ContainerStatusResponse,
    CreateContainerRequest,
    CreateContainerResponse,
    ListContainersRequest,
    PodSandboxConfig,
    PodSandboxMetadata,
    StartContainerRequest,
    StartContainerResponse,
    StopContainerRequest,
)
from simulation.node.simulated_node import SimulatedNode
from simulation.play.failure import failure_alike
from simulation.play.saved_run import scenario_text
from simulation.relived.scenario import scenario_of
from simulation.relived.seen import Night
from simulation.scenarios.faults import AgentKills, RuntimeOutage
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import Scenario, read_scenario
from tests.simulation.recorded import record_agents

SECOND_NS = 10**9
UID = "u-1"
ENDS_NS = 600 * SECOND_NS
POD: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": UID},
    "spec": {
        "containers": [{"name": "app", "image": "nginx", "livenessProbe": {"tcpSocket": {"port": 80}}}],
        "terminationGracePeriodSeconds": 30,
    },
}


def night() -> Night:
    """A night with one pod, which comes after two seconds."""
    found = Night()
    found.begin_agent(0)
    pod = msgspec.convert(POD, Pod)
    found.told(PodChanged(operation=Operation.ADD, pod=pod, source="api"), 2 * SECOND_NS)
    found.ends_ns = ENDS_NS
    return found


def create(found: Night, attempt: int) -> str:
    """The agent makes and starts the container."""
    container = f"c-{attempt}"
    box = PodSandboxConfig(metadata=PodSandboxMetadata(name="web", uid=UID, namespace="default"))
    config = ContainerConfig(metadata=ContainerMetadata(name="app", attempt=attempt))
    request = CreateContainerRequest(pod_sandbox_id="s", config=config, sandbox_config=box)
    ask(found, "CreateContainer", request, CreateContainerResponse(container_id=container))
    ask(found, "StartContainer", StartContainerRequest(container_id=container), StartContainerResponse())
    return container


def ask(found: Night, verb: str, request: Any, answer: Any, now_ns: int = 3 * SECOND_NS) -> None:
    """A call and its end. The end of the night stays."""
    found.called(f"cri.call {verb}", (verb, request), 7, now_ns)
    found.ended(7, answer, now_ns)


def end(found: Night, attempt: int, ran_ns: int, code: int, reason: str = "Error") -> None:
    """The runtime says how the container ended."""
    status = ContainerStatus(
        id=f"c-{attempt}",
        metadata=ContainerMetadata(name="app", attempt=attempt),
        labels={POD_UID: UID},
        started_at=10 * SECOND_NS,
        finished_at=10 * SECOND_NS + ran_ns,
        exit_code=code,
        reason=reason,
    )
    ask(found, "ContainerStatus", None, ContainerStatusResponse(status=status))


def mix_of(found: Night) -> PodMix:
    scenario = scenario_of(found, "n")
    assert scenario is not None
    assert read_scenario(scenario_text(scenario).encode()) == scenario
    (mix,) = scenario.pods
    return mix


def container_of(found: Night) -> ContainerMix:
    (container,) = mix_of(found).containers
    return container


def test_a_pod_that_came_and_ran_is_a_mix_without_trouble():
    found = night()
    create(found, 0)
    mix = mix_of(found)
    assert (mix.name, mix.count, mix.arrives, mix.lives, mix.grace_seconds) == ("web", 1, ("2s", "2s"), None, 30)
    assert not mix.steady
    (container,) = mix.containers
    assert (container.runs_for, container.exit_code, container.behaviour) == ("forever", "0", {})
    assert "livenessProbe" in container.spec


def test_each_attempt_ends_as_it_did():
    found = night()
    for attempt, (ran_ns, code) in enumerate(((1_512_000_000, 3), (203_000_000, 1), (199_000_000, 1))):
        create(found, attempt)
        end(found, attempt, ran_ns, code)
    container = container_of(found)
    assert (container.runs_for, container.exit_code) == ("1.5s,200ms", "3,1")
    assert mix_of(found).steady


def test_a_container_that_was_killed_for_its_memory_is_killed_again():
    found = night()
    create(found, 0)
    end(found, 0, 5 * SECOND_NS, 137, "OOMKilled")
    create(found, 1)
    container = container_of(found)
    assert container.runs_for == "forever"
    assert container.behaviour == {"oom-after": "5s,never"}


def test_a_container_that_the_agent_stopped_did_not_end_by_itself_but_was_unhealthy():
    found = night()
    container = create(found, 0)
    request = StopContainerRequest(container_id=container)
    ask(found, "StopContainer", request, None, now_ns=(3 + 90) * SECOND_NS)
    end(found, 0, 90 * SECOND_NS, 137)
    create(found, 1)
    assert container_of(found).runs_for == "forever"
    assert container_of(found).behaviour == {"liveness-probe": "ok*6,fail"}


def test_a_pod_that_was_deleted_lives_as_long():
    found = night()
    pod = msgspec.convert(POD, Pod)
    found.told(PodChanged(operation=Operation.DELETE, pod=pod, source="api"), 62 * SECOND_NS)
    container = create(found, 0)
    ask(found, "StopContainer", StopContainerRequest(container_id=container), None)
    assert mix_of(found).lives == ("1m0s", "1m0s")
    assert container_of(found).behaviour == {}


@pytest.mark.parametrize(
    ("code", "knobs"),
    [
        (StatusCode.INTERNAL, {"fail": "StartContainer=INTERNAL*2"}),
        (StatusCode.DEADLINE_EXCEEDED, {"hang": "StartContainer*2"}),
        (StatusCode.NOT_FOUND, {}),
    ],
)
def test_calls_that_failed_fail_again(code: StatusCode, knobs: dict[str, str]):
    found = night()
    container = create(found, 0)
    for _ in range(2):
        error = CriError(code, "no", "StartContainer")
        ask(found, "StartContainer", StartContainerRequest(container_id=container), error)
    assert container_of(found).behaviour == knobs


def test_a_runtime_that_was_away_and_an_agent_that_restarted_are_faults():
    found = night()
    away = CriError(StatusCode.UNAVAILABLE, "no", "ListContainers")
    for second in (100, 110, 120, 300):
        ask(found, "ListContainers", ListContainersRequest(), away, second * SECOND_NS)
    found.ends_ns = 400 * SECOND_NS
    found.begin_agent(405 * SECOND_NS)
    scenario = scenario_of(found, "n")
    assert scenario is not None
    assert scenario.faults == (
        AgentKills(at=("6m40s",), away=("0s", "5s")),
        RuntimeOutage(at="1m40s", lasts="20s"),
        RuntimeOutage(at="5m0s", lasts="1s"),
    )


def test_mirror_pods_and_pods_of_other_names_are_left_out():
    found = night()
    metadata = {**POD["metadata"], "uid": "u-2", "annotations": {"kubernetes.io/config.mirror": "x"}}
    mirror = msgspec.convert({**POD, "metadata": metadata}, Pod)
    found.told(PodChanged(operation=Operation.ADD, pod=mirror, source="api"), SECOND_NS)
    assert mix_of(found).name == "web"
    assert scenario_of(found, "n", "default/web") is not None
    assert scenario_of(found, "n", "db") is None


KNOBS = (("run-for.app", "30s"), ("exit-code.app", "3"), ("run-for.first", "1s"))
CRASHING = """\
apiVersion: v1
kind: Pod
metadata: {name: unlucky, annotations: {KNOBS}}
spec:
  initContainers: [{name: first, image: busybox, volumeMounts: [{name: e, mountPath: /e}]}]
  containers: [{name: app, image: busybox, volumeMounts: [{name: e, mountPath: /e}]}]
  volumes: [{name: e, emptyDir: {}}]
""".replace("KNOBS", ", ".join(f'simulated.actorlet.dev/{knob}: "{value}"' for knob, value in KNOBS))


def test_the_scenario_of_a_record_breaks_the_rule_that_the_night_broke(monkeypatch: pytest.MonkeyPatch):
    runs = record_agents(monkeypatch)
    world = SimulatedDispatcher(1)
    with silence():
        node = SimulatedNode(world, manifests={"a.yaml": CRASHING, "b.yaml": CRASHING.replace("unlucky", "other")})
        node.start()
        world.run_for(120 * SECOND_NS)
        node.stop()
        found: Scenario | None = scenario_of(night_of(runs, Interrupt()), "n", "unlucky")
        assert found is not None
        failure = failure_alike(found, 1, "the-steady-start-once")
    assert failure is not None
    assert "container app of unlucky-" in failure.violated.what
    (mix,) = found.pods
    assert mix.containers[0].runs_for == "30s"
    assert mix.containers[0].exit_code == "3"
