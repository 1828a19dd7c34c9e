"""Init containers and sidecars on containerd, in every order and with every failure.

See spec 3.2, 3.3, 4.1 and 4.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from config.objects import ContainerStateTerminated, PodCondition
from tests.real.agent import Agent
from tests.real.pods import Truth, Witness, container, pod

SIDECAR = {"restartPolicy": "Always"}
ONCE = "test -e /witness/{0} || {{ touch /witness/{0}; sleep 0.2; exit 1; }}; "
"""Begins a script that fails in its first life."""


def end_of(agent: Agent, pod_name: str, name: str) -> ContainerStateTerminated | None:
    """How a container that does not run now has ended."""
    status = agent.container(pod_name, name)
    return None if status is None or status.state is None else status.state.terminated


def condition(agent: Agent, pod_name: str, kind: str) -> PodCondition:
    (found,) = (each for each in agent.status(pod_name).conditions if each.type == kind)
    return found


@pytest.fixture(scope="module")
def agent(shared_agent: Agent) -> Agent:
    """One for all tests here, whose pods have names of their own."""
    shared_agent.start()
    return shared_agent


@pytest.fixture(scope="module")
def truth(shared_truth: Truth) -> Truth:
    return shared_truth


def test_3_3_a_sidecar_opens_the_way_when_its_startup_probe_succeeds(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory, "gated")
    there = {"exec": {"command": ["test", "-e", "/witness/up"]}}
    gate = witness.container("gate", "gate", 0.1, startupProbe={"periodSeconds": 1, **there}, **SIDECAR)
    inits = [witness.passing("first"), gate, witness.passing("second")]
    main = witness.container("main", after_s=0.1)
    agent.drop("gated.json", pod("gated", main, initContainers=inits, volumes=[witness.volume]))
    fails = container(
        "fails",
        volumeMounts=[witness.mount],
        startupProbe={
            "periodSeconds": 1,
            "failureThreshold": 1,
            "exec": {"command": ["sh", "-c", ONCE.format("probed")]},
        },
        **SIDECAR,
    )
    agent.drop("probed.json", pod("probed", initContainers=[fails], volumes=[witness.volume]))
    never = container("never", imagePullPolicy="Never", **SIDECAR) | {"image": "actorlet.test/nothing:1"}
    agent.drop("stuck.json", pod("stuck", initContainers=[never, container("next", "true")]))
    agent.await_that(lambda: witness.said() == ["first begins", "first ends", "gate begins"], f"{witness.said()}")
    assert agent.waiting("gated", "second")[0] == agent.waiting("gated", "main")[0] == "PodInitializing"
    assert condition(agent, "gated", "Initialized").status == "False"
    assert condition(agent, "gated", "Initialized").reason == "ContainersNotInitialized"
    assert "gate" in (condition(agent, "gated", "Initialized").message or "")
    assert agent.status("gated").phase == "Pending"
    (witness.directory / "up").touch()
    agent.await_running("gated", "probed")
    agent.await_that(lambda: len(witness.said()) == 6, f"{witness.said()}")
    assert witness.said()[3:] == ["second begins", "second ends", "main begins"]
    assert condition(agent, "gated", "Initialized").status == "True"
    assert [life.attempt for life in truth.lives("probed", "fails")][-1] == 1, "ended for its probe, and again"
    assert [life.attempt for life in truth.lives("probed", "main")] == [0]
    agent.await_that(lambda: agent.waiting("stuck", "never")[0] == "ErrImageNeverPull", "what is missing is not said")
    assert agent.waiting("stuck", "main")[0] == "PodInitializing"
    assert truth.lives("stuck") == ()


def test_3_3_sidecars_end_with_the_containers_that_they_serve(agent: Agent, truth: Truth) -> None:
    """Their exit codes decide nothing."""
    witness = Witness(agent.directory, "ends")
    shared: dict[str, Any] = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    hears = "trap 'exit 9' TERM; touch /shared/hears; sleep 1000000 & wait"
    side = container("side", hears, **SIDECAR, **shared)
    for name, code in (("good", 0), ("bad", 3)):
        main = container(script=f"until test -e /shared/hears; do sleep 0.1; done; exit {code}", **shared)
        spec: dict[str, Any] = {"volumes": [{"name": "shared", "emptyDir": {}}], "restartPolicy": "Never"}
        agent.drop(f"{name}.json", pod(name, main, initContainers=[side], **spec))
    crashing = container("crashing", ONCE.format("crashed") + "sleep 1000000", volumeMounts=[witness.mount], **SIDECAR)
    spec = {"volumes": [witness.volume], "terminationGracePeriodSeconds": 1}
    agent.drop("crashing.json", pod("crashing", initContainers=[crashing], restartPolicy="Never", **spec))
    agent.await_phase("Succeeded", "good")
    agent.await_phase("Failed", "bad")
    for name in ("good", "bad"):
        ended = end_of(agent, name, "side")
        assert ended is not None
        assert ended.exit_code == 9
        assert [life.attempt for life in truth.lives(name, "side")] == [0], "it is not started again"
        assert condition(agent, name, "Initialized").status == "True"
    assert condition(agent, "good", "Ready").reason == "PodCompleted"
    assert condition(agent, "bad", "Ready").reason == "PodFailed"
    agent.await_running("crashing")
    agent.await_that(lambda: truth.lives("crashing", "crashing")[-1].attempt == 1, "a sidecar is always restarted")
    assert [life.attempt for life in truth.lives("crashing", "main")] == [0]


def test_3_3_init_containers_that_fail(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory, "fails")
    again = container("again", ONCE.format("again") + "true", volumeMounts=[witness.mount])
    on_failure = pod(
        "again",
        container(script="sleep 0.2"),
        initContainers=[again],
        restartPolicy="OnFailure",
        volumes=[witness.volume],
    )
    agent.drop("again.json", on_failure)
    greedy = container("greedy", "sleep 0.3; tail /dev/zero", resources={"limits": {"memory": "16Mi"}})
    agent.drop("greedy.json", pod("greedy", initContainers=[greedy], restartPolicy="Never"))
    inits = [
        witness.passing("first"),
        witness.container("side", "side", 0.1, **SIDECAR),
        container("second", "sleep 0.2; exit 4"),
        witness.passing("third"),
    ]
    half = pod("half", witness.container("main"), initContainers=inits, restartPolicy="Never", volumes=[witness.volume])
    agent.drop("half.json", half)
    agent.await_phase("Succeeded", "again")
    agent.await_phase("Failed", "greedy", "half")
    status = agent.container("again", "again")
    assert status is not None
    assert status.restart_count == 1
    assert [life.attempt for life in truth.lives("again", "main")] == [0]
    ended = end_of(agent, "greedy", "greedy")
    assert ended is not None
    assert (ended.reason, ended.exit_code) == ("OOMKilled", 137)
    assert truth.lives("greedy", "main") == ()
    agent.await_that(lambda: len(witness.said()) == 4, f"{witness.said()}")
    assert witness.said() == ["first begins", "first ends", "side begins", "side ends"]
    ended = end_of(agent, "half", "second")
    assert ended is not None
    assert ended.exit_code == 4
    assert truth.lives("half", "main") == truth.lives("half", "third") == ()


def test_3_3_a_new_sandbox_begins_with_the_first_init_container(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory, "lost")
    inits = [witness.passing("first"), witness.container("side", "side", 0.1, **SIDECAR), witness.passing("second")]
    agent.drop(
        "lost.json", pod("lost", witness.container("main", after_s=0.1), initContainers=inits, volumes=[witness.volume])
    )
    agent.await_running("lost")
    agent.await_that(lambda: len(witness.said()) == 6, f"{witness.said()}")
    (sandbox,) = truth.sandboxes("lost")
    (witness.directory / "log").unlink()
    truth.stop_sandbox(sandbox.id)

    def has_begun_anew() -> bool:
        # Before that a container may be started again in the old sandbox, which ends after its containers.
        said = witness.said()
        return "second ends" in said and "main begins" in said[said.index("second ends") :]

    agent.await_that(has_begun_anew, f"{witness.said()}")
    again = [each for each in witness.said() if each.startswith(("first", "second"))]
    assert again == ["first begins", "first ends", "second begins", "second ends"]
    made = [life for life in truth.lives("lost") if life.attempt > 0]
    assert [life.name for life in made if life.running or life.name in ("first", "second")] == [
        "first",
        "side",
        "second",
        "main",
    ]
    agent.await_running("lost")
    statuses = (*agent.status("lost").init_container_statuses, *agent.status("lost").container_statuses)
    # A container that the runtime ends before its sandbox may have been started once more in between.
    assert all(each.restart_count >= 1 for each in statuses), statuses
