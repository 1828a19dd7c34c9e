"""What every runtime does with containers: their states, lists, commands, and stats."""

from __future__ import annotations

import pytest

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import ContainerState
from tests.simulation.cri_contract.pods import (
    FAILS,
    STUBBORN,
    SUCCEEDS,
    UNKNOWN_ID,
    Pod,
    Program,
    World,
    ask,
    containers,
    failure,
    remove,
    start,
    status,
    stop,
)


def test_a_container_goes_from_created_to_running_to_exited(world: World) -> None:
    pod = Pod(world)
    container = pod.create()
    created = status(world, container)
    assert (created.state, created.started_at, created.finished_at) == (ContainerState.CONTAINER_CREATED, 0, 0)
    start(world, container)
    running = status(world, container)
    assert (running.state, running.finished_at, running.reason) == (ContainerState.CONTAINER_RUNNING, 0, "")
    stop(world, container)
    exited = status(world, container)
    assert exited.state == ContainerState.CONTAINER_EXITED
    assert (exited.exit_code, exited.reason) == (0, "Completed")
    assert 0 < exited.created_at == created.created_at <= exited.started_at == running.started_at
    assert exited.started_at <= exited.finished_at
    assert exited.metadata == m.ContainerMetadata(name="app", attempt=0)
    assert exited.labels["io.kubernetes.container.name"] == "app"
    assert exited.annotations == {"io.kubernetes.container.restartCount": "0"}
    assert exited.image_ref


@pytest.mark.parametrize(("program", "code", "reason"), [(SUCCEEDS, 0, "Completed"), (FAILS, 3, "Error")])
def test_an_exit_code_has_its_reason(world: World, program: Program, code: int, reason: str) -> None:
    exited = status(world, Pod(world, program=program).exited())
    assert (exited.exit_code, exited.reason) == (code, reason)


def test_a_container_that_ignores_the_stop_signal_is_killed_in_time(world: World) -> None:
    container = Pod(world, program=STUBBORN).run()
    stop(world, container, timeout=1)
    exited = status(world, container)
    assert (exited.state, exited.exit_code, exited.reason) == (ContainerState.CONTAINER_EXITED, 137, "Error")


def test_stop_without_time_is_a_kill(world: World) -> None:
    container = Pod(world).run()
    stop(world, container, timeout=0)
    assert status(world, container).exit_code == 137


def test_stopping_again_is_no_error_and_changes_nothing(world: World) -> None:
    container = Pod(world).run()
    stop(world, container)
    before = status(world, container)
    stop(world, container)
    assert status(world, container) == before


def test_stopping_what_never_ran_leaves_it_created(world: World) -> None:
    container = Pod(world).create()
    stop(world, container)
    assert status(world, container).state == ContainerState.CONTAINER_CREATED


def test_a_container_starts_once(world: World) -> None:
    pod = Pod(world)
    container = pod.run()
    request = m.StartContainerRequest(container_id=container)
    assert failure(world, v.START_CONTAINER, request).code == StatusCode.UNKNOWN
    stop(world, container)
    assert failure(world, v.START_CONTAINER, request).code == StatusCode.UNKNOWN
    assert status(world, container).state == ContainerState.CONTAINER_EXITED


def test_removing_takes_running_containers_too_and_again_is_no_error(world: World) -> None:
    container = Pod(world).run()
    for _ in range(2):
        remove(world, container)
    assert containers(world) == set()


def test_a_container_name_is_taken_for_its_attempt_until_it_is_removed(world: World) -> None:
    pod = Pod(world, program=SUCCEEDS)
    first = pod.exited(attempt=0)
    with pytest.raises(CriError) as caught:
        pod.create(attempt=0)
    assert caught.value.code == StatusCode.UNKNOWN
    second = pod.create(attempt=1)
    assert status(world, second).metadata == m.ContainerMetadata(name="app", attempt=1)
    remove(world, first)
    pod.create(attempt=0)


def test_no_container_in_a_sandbox_that_is_not_there(world: World) -> None:
    pod = Pod(world)
    pod.id = UNKNOWN_ID
    with pytest.raises(CriError) as caught:
        pod.create()
    assert caught.value.code == StatusCode.NOT_FOUND


def test_no_container_starts_in_a_stopped_sandbox(world: World) -> None:
    pod = Pod(world)
    container = pod.create()
    ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    request = m.StartContainerRequest(container_id=container)
    assert failure(world, v.START_CONTAINER, request).code == StatusCode.UNKNOWN


def test_no_container_is_made_in_a_stopped_sandbox(world: World) -> None:
    pod = Pod(world)
    ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    with pytest.raises(CriError) as caught:
        pod.create()
    assert caught.value.code == StatusCode.NOT_FOUND


