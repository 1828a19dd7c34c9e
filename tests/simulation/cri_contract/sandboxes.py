"""What every runtime does with sandboxes."""

from __future__ import annotations

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ContainerState, NamespaceMode, PodSandboxState
from tests.simulation.cri_contract.pods import UNKNOWN_ID, Pod, World, ask, failure, sandboxes, status


def test_a_sandbox_is_ready_and_has_an_address(world: World) -> None:
    pod = Pod(world)
    sandbox = pod.status()
    assert sandbox.id == pod.id
    assert len(pod.id) == 64
    assert sandbox.state == PodSandboxState.SANDBOX_READY
    assert sandbox.metadata == pod.config.metadata
    assert sandbox.labels == pod.config.labels
    assert sandbox.annotations == pod.config.annotations
    assert sandbox.network is not None
    assert sandbox.network.ip.count(".") == 3
    assert sandbox.created_at > 0


def test_two_sandboxes_have_two_addresses(world: World) -> None:
    addresses = [pod.status().network for pod in (Pod(world, "a"), Pod(world, "b"))]
    assert addresses[0] != addresses[1]


def test_a_sandbox_name_is_taken_until_the_sandbox_is_removed(world: World) -> None:
    pod = Pod(world)
    again = m.RunPodSandboxRequest(config=pod.config)
    assert failure(world, v.RUN_POD_SANDBOX, again).code == StatusCode.UNKNOWN
    ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    assert failure(world, v.RUN_POD_SANDBOX, again).code == StatusCode.UNKNOWN
    Pod(world, attempt=1)
    ask(world, v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    ask(world, v.RUN_POD_SANDBOX, again)


def test_stopping_a_sandbox_kills_its_containers_and_takes_its_address(world: World) -> None:
    pod = Pod(world)
    container = pod.run()
    for _ in range(2):
        ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    assert status(world, container).state == ContainerState.CONTAINER_EXITED
    assert status(world, container).exit_code == 137
    sandbox = pod.status()
    assert sandbox.state == PodSandboxState.SANDBOX_NOTREADY
    assert sandbox.network is not None
    assert sandbox.network.ip == ""


def test_removing_a_sandbox_removes_all_that_is_in_it_and_again_is_no_error(world: World) -> None:
    pod = Pod(world)
    running, created = pod.run("running"), pod.create("created")
    for _ in range(2):
        ask(world, v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    assert not sandboxes(world)
    for container in (running, created):
        request = m.ContainerStatusRequest(container_id=container)
        assert failure(world, v.CONTAINER_STATUS, request).code == StatusCode.NOT_FOUND
    gone = m.PodSandboxStatusRequest(pod_sandbox_id=pod.id)
    assert failure(world, v.POD_SANDBOX_STATUS, gone).code == StatusCode.NOT_FOUND


def test_sandboxes_are_listed_by_id_state_and_labels(world: World) -> None:
    one, two = Pod(world, "one"), Pod(world, "two")
    ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=two.id))
    assert sandboxes(world) == {one.id, two.id}
    assert sandboxes(world, id=one.id) == {one.id}
    assert sandboxes(world, id=one.id[:20]) == {one.id}
    assert sandboxes(world, id=UNKNOWN_ID) == set()
    assert sandboxes(world, label_selector={"io.kubernetes.pod.uid": "uid-two"}) == {two.id}
    assert sandboxes(world, label_selector={"io.kubernetes.pod.uid": "uid"}) == set()
    ready = m.PodSandboxStateValue(state=PodSandboxState.SANDBOX_READY)
    stopped = m.PodSandboxStateValue(state=PodSandboxState.SANDBOX_NOTREADY)
    assert sandboxes(world, state=ready) == {one.id}
    assert sandboxes(world, state=stopped) == {two.id}
    assert sandboxes(world, state=stopped, id=one.id) == set()


def test_a_sandbox_says_which_namespaces_it_shares(world: World) -> None:
    linux = Pod(world).status().linux
    assert linux is not None
    assert linux.namespaces is not None
    assert linux.namespaces.options is not None
    assert linux.namespaces.options.network == NamespaceMode.POD
