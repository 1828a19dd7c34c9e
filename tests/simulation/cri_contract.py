"""What every container runtime does: one suite of raw verb sequences.

It runs on the simulated runtime and on containerd.

A test takes `world`, which the test files of each runtime give: a `Cri`, an image that is there, and a way to wait.
What a container should do is written twice: as a shell script for a real runtime, and as annotations for the simulated
one. Each runtime ignores the other form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from runtime.cri import Cri
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import ContainerState, NamespaceMode, PodSandboxState
from runtime.io.pending import PendingAnswer

UNKNOWN_ID = "f" * 64
PREFIX = "simulated.actorlet.dev/"


@dataclass(frozen=True)
class Program:
    """What a container does, in both languages.

    One that `lives` makes the file `BEGUN` as soon as it heeds signals.
    """

    script: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    lives: bool = False


BEGUN = "/begun"
FOREVER = Program(f"trap 'exit 0' TERM; : > {BEGUN}; while true; do sleep 0.1; done", lives=True)
STUBBORN = Program(
    f"trap '' TERM; : > {BEGUN}; while true; do sleep 0.1; done", {"ignore-stop-signal": "true"}, lives=True
)
SUCCEEDS = Program("exit 0", {"run-for": "0s"})
FAILS = Program("exit 3", {"run-for": "0s", "exit-code": "3"})


class World(Protocol):
    """A runtime under test."""

    cri: Cri
    image: str
    serves_events: bool

    def wait(self, pending: PendingAnswer[Any]) -> Any:
        """The answer; raises its failure."""
        ...

    def until(self, holds: Callable[[], object]) -> None:
        """Let time pass until it holds."""
        ...

    def sandbox_options(self, name: str) -> dict[str, Any]:
        """What else this runtime needs in a sandbox config."""
        ...


class Pod:
    """One pod on the runtime, by raw verbs."""

    def __init__(self, world: World, name: str = "pod", program: Program = FOREVER, attempt: int = 0) -> None:
        self.world = world
        self.name = name
        self.program = program
        self.labels = {"io.kubernetes.pod.uid": f"uid-{name}", "io.kubernetes.pod.name": name}
        self.config = m.PodSandboxConfig(
            metadata=m.PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default", attempt=attempt),
            labels=self.labels,
            annotations={PREFIX + key: value for key, value in program.annotations.items()},
            **world.sandbox_options(name),
        )
        self.id = ask(world, v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=self.config)).pod_sandbox_id

    def create(self, name: str = "app", attempt: int = 0, image: str = "") -> str:
        config = m.ContainerConfig(
            metadata=m.ContainerMetadata(name=name, attempt=attempt),
            image=m.ImageSpec(image=image or self.world.image),
            command=("sh", "-c", self.program.script),
            labels={**self.labels, "io.kubernetes.container.name": name},
            annotations={"io.kubernetes.container.restartCount": str(attempt)},
            log_path=f"{name}_{attempt}.log",
            linux=m.LinuxContainerConfig(),
        )
        request = m.CreateContainerRequest(pod_sandbox_id=self.id, config=config, sandbox_config=self.config)
        identity: str = ask(self.world, v.CREATE_CONTAINER, request).container_id
        return identity

    def run(self, name: str = "app", attempt: int = 0) -> str:
        container = self.create(name, attempt)
        start(self.world, container)
        if self.program.lives:
            begun = m.ExecSyncRequest(container_id=container, cmd=("test", "-e", BEGUN), timeout=120)
            self.world.until(lambda: ask(self.world, v.EXEC_SYNC, begun).exit_code == 0)
        return container

    def exited(self, name: str = "app", attempt: int = 0) -> str:
        """A container of a program that ends by itself, after its end."""
        container = self.run(name, attempt)
        self.world.until(lambda: status(self.world, container).state == ContainerState.CONTAINER_EXITED)
        return container

    def status(self) -> m.PodSandboxStatus:
        request = m.PodSandboxStatusRequest(pod_sandbox_id=self.id)
        answer: m.PodSandboxStatus = ask(self.world, v.POD_SANDBOX_STATUS, request).status
        return answer


def ask(world: World, verb: v.Verb[Any, Any], request: Any) -> Any:
    return world.wait(world.cri.call(verb, request))


def failure(world: World, verb: v.Verb[Any, Any], request: Any) -> CriError:
    with pytest.raises(CriError) as caught:
        ask(world, verb, request)
    return caught.value


def start(world: World, container: str) -> None:
    ask(world, v.START_CONTAINER, m.StartContainerRequest(container_id=container))


def stop(world: World, container: str, timeout: int = 10) -> None:
    ask(world, v.STOP_CONTAINER, m.StopContainerRequest(container_id=container, timeout=timeout))


def remove(world: World, container: str) -> None:
    ask(world, v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=container))


def status(world: World, container: str) -> m.ContainerStatus:
    request = m.ContainerStatusRequest(container_id=container)
    answer: m.ContainerStatus = ask(world, v.CONTAINER_STATUS, request).status
    return answer


def containers(world: World, **conditions: Any) -> set[str]:
    request = m.ListContainersRequest(filter=m.ContainerFilter(**conditions))
    return {container.id for container in ask(world, v.LIST_CONTAINERS, request).containers}


def sandboxes(world: World, **conditions: Any) -> set[str]:
    request = m.ListPodSandboxRequest(filter=m.PodSandboxFilter(**conditions))
    return {sandbox.id for sandbox in ask(world, v.LIST_POD_SANDBOX, request).items}


# --- the runtime itself ---------------------------------------------------------------------------------------------


def test_version_and_status_are_given(world: World) -> None:
    version = ask(world, v.VERSION, m.VersionRequest(version="0.1.0"))
    assert version.version == "0.1.0"
    assert version.runtime_api_version == "v1"
    assert version.runtime_name
    conditions = ask(world, v.STATUS, m.StatusRequest()).status.conditions
    assert {c.type: c.status for c in conditions} == {"RuntimeReady": True, "NetworkReady": True}


# --- sandboxes ------------------------------------------------------------------------------------------------------


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


# --- containers -----------------------------------------------------------------------------------------------------


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


def test_an_invalid_image_name_has_no_image_and_cannot_be_pulled(world: World) -> None:
    image = m.ImageSpec(image="A B")
    assert ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=image)).image is None
    ask(world, v.REMOVE_IMAGE, m.RemoveImageRequest(image=image))
    assert failure(world, v.PULL_IMAGE, m.PullImageRequest(image=image)).code == StatusCode.UNKNOWN


def test_verbose_status_gives_the_process(world: World) -> None:
    container = Pod(world).run()
    answer = ask(world, v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container, verbose=True))
    assert '"pid":' in answer.info["info"]
    assert not ask(world, v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container)).info


@pytest.mark.parametrize(
    ("verb", "request_"),
    [
        (v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=UNKNOWN_ID)),
        (v.START_CONTAINER, m.StartContainerRequest(container_id=UNKNOWN_ID)),
        (v.STOP_CONTAINER, m.StopContainerRequest(container_id=UNKNOWN_ID)),
        (v.EXEC_SYNC, m.ExecSyncRequest(container_id=UNKNOWN_ID, cmd=("true",))),
        (v.EXEC, m.ExecRequest(container_id=UNKNOWN_ID, cmd=("true",), stdout=True)),
        (v.ATTACH, m.AttachRequest(container_id=UNKNOWN_ID, stdout=True)),
        (v.REOPEN_CONTAINER_LOG, m.ReopenContainerLogRequest(container_id=UNKNOWN_ID)),
        (
            v.UPDATE_CONTAINER_RESOURCES,
            m.UpdateContainerResourcesRequest(container_id=UNKNOWN_ID, linux=m.LinuxContainerResources()),
        ),
        (v.CONTAINER_STATS, m.ContainerStatsRequest(container_id=UNKNOWN_ID)),
        (v.POD_SANDBOX_STATUS, m.PodSandboxStatusRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.PORT_FORWARD, m.PortForwardRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.POD_SANDBOX_STATS, m.PodSandboxStatsRequest(pod_sandbox_id=UNKNOWN_ID)),
    ],
    ids=lambda value: value.name if isinstance(value, v.Verb) else "",
)
def test_an_unknown_id_is_not_found(world: World, verb: v.Verb[Any, Any], request_: Any) -> None:
    assert failure(world, verb, request_).code == StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("verb", "request_"),
    [
        (v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=UNKNOWN_ID)),
        (v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=UNKNOWN_ID)),
        (v.REMOVE_IMAGE, m.RemoveImageRequest(image=m.ImageSpec(image="registry.invalid/none:1"))),
    ],
    ids=lambda value: value.name if isinstance(value, v.Verb) else "",
)
def test_removing_what_is_not_there_is_no_error(world: World, verb: v.Verb[Any, Any], request_: Any) -> None:
    ask(world, verb, request_)


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


# --- images ---------------------------------------------------------------------------------------------------------


def test_an_image_is_found_by_its_name_and_its_id(world: World) -> None:
    image = ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=world.image))).image
    assert image.id.startswith("sha256:")
    assert image.size > 0
    by_id = ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=image.id))).image
    assert by_id == image
    listed = ask(world, v.LIST_IMAGES, m.ListImagesRequest()).images
    assert image.id in {entry.id for entry in listed}


def test_an_image_that_is_not_here_is_an_empty_answer(world: World) -> None:
    spec = m.ImageSpec(image="registry.invalid/none:1")
    assert ask(world, v.IMAGE_STATUS, m.ImageStatusRequest(image=spec)).image is None


def test_the_file_system_of_images_is_known(world: World) -> None:
    answer = ask(world, v.IMAGE_FS_INFO, m.ImageFsInfoRequest())
    assert answer.image_filesystems[0].fs_id.mountpoint
    assert answer.image_filesystems[0].timestamp > 0


# --- events ---------------------------------------------------------------------------------------------------------


def test_events_come_in_order_where_they_are_served_and_are_unimplemented_elsewhere(world: World) -> None:
    seen: list[tuple[str, str]] = []
    ends: list[CriError | None] = []

    def on_item(event: m.ContainerEventResponse) -> None:
        kind = event.container_event_type.name.removeprefix("CONTAINER_").removesuffix("_EVENT")
        seen.append((event.container_id, kind))

    following = world.cri.stream(v.GET_CONTAINER_EVENTS, m.GetEventsRequest(), on_item, ends.append)
    if not world.serves_events:
        world.until(lambda: ends)
        assert ends[0] is not None
        assert ends[0].code == StatusCode.UNIMPLEMENTED
        return
    attempts = iter(range(1000))

    def follows() -> bool:
        Pod(world, "first", attempt=next(attempts))  # until the stream is known to have begun
        return bool(seen)

    world.until(follows)
    pod = Pod(world, program=SUCCEEDS)
    container = pod.exited()
    remove(world, container)
    expected = [(container, kind) for kind in ("CREATED", "STARTED", "STOPPED", "DELETED")]
    world.until(lambda: [event for event in seen if event[0] == container] == expected)
    following.close()
    world.until(lambda: ends == [None])