def test_no_container_from_an_image_that_is_not_here(world: World) -> None:
    with pytest.raises(CriError) as caught:
        Pod(world).create(image="registry.invalid/none:1")
    assert caught.value.code == StatusCode.NOT_FOUND


def test_containers_are_listed_by_id_sandbox_state_and_labels(world: World) -> None:
    one, two = Pod(world, "one"), Pod(world, "two")
    a, b, c = one.run("a"), one.create("b"), two.run("c")
    assert containers(world) == {a, b, c}
    assert containers(world, id=a) == {a}
    assert containers(world, id=a[:20]) == {a}
    assert containers(world, id=UNKNOWN_ID) == set()
    assert containers(world, pod_sandbox_id=one.id) == {a, b}
    assert containers(world, pod_sandbox_id=one.id[:20]) == {a, b}
    assert containers(world, pod_sandbox_id=UNKNOWN_ID) == set()
    assert containers(world, label_selector={"io.kubernetes.pod.uid": "uid-one"}) == {a, b}
    assert containers(world, label_selector={"io.kubernetes.container.name": "c"}) == {c}
    running = m.ContainerStateValue(state=ContainerState.CONTAINER_RUNNING)
    assert containers(world, state=running) == {a, c}
    assert containers(world, state=running, pod_sandbox_id=one.id) == {a}
    assert containers(world, state=running, id=b) == set()


def test_a_list_says_what_the_status_says(world: World) -> None:
    pod = Pod(world)
    container = pod.run()
    (brief,) = ask(world, v.LIST_CONTAINERS, m.ListContainersRequest()).containers
    full = status(world, container)
    assert (brief.id, brief.pod_sandbox_id, brief.state) == (container, pod.id, full.state)
    assert (brief.metadata, brief.labels, brief.annotations) == (full.metadata, full.labels, full.annotations)
    assert brief.created_at == full.created_at
    assert brief.image_ref


def test_a_command_runs_in_a_running_container_only(world: World) -> None:
    container = Pod(world).run()
    request = m.ExecSyncRequest(container_id=container, cmd=("true",), timeout=10)
    assert ask(world, v.EXEC_SYNC, request).exit_code == 0
    stop(world, container)
    assert failure(world, v.EXEC_SYNC, request).code == StatusCode.UNKNOWN


def test_resources_change_while_a_container_lives(world: World) -> None:
    pod = Pod(world)
    container = pod.create()
    linux = m.LinuxContainerResources(cpu_shares=512)
    request = m.UpdateContainerResourcesRequest(container_id=container, linux=linux)
    ask(world, v.UPDATE_CONTAINER_RESOURCES, request)
    start(world, container)
    stop(world, container)
    ask(world, v.UPDATE_CONTAINER_RESOURCES, request)


def test_an_empty_command_is_refused(world: World) -> None:
    request = m.ExecSyncRequest(container_id=Pod(world).run(), timeout=10)
    assert failure(world, v.EXEC_SYNC, request).code == StatusCode.UNKNOWN


def test_a_stopped_container_is_listed_with_its_layer_and_has_no_stats(world: World) -> None:
    pod = Pod(world)
    made, ended = pod.create("made"), pod.run("ended")
    stop(world, ended)
    wanted = m.ContainerStatsFilter(pod_sandbox_id=pod.id)
    listed = ask(world, v.LIST_CONTAINER_STATS, m.ListContainerStatsRequest(filter=wanted)).stats
    assert {each.attributes.id for each in listed} == {made, ended}
    assert all(each.cpu is None and each.memory is None and each.writable_layer for each in listed)
    for container in (made, ended):
        refused = failure(world, v.CONTAINER_STATS, m.ContainerStatsRequest(container_id=container))
        assert refused.code == StatusCode.UNKNOWN
    ask(world, v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    stats = m.PodSandboxStatsRequest(pod_sandbox_id=pod.id)
    assert failure(world, v.POD_SANDBOX_STATS, stats).code == StatusCode.UNKNOWN


def test_verbose_status_gives_the_process(world: World) -> None:
    container = Pod(world).run()
    answer = ask(world, v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container, verbose=True))
    assert '"pid":' in answer.info["info"]
    assert not ask(world, v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container)).info


# --- stats ----------------------------------------------------------------------------------------------------------


def test_a_running_container_has_stats(world: World) -> None:
    pod = Pod(world)
    container = pod.run()
    stats = ask(world, v.CONTAINER_STATS, m.ContainerStatsRequest(container_id=container)).stats
    assert stats.attributes.id == container
    assert stats.memory is not None
    assert stats.cpu.timestamp > 0
    listed = ask(world, v.LIST_CONTAINER_STATS, m.ListContainerStatsRequest()).stats
    assert {entry.attributes.id for entry in listed} == {container}
