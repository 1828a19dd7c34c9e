"""The client's verbs on a real containerd."""

from __future__ import annotations

import urllib.request
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from runtime.cri import CriError, StatusCode
from runtime.cri.client import GrpcCri
from runtime.cri.messages import (
    ContainerConfig,
    ContainerFilter,
    ContainerMetadata,
    ContainerState,
    ContainerStatus,
    ContainerStatusRequest,
    CreateContainerRequest,
    ExecSyncRequest,
    ExecSyncResponse,
    GetEventsRequest,
    ImageSpec,
    ImageStatusRequest,
    Int64Value,
    KeyValue,
    LinuxContainerConfig,
    LinuxContainerResources,
    LinuxContainerSecurityContext,
    LinuxPodSandboxConfig,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxConfig,
    PodSandboxFilter,
    PodSandboxMetadata,
    PodSandboxState,
    PodSandboxStatusRequest,
    PortMapping,
    PullImageRequest,
    RemoveContainerRequest,
    RemoveImageRequest,
    RemovePodSandboxRequest,
    RunPodSandboxRequest,
    StartContainerRequest,
    StopContainerRequest,
    StopPodSandboxRequest,
    VersionRequest,
)
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    CREATE_CONTAINER,
    EXEC_SYNC,
    GET_CONTAINER_EVENTS,
    IMAGE_STATUS,
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    POD_SANDBOX_STATUS,
    PULL_IMAGE,
    REMOVE_CONTAINER,
    REMOVE_IMAGE,
    REMOVE_POD_SANDBOX,
    RUN_POD_SANDBOX,
    START_CONTAINER,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
    VERSION,
)
from tests.ports import free_port
from tests.real.containerd import Containerd, is_ready
from tests.real.images import BUSYBOX, Recipe, build
from tests.real.registry import Registry, Throttle
from tests.real.waiting import until

PATIENCE_S = 60.0


class Pod:
    """One sandbox by raw verbs."""

    def __init__(self, cri: GrpcCri, containerd: Containerd, name: str, **more: Any) -> None:
        self.cri = cri
        self.logs = containerd.pod_logs / name
        self.config = PodSandboxConfig(
            metadata=PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default"),
            hostname=name,
            log_directory=str(self.logs),
            labels={"pod": name},
            linux=LinuxPodSandboxConfig(cgroup_parent=f"{containerd.cgroup_parent}/{name}"),
            **more,
        )
        self.id = self.ask(RUN_POD_SANDBOX, RunPodSandboxRequest(config=self.config)).pod_sandbox_id

    def ask(self, verb: Any, request: Any) -> Any:
        return self.cri.call(verb, request).result(PATIENCE_S)

    def run(self, *command: str, name: str = "main", image: str = BUSYBOX, **more: Any) -> str:
        """Create and start a container; its id."""
        config = ContainerConfig(
            metadata=ContainerMetadata(name=name),
            image=ImageSpec(image=image),
            command=command,
            log_path=f"{name}.log",
            labels={"name": name},
            **more,
        )
        request = CreateContainerRequest(pod_sandbox_id=self.id, config=config, sandbox_config=self.config)
        made: str = self.ask(CREATE_CONTAINER, request).container_id
        self.ask(START_CONTAINER, StartContainerRequest(container_id=made))
        return made

    def status(self, container: str) -> ContainerStatus:
        status = self.ask(CONTAINER_STATUS, ContainerStatusRequest(container_id=container)).status
        assert isinstance(status, ContainerStatus)
        return status

    def ended(self, container: str) -> ContainerStatus:
        until(
            lambda: self.status(container).state == ContainerState.CONTAINER_EXITED,
            20,
            f"container {container} does not end",
        )
        return self.status(container)

    def exec(self, container: str, *command: str, timeout: int = 10) -> ExecSyncResponse:
        answer = self.ask(EXEC_SYNC, ExecSyncRequest(container_id=container, cmd=command, timeout=timeout))
        assert isinstance(answer, ExecSyncResponse)
        return answer

    def log(self, name: str = "main") -> list[tuple[str, str]]:
        """Stream and text of each line of a container's log."""
        lines = [line.split(" ", 3) for line in (self.logs / f"{name}.log").read_text().splitlines()]
        return [(stream, text) for _, stream, _, text in lines]


def refusal(answer: Any) -> CriError:
    error = answer.exception(PATIENCE_S)
    assert isinstance(error, CriError)
    return error


def test_containerd_says_who_it_is_and_that_it_is_ready(cri: GrpcCri) -> None:
    assert cri.call(VERSION, VersionRequest()).result(PATIENCE_S).runtime_name == "containerd"
    assert is_ready(cri)


