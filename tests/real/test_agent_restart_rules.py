"""What is restarted on containerd, and when (spec 3.4, 3.5, 3.7, 4.2).

Rules and policies of containers, the configured maximum of the back-off and its key, and counts that outlive what the
runtime has lost.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from config.objects import ContainerStateTerminated
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, Witness, container, pod

SECOND_NS = 1_000_000_000
ENDS = "sleep 0.2; test -e /witness/{0} && exit {2}; touch /witness/{0}; exit {1}"
"""A script that ends with one code in its first life and with another in all later ones."""


def rule(operator: str, *codes: int) -> dict[str, Any]:
    return {"action": "Restart", "exitCodes": {"operator": operator, "values": list(codes)}}


def last_end(agent: Agent, pod_name: str, name: str = "main") -> ContainerStateTerminated | None:
    """How the previous life ended."""
    status = agent.container(pod_name, name)
    return None if status is None or status.last_state is None else status.last_state.terminated


def test_3_4_the_rules_of_a_container_come_before_its_policy_and_that_before_the_pods(
    agent: Agent, truth: Truth
) -> None:
    witness = Witness(agent.directory)

    def ending(name: str, first: int, later: int, **fields: Any) -> dict[str, Any]:
        return container(name, ENDS.format(name, first, later), volumeMounts=[witness.mount], **fields)

    never, on_failure = {"restartPolicy": "Never"}, {"restartPolicy": "OnFailure"}
    ended = [
        ending("in", 42, 1, restartPolicyRules=[rule("In", 41, 42)], **never),
        ending("not-in", 0, 5, restartPolicyRules=[rule("NotIn", 5)], **never),
        ending("first-match", 7, 8, restartPolicyRules=[rule("In", 9), rule("In", 7)], **never),
        ending("on-failure", 1, 0, **on_failure),
        ending("pods", 3, 3),
    ]
    agent.drop("never.json", pod("never", *ended, restartPolicy="Never", volumes=[witness.volume]))
    always = container("always", ENDS.format("always", 0, 0), volumeMounts=[witness.mount], restartPolicy="Always")
    stays = ending("stays", 6, 6, **never)
    agent.drop("mixed.json", pod("mixed", always, stays, restartPolicy="OnFailure", volumes=[witness.volume]))
    agent.start()
    agent.await_phase("Failed", "never")
    codes = {"in": [42, 1], "not-in": [0, 5], "first-match": [7, 8], "on-failure": [1, 0], "pods": [3]}
    for name, expected in codes.items():
        status = agent.container("never", name)
        assert status is not None
        assert status.state is not None
        assert status.state.terminated is not None
        seen = [status.state.terminated.exit_code]
        before = last_end(agent, "never", name)
        assert [before.exit_code, *seen] if before is not None else seen == expected, name
        assert status.restart_count == len(expected) - 1, name
    agent.await_that(lambda: truth.lives("mixed", "always")[-1].attempt >= 1, "Always does not hold for the container")
    assert [life.attempt for life in truth.lives("mixed", "stays")] == [0]


def test_3_5_the_wait_of_a_crash_loop_ends_at_the_configured_maximum(agent: Agent, truth: Truth) -> None:
    agent.configure(
        featureGates={"KubeletCrashLoopBackOffMax": True}, crashLoopBackOff={"maxContainerRestartPeriod": "2s"}
    )
    agent.drop("crashes.json", pod("crashes", container(script="sleep 0.3; exit 3")))
    agent.start("--maximum-dead-containers-per-container", "10")
    agent.await_that(lambda: sum(1 for each in truth.lives("crashes") if each.status.finished_at) >= 4, "no four ends")
    lives = [life.status for life in truth.lives("crashes")[:4]]
    waits_s = [(after.started_at - before.finished_at) / SECOND_NS for before, after in pairwise(lives)]
    assert all(wait >= 2.0 for wait in waits_s[1:]), waits_s
    agent.await_that(lambda: agent.waiting("crashes")[1].startswith("back-off 2s "), f"{agent.waiting('crashes')}")
    before = last_end(agent, "crashes")
    assert before is not None
    assert (before.exit_code, before.reason) == (3, "Error")


def test_3_5_another_image_ends_the_wait_and_counts_outlive_lost_containers(agent: Agent, truth: Truth) -> None:
    def form(name: str, image: str) -> dict[str, Any]:
        made = pod(name, container(script="test $VERSION && sleep 1000000; sleep 0.2; exit 1") | {"image": image})
        made["metadata"]["uid"] = f"the-same-{name}"
        return made

    for name in ("keyed", "lost", "same"):
        agent.drop(f"{name}.json", form(name, "actorlet.test/busybox:1"))
    agent.start()
    for name in ("keyed", "lost", "same"):
        agent.await_that(lambda: agent.waiting(name)[1].startswith("back-off 10s "), f"{name} does not wait")  # noqa: B023
    agent.drop("keyed.json", form("keyed", "actorlet.test/busybox:2"))
    agent.await_running("keyed")
    running = truth.running("keyed")
    later = [life.status.started_at for life in truth.lives("same") if life.attempt >= 2]
    assert all(running.status.started_at < each for each in later), "another image has nothing to wait for"
    assert running.attempt == 2
    # Nothing of the other one is left in the runtime but its logs.
    agent.kill()
    for life in truth.lives("lost"):
        truth.remove(life)
    agent.start()
    agent.await_that(lambda: truth.lives("lost"), "it is not started again")
    assert truth.lives("lost")[0].attempt == 2

    def counted() -> bool:
        status = agent.container("lost")
        return status is not None and status.restart_count >= 2

    agent.await_that(counted, "its lives before are not counted")


def test_4_2_a_lost_container_shows_its_end_and_counts_as_a_restart(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    """Only the API server still knows of it."""
    cluster.run(pod("web", container(), container("beside")))
    cluster.join()
    cluster.await_phase("Running", "web")
    beside, lost = truth.life("web", "beside").key, truth.life("web", "main")
    agent.kill()
    truth.remove(lost)
    cluster.join()
    agent.await_that(lambda: any(life.running for life in truth.lives("web", "main")), "it is not started again")
    agent.await_that(lambda: cluster.restarts("web", "main") == 1, "the restart is not counted")
    (status,) = (each for each in cluster.status("web").container_statuses if each.name == "main")
    assert status.last_state is not None
    assert status.last_state.terminated is not None
    assert (status.last_state.terminated.exit_code, status.last_state.terminated.reason) == (
        137,
        "ContainerStatusUnknown",
    )
    assert truth.life("web", "beside").key == beside
