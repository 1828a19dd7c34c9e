"""The actors of a recorded agent start over on containerd, and no pod is the worse for it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from config.api.resources import PODS
from config.objects import Pod
from runtime.api import ApiError, WatchEvent, watch_objects
from tests.real import churn_pods
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.pods import Truth
from tests.real.records import AS_RECORDED, FAILED, KILLED, replayed_elsewhere

STARTS_OVER = "the actors start over"
TIMES = 3
LIMIT_S = 240.0


class NotReady:
    """Pods that the API server shows as not Ready after they have been."""

    def __init__(self) -> None:
        self._ready: set[str] = set()
        self.found: list[str] = []

    def told(self, event: WatchEvent[Any]) -> None:
        pod: Pod | None = event.object
        if pod is None or pod.status is None or pod.metadata.deletion_timestamp:
            return
        if any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions):
            self._ready.add(pod.metadata.uid)
        elif pod.metadata.uid in self._ready:
            self.found.append(pod.metadata.name)

    def ended(self, error: ApiError | None) -> None:
        """With the server."""


def has_started_over(agent: Agent, times: int) -> bool:
    return agent.said().count(STARTS_OVER) >= times


def test_actors_that_start_over_restart_and_unready_nothing_and_each_life_can_be_played(
    cluster: Cluster, agent: Agent, truth: Truth, containerd: Containerd, tmp_path: Path
) -> None:
    record, not_ready = tmp_path / "record", NotReady()
    churn_pods.prepare(cluster)
    watch = cluster.lines.main.watch(watch_objects(PODS, resource_version="0"), not_ready.told, not_ready.ended)
    flags = ("--kubeconfig", cluster.node_kubeconfig, "--record", str(record), "--record-size", "1MiB")
    command = agent.command(*flags)
    agent.start(command=[sys.executable, "-m", "tests.real.eager_recording", *command[command.index("run") :]])
    cluster.run(churn_pods.plain("plain"))
    cluster.run(churn_pods.with_api_volumes("volumes"))
    agent.drop("full.json", churn_pods.full("full"))
    names = ["plain", "volumes", "full"]
    cluster.await_phase("Running", *names)
    keys = {life.key for life in truth.lives()}
    for number in range(TIMES):
        agent.await_that(partial(has_started_over, agent, number + 1), "the node is never at rest", LIMIT_S)
        cluster.run(churn_pods.plain(f"late-{number}"))
        names.append(f"late-{number}")
        cluster.await_phase("Running", *names)
    assert keys <= {life.key for life in truth.lives()}
    assert {status.restart_count for name in names for status in cluster.status(name).container_statuses} == {0}
    watch.close()
    assert not not_ready.found
    for name in names:
        if name != "full":
            cluster.delete(name)
    (agent.manifests / "full.json").unlink()
    cluster.await_gone(*names)
    assert agent.terminate() == 0
    assert FAILED not in agent.said(), agent.said()
    replay = replayed_elsewhere(record, tmp_path)
    print(agent.said()[-3000:], replay.stdout)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert replay.stdout.count(AS_RECORDED) >= TIMES
    assert KILLED not in replay.stdout.splitlines()[-1]
