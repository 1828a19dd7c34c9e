"""Ephemeral containers on containerd: added to a pod that runs, by an update of its object in an API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from cli.embedded_api import ApiServerOptions, embedded_api
from cli.node_start import open_lines
from config.api_resources import PODS
from config.codec import from_builtins
from config.kubelet import KubeletConfiguration
from config.objects import ContainerStatus, EphemeralContainer, Pod
from runtime.api import ApiLines, create, get, update
from runtime.api.access import read_access
from runtime.event_loop import LoopThread
from tests.real.agent import NODE, Agent
from tests.real.images import BUSYBOX
from tests.real.pods import Truth, container
from tests.real.waiting import until

NAME = f"web-{NODE}"  # as the pods of manifests are called, which the harness looks for


@pytest.fixture
def lines(agent: Agent) -> Iterator[ApiLines]:
    """Ways to an API server that the agent has joined."""
    place = agent.directory / "api"
    place.mkdir()
    options = ApiServerOptions(str(place), str(place / "admin.kubeconfig"), node_authorizer=True, nodes=(NODE,))
    with (
        embedded_api(options) as served,
        closing(LoopThread("admin")) as loop,
        closing(open_lines(read_access(served.kubeconfig), loop, KubeletConfiguration())) as lines,
    ):
        agent.start("--kubeconfig", served.node_kubeconfigs[NODE])
        yield lines
        agent.take_down()


def test_an_ephemeral_container_sees_the_processes_of_its_target_and_is_never_restarted(
    agent: Agent, lines: ApiLines, truth: Truth
) -> None:
    spec = {"nodeName": NODE, "terminationGracePeriodSeconds": 1, "containers": [container()]}
    made = from_builtins({"metadata": {"name": NAME, "namespace": "default"}, "spec": spec}, Pod)
    lines.main.call(create(PODS, "default", made)).result(10)

    def found() -> Pod:
        return lines.main.call(get(PODS, "default", NAME)).result(10)

    def status(name: str) -> ContainerStatus | None:
        shown = found().status
        everyone = shown.ephemeral_container_statuses if shown is not None else ()
        return next((each for each in everyone if each.name == name), None)

    def state(name: str) -> str:
        shown = status(name)
        if shown is None or shown.state is None:
            return ""
        return "running" if shown.state.running else "ended" if shown.state.terminated else "waiting"

    def added(*names: str) -> None:
        scripts = {"looks": "ps; sleep 1000", "ends": "exit 3"}
        one = {
            name: EphemeralContainer(
                name=name,
                image=BUSYBOX,
                command=("sh", "-c", scripts[name]),
                target_container_name="main",
                image_pull_policy="IfNotPresent",
            )
            for name in names
        }
        pod = found()
        wanted = msgspec.structs.replace(pod.spec, ephemeral_containers=tuple(one.values()))
        changed = msgspec.structs.replace(pod, spec=wanted)
        lines.main.call(update(PODS, "default", changed, subresource="ephemeralcontainers")).result(10)

    def runs() -> bool:
        shown = found().status
        return shown is not None and shown.phase == "Running"

    until(runs, 30, lambda: f"it does not run: {agent.said()[-3000:]}")
    main = truth.life("web").key
    added("looks")
    until(lambda: state("looks") == "running", 30, lambda: f"it does not run: {found().status}")
    seen = truth.run(truth.running("web", "looks"), "ps")
    assert "sleep 1000000" in seen, f"the processes of its target are not there: {seen}"
    added("looks", "ends")
    until(lambda: state("ends") == "ended", 30, lambda: f"it has not ended: {found().status}")
    ended = status("ends")
    assert ended is not None
    assert ended.state is not None
    assert ended.state.terminated is not None
    assert (ended.state.terminated.exit_code, ended.restart_count) == (3, 0)
    assert [life.attempt for life in truth.lives("web", "ends")] == [0]
    assert truth.life("web").key == main
    assert state("looks") == "running"
    assert runs()
