"""The agent ends and comes back, and the pods do not notice (spec 2.6, 2.10).

It ends by SIGTERM, or by SIGKILL at any moment.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from runtime.cri.identity import CONTAINER_NAME, POD_UID
from tests.real.agent import Agent
from tests.real.containerd import Containerd
from tests.real.pods import Life, Truth, container, pod
from tests.real.waiting import until

SIDECAR = {"restartPolicy": "Always"}


def several_pods(agent: Agent, count: int) -> tuple[str, ...]:
    """Pods with an init container, a sidecar and two regular containers; their names."""
    names = tuple(f"pod-{number}" for number in range(count))
    for name in names:
        agent.drop(
            f"{name}.json",
            pod(
                name,
                container(),
                container("second", volumeMounts=[{"name": "own", "mountPath": "/own"}]),
                initContainers=[container("first", "true"), container("sidecar", **SIDECAR)],
                volumes=[{"name": "own", "emptyDir": {}}],
            ),
        )
    return names


def keys(truth: Truth) -> set[tuple[str, int, int]]:
    return {life.key for life in truth.lives()}


def restart_count(agent: Agent, pod_name: str) -> int | None:
    """The published restarts of a pod's main container; None while it has no status."""
    status = agent.container(pod_name)
    return None if status is None else status.restart_count


def by_name(lives: Iterable[Life]) -> Counter[tuple[str, str]]:
    """How many containers there are of each pod and name, dead or alive."""
    return Counter((life.status.labels[POD_UID], life.status.labels[CONTAINER_NAME]) for life in lives)


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
def test_containers_run_on_without_the_agent_and_it_takes_them_over(agent: Agent, truth: Truth, how: str) -> None:
    names = several_pods(agent, 3)
    agent.start()
    agent.await_running(*names)
    before, sandboxes = keys(truth), {each.id for each in truth.sandboxes()}
    told = {name: agent.pod(name) for name in names}
    if how == "SIGTERM":
        assert agent.terminate() == 0
    else:
        agent.kill()
    assert keys(truth) == before
    agent.start()
    agent.await_running(*names)
    # A pod that comes now has gone through everything that the older ones have been through before it.
    agent.drop("later.json", pod("later"))
    agent.await_running("later")
    new = {life.key for life in truth.lives("later")}
    assert keys(truth) - new == before
    assert {each.id for each in truth.sandboxes()} - {each.id for each in truth.sandboxes("later")} == sandboxes
    for name, pod_before in told.items():
        again = agent.pod(name)
        assert again.metadata.uid == pod_before.metadata.uid
        assert again.status is not None
        assert pod_before.status is not None
        assert again.status.start_time == pod_before.status.start_time
        assert [each.restart_count for each in again.status.container_statuses] == [0, 0]


def test_killed_at_any_moment_of_the_start_it_makes_nothing_twice(
    agent: Agent, truth: Truth, containerd: Containerd
) -> None:
    chance = random.Random(20261121)
    names = several_pods(agent, 4)
    for _ in range(10):
        agent.begin()
        moment_s = chance.uniform(0.0, 2.0)
        # Passing time is what is wanted here: any moment will do.
        assert not agent.ended_within(moment_s), agent.said()[-2000:]
        agent.kill()
    agent.start()
    agent.await_running(*names)
    agent.await_that(lambda: sum(life.running for life in truth.lives()) == 3 * len(names), "not all run")
    lives = truth.lives()
    table = "\n".join(map(str, lives))
    boxes = "\n".join(map(str, truth.sandboxes()))
    # containerd keeps a sandbox that it gave up, because its caller died, and could not clean up. Nobody uses it.
    made = [each for each in truth.sandboxes() if not containerd.gave_up_sandbox(each.id)]
    assert len(made) == len(names), f"{boxes}\n{table}\n{agent.said()[-3000:]}"
    # containerd gives up a start whose caller dies. Such a container has never begun, and another takes its place.
    begun = [life for life in lives if life.status.reason != "StartError"]
    assert max(by_name(begun).values()) == 1, f"begun twice:\n{table}"
    assert len(begun) == 4 * len(names), table
    assert all(life.running for life in begun if life.status.labels[CONTAINER_NAME] != "first"), table


def test_a_manifest_removed_during_downtime_ends_its_pod(agent: Agent, truth: Truth) -> None:
    goes = agent.drop("goes.json", pod("goes"))
    agent.drop("stays.json", pod("stays"))
    changes = agent.drop("changes.json", pod("changes"))
    agent.start()
    agent.await_running("goes", "stays", "changes")
    stays, changed, uid = truth.life("stays").key, truth.life("changes").id, agent.pod("goes").metadata.uid
    agent.kill()
    goes.unlink()
    agent.drop(changes.name, pod("changes", container(image="actorlet.test/busybox:2")))
    agent.start()
    truth.await_none("goes")
    agent.await_that(lambda: any(life.running and life.id != changed for life in truth.lives("changes")), "not changed")
    truth.running("changes")
    agent.await_that(lambda: not truth.lives("goes") and not truth.sandboxes("goes"), "its remains stay")
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "its directory stays")
    assert truth.life("stays").key == stays


def test_a_container_that_died_while_the_agent_was_not_there_is_restarted(agent: Agent, truth: Truth) -> None:
    agent.drop("dies.json", pod("dies", container(), container("beside")))
    agent.start()
    agent.await_running("dies")
    beside, victim = truth.life("dies", "beside").key, truth.life("dies")
    agent.kill()
    truth.end(victim)
    until(lambda: not truth.life("dies").running, 10, "it does not end")
    agent.start()
    until(lambda: any(life.running and life.attempt == 1 for life in truth.lives("dies", "main")), 20, agent.troubles)
    assert truth.life("dies", "beside").key == beside
    agent.await_that(lambda: restart_count(agent, "dies") == 1, "the restart is not counted")


def test_the_end_of_a_pod_goes_on_after_a_kill(agent: Agent, truth: Truth) -> None:
    """If an agent is killed while a pod ends, the next one ends the pod and does not start it again."""
    slow = container(script="trap 'sleep 2; exit 0' TERM; sleep 1000 & wait")
    manifest = agent.drop("ends.json", pod("ends", slow, terminationGracePeriodSeconds=20))
    agent.start()
    agent.await_running("ends")
    old = truth.life("ends").key
    manifest.unlink()
    agent.await_that(lambda: any(each.event.reason == "Killing" for each in agent.events()), "it is not ended")
    agent.kill()
    agent.start()
    truth.await_none("ends")
    assert {life.key for life in truth.lives("ends")} <= {old}
    agent.await_that(lambda: not truth.lives("ends") and not truth.sandboxes("ends"), "its remains stay")


def test_a_second_agent_of_the_same_directory_is_refused(agent: Agent) -> None:
    agent.start()
    second = agent.ran()
    assert second.returncode == 1
    assert "another agent runs on" in second.stderr
    assert agent.alive
