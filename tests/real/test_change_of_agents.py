"""The agent of a node changes, from a kubelet to this one and back, and no container restarts.

With `ACTORLET_TEST_KUBELET` a real kubelet runs. Without it, the tests use what one has left: see `change_of_agents`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from config.pods.identity import CONFIG_HASH, CONFIG_SEEN
from runtime.cri.identity import POD_UID
from tests.real.agent import Agent
from tests.real.change_of_agents import (
    PATIENCE_S,
    PROGRAM,
    Kubelet,
    await_pods,
    configure,
    desire,
    files_of,
    record,
    recorded,
    restore,
    uid_in,
)
from tests.real.cluster import Cluster
from tests.real.pods import Truth, pod
from tests.real.pods_of_all_kinds import ENDED, GIVEN, OF_API, PODS, RUNNING
from tests.real.waiting import until

BUSYBOX_2 = "actorlet.test/busybox:2"


@pytest.fixture
def kubelet(agent: Agent, cluster: Cluster) -> Iterator[Kubelet]:
    """A kubelet in the place of the agent, not started.

    It is taken down before the server of `cluster` ends.
    """
    made = Kubelet(agent.directory, agent.endpoint)
    configure(agent)
    yield made
    if made.alive:
        made.take_down()


def keys(truth: Truth, *names: str) -> set[tuple[str, int, int]]:
    return {life.key for name in names for life in truth.lives(name)}


def published(agent: Agent) -> dict[str, tuple[str | None, list[int]]]:
    """Phase and restart counts of each pod."""
    statuses = {name: each.status for name, each in agent.pods().items() if name in PODS}
    return {
        name: (None, []) if each is None else (each.phase, [of.restart_count for of in each.container_statuses])
        for name, each in statuses.items()
    }


def run_later(truth: Truth, cluster: Cluster, agent: Agent, name: str) -> None:
    """Run a new pod: once it runs, its agent has seen everything that existed before."""
    cluster.run(pod(name))
    until(
        lambda: any(life.running for life in truth.lives(name)),
        PATIENCE_S,
        lambda: f"{name} does not run: {agent.said()[-4000:]}",
    )


def test_pods_of_a_kubelet_run_on_with_this_agent(
    agent: Agent, truth: Truth, cluster: Cluster, kubelet: Kubelet
) -> None:
    desire(agent, cluster)
    if PROGRAM:
        kubelet.begin("--kubeconfig", cluster.node_kubeconfig)
        await_pods(truth, kubelet)
        kubelet.terminate()
    else:
        restore(truth, agent, cluster)
        await_pods(truth, agent)
    before, uids = keys(truth, *PODS), {name: truth.sandboxes(name)[0].id for name in PODS}
    cluster.join()
    run_later(truth, cluster, agent, "later")
    expected = {name: (ENDED.get(name, "Running"), [0] * len(PODS[name]["spec"]["containers"])) for name in PODS}
    agent.await_that(lambda: published(agent) == expected, "not all pods are published as they run")
    assert keys(truth, *PODS) == before
    assert {name: truth.sandboxes(name)[-1].id for name in PODS} == uids
    assert agent.pod("given").metadata.uid == GIVEN
    assert not list(agent.root.glob("*.unreadable"))
    # A change after the takeover is one to these containers, too.
    cluster.change_spec("web", containers=_with_image(cluster, "web"))
    agent.await_that(lambda: [life.attempt for life in truth.lives("web") if life.running] == [1], "not changed")
    agent.drop("plain.json", pod("plain", labels={"app": "changed"}))
    agent.await_that(lambda: len({each.id for each in truth.sandboxes("plain")} - {uids["plain"]}) == 1, "not changed")


def _with_image(cluster: Cluster, name: str) -> tuple[Any, ...]:
    found = cluster.pod(name)
    assert found is not None
    return tuple(replace(each, image=BUSYBOX_2) for each in found.spec.containers)


def test_this_agent_leaves_what_a_kubelet_leaves(
    agent: Agent, truth: Truth, cluster: Cluster, kubelet: Kubelet
) -> None:
    desire(agent, cluster)
    cluster.join()
    await_pods(truth, agent)
    uids = {str(truth.sandboxes(name)[-1].labels[POD_UID]) for name in RUNNING}
    # What has ended has given back what it had.
    agent.await_that(lambda: uids <= {*entries(files_of(agent), "actuated_pods_state")}, "not all are recorded")
    agent.terminate()
    ours, kubelets = record(truth, agent), recorded()
    for name in PODS:
        assert comparable(ours, name) == comparable(kubelets, name)
    for file in ("allocated_pods_state", "actuated_pods_state"):
        running = {name: resources(ours, file, name) for name in RUNNING}
        assert running == {name: resources(kubelets, file, name) for name in RUNNING}
    assert uid_in(ours, "given") == GIVEN
    if PROGRAM:
        kept = (*OF_API, "given")
        before = keys(truth, *kept)
        kubelet.begin("--kubeconfig", cluster.node_kubeconfig)
        run_later(truth, cluster, kubelet, "later")
        await_pods(truth, kubelet)
        assert keys(truth, *kept) == before


def comparable(left: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What was left of a pod, without what is another in each life: UIDs, and when it was first seen.

    Only labels and annotations with our own prefix may come on top of a kubelet's.
    """
    text = json.dumps(left["pods"][name]).replace(uid_in(left, name), "{uid}")
    found: dict[str, Any] = json.loads(text)
    for each in (*found["sandboxes"], *found["containers"]):
        for of in ("labels", "annotations"):
            each[of] = {key: value for key, value in each[of].items() if not key.startswith("actorlet.dev/")}
        each["annotations"].pop(CONFIG_SEEN, None)
    found["containers"].sort(key=lambda each: each["log"])
    assert all(each["annotations"].get(CONFIG_HASH, "{uid}") == "{uid}" for each in found["sandboxes"]), (
        "the hash of a static pod is its UID"
    )
    return found


def entries(files: Mapping[str, str], file: str) -> dict[str, Any]:
    """What a kubelet's checkpoint says, by UID."""
    checkpoint = json.loads(files.get(file, '{"data": "{}"}'))
    found: dict[str, Any] = json.loads(checkpoint["data"]).get("entries", {})
    return found


def resources(left: Mapping[str, Any], file: str, name: str) -> Any:
    return entries(left["files"], file)[uid_in(left, name)]
