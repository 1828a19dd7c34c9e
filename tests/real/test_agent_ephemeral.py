"""Ephemeral containers on containerd, added to a running pod through an API server."""

from __future__ import annotations

from config.objects import ContainerStatus, EphemeralContainer
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.images import BUSYBOX
from tests.real.pods import Truth, pod

SCRIPTS = {"looks": "ps; sleep 1000", "ends": "exit 3"}


def test_an_ephemeral_container_sees_the_processes_of_its_target_and_is_never_restarted(
    agent: Agent, cluster: Cluster, truth: Truth
) -> None:
    cluster.run(pod("web", terminationGracePeriodSeconds=1))
    cluster.join()
    cluster.await_phase("Running", "web")

    def status(name: str) -> ContainerStatus | None:
        everyone = cluster.status("web").ephemeral_container_statuses
        return next((each for each in everyone if each.name == name), None)

    def state(name: str) -> str:
        shown = status(name)
        if shown is None or shown.state is None:
            return ""
        return "running" if shown.state.running else "ended" if shown.state.terminated else "waiting"

    def added(*names: str) -> None:
        everyone = tuple(
            EphemeralContainer(
                name=name,
                image=BUSYBOX,
                command=("sh", "-c", SCRIPTS[name]),
                target_container_name="main",
                image_pull_policy="IfNotPresent",
            )
            for name in names
        )
        cluster.change_spec("web", "ephemeralcontainers", ephemeral_containers=everyone)

    main = truth.life("web").key
    added("looks")
    agent.await_that(lambda: state("looks") == "running", "it does not run")
    seen = truth.run(truth.running("web", "looks"), "ps")
    assert "sleep 1000000" in seen, f"the processes of its target are not there: {seen}"
    added("looks", "ends")
    agent.await_that(lambda: state("ends") == "ended", "it has not ended")
    ended = status("ends")
    assert ended is not None
    assert ended.state is not None
    assert ended.state.terminated is not None
    assert (ended.state.terminated.exit_code, ended.restart_count) == (3, 0)
    assert [life.attempt for life in truth.lives("web", "ends")] == [0]
    assert truth.life("web").key == main
    assert state("looks") == "running"
    assert cluster.status("web").phase == "Running"