def test_a_pod_lives_from_run_to_remove(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "life")
    sandbox = pod.ask(POD_SANDBOX_STATUS, PodSandboxStatusRequest(pod_sandbox_id=pod.id)).status
    assert sandbox.state == PodSandboxState.SANDBOX_READY
    assert sandbox.network.ip.startswith("10.213.")
    script = 'trap "exit 7" TERM; echo out; echo err >&2; while :; do sleep 0.1; done'
    main = pod.run("sh", "-c", script, envs=(KeyValue(key="WHO", value=b"me"),))
    assert pod.status(main).state == ContainerState.CONTAINER_RUNNING
    said = pod.exec(main, "sh", "-c", "echo $WHO $HOSTNAME; echo oops >&2; exit 3")
    assert (said.stdout, said.stderr, said.exit_code) == (b"me life\n", b"oops\n", 3)
    until(lambda: len(pod.log()) == 2, 10, "the log has two lines")
    assert sorted(pod.log()) == [("stderr", "err"), ("stdout", "out")]
    pod.ask(STOP_CONTAINER, StopContainerRequest(container_id=main, timeout=10))
    ended = pod.status(main)
    assert (ended.state, ended.exit_code) == (ContainerState.CONTAINER_EXITED, 7)
    assert 0 < ended.created_at <= ended.started_at < ended.finished_at
    pod.ask(STOP_CONTAINER, StopContainerRequest(container_id=main))  # twice is no error
    pod.ask(REMOVE_CONTAINER, RemoveContainerRequest(container_id=main))
    assert refusal(cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=main))).not_found
    pod.ask(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=pod.id))
    pod.ask(REMOVE_POD_SANDBOX, RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    pod.ask(REMOVE_POD_SANDBOX, RemovePodSandboxRequest(pod_sandbox_id=pod.id))  # twice is no error
    assert pod.ask(LIST_POD_SANDBOX, ListPodSandboxRequest()).items == ()


def test_an_exit_and_a_kill_are_told_apart(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "ends")
    good, bad = pod.run("true", name="good"), pod.run("sh", "-c", "exit 42", name="bad")
    deaf = pod.run("sh", "-c", 'trap "" TERM; while :; do sleep 0.1; done', name="deaf")
    assert (pod.ended(good).exit_code, pod.ended(good).reason) == (0, "Completed")
    assert (pod.ended(bad).exit_code, pod.ended(bad).reason) == (42, "Error")
    pod.ask(STOP_CONTAINER, StopContainerRequest(container_id=deaf, timeout=1))
    assert pod.ended(deaf).exit_code == 128 + 9


def test_a_container_beyond_its_memory_is_oom_killed(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "oom")
    linux = LinuxContainerConfig(resources=LinuxContainerResources(memory_limit_in_bytes=16 << 20))
    greedy = pod.run("sh", "-c", "sleep 0.5; tail /dev/zero", linux=linux)
    assert pod.ended(greedy).reason == "OOMKilled"


def test_the_user_of_the_image_and_of_the_config(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "users")
    context = LinuxContainerSecurityContext(run_as_user=Int64Value(value=1234), run_as_group=Int64Value(value=55))
    cases = {
        "root": (pod.run("sleep", "6000", name="root"), "0 0"),
        "named": (pod.run("sleep", "6000", name="named", image="actorlet.test/user-name:1"), "1000 1000"),
        "numbered": (pod.run("sleep", "6000", name="numbered", image="actorlet.test/user-id:1"), "1000 1000"),
        "told": (
            pod.run("sleep", "6000", name="told", linux=LinuxContainerConfig(security_context=context)),
            "1234 55",
        ),
    }
    found = {name: pod.exec(id_, "sh", "-c", "echo $(id -u) $(id -g)").stdout for name, (id_, _) in cases.items()}
    assert found == {name: f"{who}\n".encode() for name, (_, who) in cases.items()}


def test_entrypoint_arguments_environment_and_directory_come_from_the_image(
    cri: GrpcCri, containerd: Containerd
) -> None:
    pod = Pod(cri, containerd, "image")
    plain = pod.run(name="plain", image="actorlet.test/entrypoint:1")
    pod.run(name="other", image="actorlet.test/entrypoint:1", args=("you",))
    until(lambda: pod.log("plain") and pod.log("other"), 10, "both have written")
    assert (pod.log("plain"), pod.log("other")) == ([("stdout", "hello from image")], [("stdout", "hello you")])
    assert pod.exec(plain, "pwd").stdout == b"/work\n"


def test_a_port_is_reached_at_the_pod_and_at_the_host(cri: GrpcCri, containerd: Containerd) -> None:
    port = free_port()
    pod = Pod(cri, containerd, "web", port_mappings=(PortMapping(container_port=80, host_port=port),))
    pod.run("sh", "-c", "echo hello > index.html; exec httpd -f -p 80 -h .", working_dir="/work")
    ip = pod.ask(POD_SANDBOX_STATUS, PodSandboxStatusRequest(pod_sandbox_id=pod.id)).status.network.ip
    for address in (f"{ip}:80", f"127.0.0.1:{port}"):
        until(partial(answers, f"http://{address}/", b"hello\n"), 10, f"{address} does not answer")


def answers(url: str, text: bytes) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as page:
            return bool(page.read() == text)
    except OSError:
        return False


def test_a_command_that_takes_too_long_is_ended(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "slow")
    main = pod.run("sleep", "6000")
    request = ExecSyncRequest(container_id=main, cmd=("sleep", "30"), timeout=1)
    assert refusal(cri.call(EXEC_SYNC, request)).code == StatusCode.DEADLINE_EXCEEDED


def test_lists_can_be_filtered(cri: GrpcCri, containerd: Containerd) -> None:
    pods = [Pod(cri, containerd, name) for name in ("one", "two")]
    for pod in pods:
        for number in range(5):
            pod.run("sleep", "6000", name=f"c{number}")
    ask = pods[0].ask
    assert len(ask(LIST_CONTAINERS, ListContainersRequest()).containers) == 10
    of_one = ContainerFilter(pod_sandbox_id=pods[0].id, label_selector={"name": "c3"})
    (found,) = ask(LIST_CONTAINERS, ListContainersRequest(filter=of_one)).containers
    assert (found.metadata.name, found.pod_sandbox_id) == ("c3", pods[0].id)
    two = PodSandboxFilter(label_selector={"pod": "two"})
    assert [s.id for s in ask(LIST_POD_SANDBOX, ListPodSandboxRequest(filter=two)).items] == [pods[1].id]


def test_an_image_is_pulled_from_a_registry_by_tag_and_found_by_digest(cri: GrpcCri, registry: Registry) -> None:
    image = build(Recipe("app", {"Cmd": ["true"]}, payload_bytes=1 << 20))
    digest = registry.push(image, "team/app", "1.0")
    spec = ImageSpec(image="registry.test/team/app:1.0")
    assert cri.call(IMAGE_STATUS, ImageStatusRequest(image=spec)).result(PATIENCE_S).image is None
    reference = cri.call(PULL_IMAGE, PullImageRequest(image=spec)).result(PATIENCE_S).image_ref
    found = cri.call(IMAGE_STATUS, ImageStatusRequest(image=spec)).result(PATIENCE_S).image
    assert found is not None
    assert found.id == reference
    assert found.repo_digests == (f"registry.test/team/app@{digest}",)
    assert found.size > 1 << 20
    cri.call(REMOVE_IMAGE, RemoveImageRequest(image=spec)).result(PATIENCE_S)
    assert cri.call(IMAGE_STATUS, ImageStatusRequest(image=spec)).result(PATIENCE_S).image is None


def test_an_image_that_is_not_in_the_registry_is_not_found(cri: GrpcCri, registry: Registry) -> None:
    spec = ImageSpec(image="registry.test/team/none:1")
    assert refusal(cri.call(PULL_IMAGE, PullImageRequest(image=spec))).not_found


def test_a_slow_pull_can_be_cancelled_while_other_verbs_answer(
    cri: GrpcCri, containerd: Containerd, registry: Registry
) -> None:
    registry.push(build(Recipe("big", payload_bytes=4 << 20)), "team/big", "1")
    slow = Throttle(registry.address, bytes_per_second=64 << 10)
    try:
        containerd.mirror("slow.test", slow.address)
        spec = ImageSpec(image="slow.test/team/big:1")
        pulling = cri.call(PULL_IMAGE, PullImageRequest(image=spec))
        assert is_ready(cri)
        assert not pulling.done()
        assert pulling.cancel()
        assert cri.call(IMAGE_STATUS, ImageStatusRequest(image=spec)).result(PATIENCE_S).image is None
    finally:
        slow.close()


def test_containers_outlive_containerd_and_the_client_finds_it_again(cri: GrpcCri, containerd: Containerd) -> None:
    pod = Pod(cri, containerd, "outlives")
    main = pod.run("sleep", "600")
    before = pod.status(main)
    containerd.kill()
    assert refusal(cri.call(LIST_CONTAINERS, ListContainersRequest())).code == StatusCode.UNAVAILABLE
    containerd.start()
    until(lambda: cri.call(LIST_CONTAINERS, ListContainersRequest()).exception(PATIENCE_S) is None, 1, "found again")
    assert pod.status(main) == before
    assert pod.exec(main, "true").exit_code == 0


def test_container_events_are_served_or_said_to_be_missing(cri: GrpcCri, containerd: Containerd) -> None:
    """containerd serves them from 1.7 on; 1.6 must give a clear end, not a silence."""
    said: Queue[Any] = Queue()
    following = cri.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), said.put, said.put)
    Pod(cri, containerd, "events").run("sleep", "6000")
    first = said.get(timeout=PATIENCE_S)
    assert getattr(first, "container_id", "") or first.code == StatusCode.UNIMPLEMENTED
    following.close()


@pytest.mark.usefixtures("cri")
def test_the_harness_keeps_to_its_own_directory(containerd: Containerd) -> None:
    points = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    assert not [point for point in points if point.startswith("/run/containerd")]
    assert containerd.ctr("images", "ls", "-q")
