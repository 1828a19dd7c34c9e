"""The simulated runtime as a whole: identity of answers, counters, events, logs, restarts, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from actors.kernel import PoolDispatcher
from actors.kernel.promise import Promise
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from simulation.cri import Settings, SimulatedCri
from simulation.cri.behaviour import PREFIX
from simulation.cri.files import DirectoryFiles
from simulation.cri.state import ById
from tests.simulation.cri.pods import IMAGE, SECOND, Pods


class Events:
    """A follower that keeps what it is told."""

    def __init__(self, cri: SimulatedCri) -> None:
        self.items: list[m.ContainerEventResponse] = []
        self.ends: list[CriError | None] = []
        self.subscription = cri.stream(
            v.GET_CONTAINER_EVENTS, m.GetEventsRequest(), self.items.append, self.ends.append
        )

    def kinds(self, container: str) -> list[str]:
        return [
            item.container_event_type.name.removeprefix("CONTAINER_").removesuffix("_EVENT")
            for item in self.items
            if item.container_id == container
        ]


def test_every_verb_is_answered() -> None:
    pods = Pods()
    sandbox = pods.sandbox()
    container = pods.run(sandbox)
    answered = {}
    for verb in v.ALL_VERBS:
        names = verb.request.__struct_fields__
        options = {
            name: value
            for name, value in {
                "container_id": container,
                "pod_sandbox_id": sandbox,
                "image": m.ImageSpec(image=IMAGE),
                "cmd": ("true",),
            }.items()
            if name in names
        }
        request = verb.request(**options)
        if verb.name == "RunPodSandbox":
            request = m.RunPodSandboxRequest(config=pods.sandbox_config("other"))
        if verb.name == "CreateContainer":
            request = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=pods.container_config(name="other"))
        if verb.name in ("StopPodSandbox", "RemovePodSandbox", "StopContainer", "RemoveContainer", "StartContainer"):
            continue
        if verb.streaming:
            items: list[Any] = []
            ends: list[Any] = []
            pods.cri.stream(verb, request, items.append, ends.append).close()
            answered[verb.name] = ends == [None] and all(isinstance(item, verb.response) for item in items)
        elif verb.name == "CheckpointContainer":
            answered[verb.name] = pods.error(verb, request).code == StatusCode.UNIMPLEMENTED
        else:
            answered[verb.name] = isinstance(pods.ask(verb, request), verb.response)
    assert [name for name, well in answered.items() if not well] == []


def test_unchanged_things_are_the_same_objects_from_list_to_list() -> None:
    pods = Pods()
    sandbox = pods.sandbox()
    container, other = pods.run(sandbox, name="a"), pods.run(sandbox, name="b")
    request = m.ListContainersRequest()
    first = pods.ask(v.LIST_CONTAINERS, request)
    assert pods.ask(v.LIST_CONTAINERS, request) is first
    pods.stop(other).result()
    second = {c.id: c for c in pods.ask(v.LIST_CONTAINERS, request).containers}
    before = {c.id: c for c in first.containers}
    assert second[container] is before[container]
    assert second[other] is not before[other]
    assert pods.status(container) is pods.status(container)


def test_a_filtered_list_looks_at_its_pod_alone() -> None:
    pods = Pods()
    for number in range(50):
        pods.run(pods.sandbox(f"p{number}"), pod=f"p{number}")

    class Forbidden(ById[Any]):
        def values(self) -> Any:
            raise AssertionError("everything was looked at")

        items = values

    state = pods.cri.state
    containers, sandboxes = Forbidden("container"), Forbidden("sandbox")
    containers.update(state.containers)
    sandboxes.update(state.sandboxes)
    state.containers, state.sandboxes = containers, sandboxes
    (found,) = pods.list(label_selector={"io.kubernetes.pod.uid": "uid-p7"})
    assert pods.list(id=found.id) == (found,)
    assert pods.list(pod_sandbox_id=found.pod_sandbox_id) == (found,)


def test_same_seed_same_ids_and_another_seed_others() -> None:
    def ids(seed: int) -> list[str]:
        pods = Pods(seed)
        sandbox = pods.sandbox()
        return [sandbox, pods.create(sandbox)]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


def test_events_show_the_pod_as_it_was_at_their_time() -> None:
    pods = Pods()
    events = Events(pods.cri)
    sandbox = pods.sandbox(run_for="1s")
    container = pods.run(sandbox)
    pods.advance(SECOND)
    pods.ask(v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=container))
    assert events.kinds(sandbox) == ["CREATED", "STARTED"]
    assert events.kinds(container) == ["CREATED", "STARTED", "STOPPED", "DELETED"]
    states = [[s.state.name for s in item.containers_statuses] for item in events.items[2:]]
    assert states == [["CONTAINER_CREATED"], ["CONTAINER_RUNNING"], ["CONTAINER_EXITED"], []]
    assert all(item.pod_sandbox_status is not None for item in events.items)
    events.subscription.close()
    assert events.ends == [None]
    pods.sandbox("later")
    assert len(events.items) == 6


def test_a_runtime_that_dies_breaks_what_is_in_flight_and_keeps_what_it_has() -> None:
    pods = Pods()
    events = Events(pods.cri)
    container = pods.run(pods.sandbox(run_for="10s", stop_delay="1h"))
    stopping = pods.stop(container, timeout=3600)
    pods.cri.go_down()
    error = stopping.exception()
    assert isinstance(error, CriError)
    assert error.code == StatusCode.UNAVAILABLE
    assert [end.code for end in events.ends if end] == [StatusCode.UNAVAILABLE]
    assert pods.error(v.VERSION, m.VersionRequest()).code == StatusCode.UNAVAILABLE
    pods.advance(10 * SECOND)
    pods.cri.come_back()
    assert pods.state(container) == "EXITED"
    assert pods.cri.in_flight == 0


# (spec 2.7.2)
def test_without_a_network_only_pods_of_the_host_network_run() -> None:
    pods = Pods()
    pods.cri.set_ready(network=False)
    request = m.RunPodSandboxRequest(config=pods.sandbox_config())
    assert "network is not ready" in pods.error(v.RUN_POD_SANDBOX, request).message
    options = m.NamespaceOption(network=m.NamespaceMode.NODE)
    linux = m.LinuxPodSandboxConfig(security_context=m.LinuxSandboxSecurityContext(namespace_options=options))
    config = pods.sandbox_config("host", linux=linux)
    sandbox = pods.ask(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).pod_sandbox_id
    network = pods.sandbox_status(sandbox).network
    assert network is not None
    assert network.ip == ""
    conditions = pods.ask(v.STATUS, m.StatusRequest()).status.conditions
    assert [(c.type, c.status, bool(c.reason)) for c in conditions] == [
        ("RuntimeReady", True, False),
        ("NetworkReady", False, True),
    ]


def test_addresses_are_given_out_until_none_is_left_and_come_back() -> None:
    pods = Pods(settings=Settings(pod_cidr="10.1.0.0/29"))
    sandboxes = [pods.sandbox(f"p{number}") for number in range(5)]
    addresses = [pods.sandbox_status(sandbox).network for sandbox in sandboxes]
    assert [network.ip for network in addresses if network] == [f"10.1.0.{n}" for n in range(2, 7)]
    full = m.RunPodSandboxRequest(config=pods.sandbox_config("full"))
    assert "no address is left" in pods.error(v.RUN_POD_SANDBOX, full).message
    pods.ask(v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=sandboxes[1]))
    network = pods.sandbox_status(pods.ask(v.RUN_POD_SANDBOX, full).pod_sandbox_id).network
    assert network is not None
    assert network.ip == "10.1.0.3"


def test_the_agent_says_which_pod_network_to_take() -> None:
    pods = Pods()

    def config(cidr: str) -> m.UpdateRuntimeConfigRequest:
        network = m.NetworkConfig(pod_cidr=cidr)
        return m.UpdateRuntimeConfigRequest(runtime_config=m.RuntimeConfig(network_config=network))

    pods.ask(v.UPDATE_RUNTIME_CONFIG, config("10.9.8.0/24"))
    network = pods.sandbox_status(pods.sandbox()).network
    assert network is not None
    assert network.ip == "10.9.8.2"
    assert pods.error(v.UPDATE_RUNTIME_CONFIG, config("nonsense")).code == StatusCode.INVALID_ARGUMENT


def test_an_image_that_the_registry_does_not_have_cannot_be_pulled() -> None:
    pods = Pods(settings=Settings(registry=frozenset({"nginx"})))
    request = m.PullImageRequest(image=m.ImageSpec(image="registry.example/none:1"))
    assert pods.error(v.PULL_IMAGE, request).code == StatusCode.NOT_FOUND
    pulling = pods.cri.call(v.PULL_IMAGE, m.PullImageRequest(image=m.ImageSpec(image="nginx:latest")))
    pods.advance(SECOND)
    assert pulling.exception() is None


@pytest.mark.parametrize("name", ["", "UPPER", "a b", "x:", "host:port/x"])
def test_pulling_an_invalid_image_name_fails(name: str) -> None:
    pods = Pods()
    request = m.PullImageRequest(image=m.ImageSpec(image=name))
    assert pods.error(v.PULL_IMAGE, request).code == StatusCode.UNKNOWN


def test_a_removed_image_is_gone_under_all_its_names_and_its_containers_stay() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox())
    image = pods.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=IMAGE))).image
    pods.ask(v.REMOVE_IMAGE, m.RemoveImageRequest(image=m.ImageSpec(image=image.id)))
    for name in (IMAGE, image.id, *image.repo_tags, *image.repo_digests):
        assert pods.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=name))).image is None
    assert pods.status(container).image_ref == image.repo_digests[0]


def test_resources_that_are_given_replace_and_the_others_stay() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox())
    for linux in (m.LinuxContainerResources(cpu_shares=512), m.LinuxContainerResources(memory_limit_in_bytes=1024)):
        request = m.UpdateContainerResourcesRequest(container_id=container, linux=linux)
        pods.ask(v.UPDATE_CONTAINER_RESOURCES, request)
    assert pods.status(container).resources == m.ContainerResources(
        linux=m.LinuxContainerResources(cpu_shares=512, memory_limit_in_bytes=1024)
    )


def test_stats_grow_with_time_as_the_pod_says() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(cpu="250m", memory="64Mi"))
    pods.advance(100 * SECOND)
    stats = pods.ask(v.CONTAINER_STATS, m.ContainerStatsRequest(container_id=container)).stats
    assert stats.cpu.usage_core_nano_seconds.value == 25 * SECOND
    assert stats.memory.working_set_bytes.value == 64 * 2**20


def test_logs_and_termination_messages_are_written_where_the_agent_looks(tmp_path: Path) -> None:
    pods = Pods(files=DirectoryFiles())
    annotations = {"output": "one\ntwo", "output-every": "1m", "termination-message": "bye", "run-for": "90s"}
    config = pods.sandbox_config(annotations=annotations, log_directory=str(tmp_path / "logs"))
    sandbox = pods.ask(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).pod_sandbox_id
    message = tmp_path / "message"
    message.touch()
    mounts = (m.Mount(container_path="/dev/termination-log", host_path=str(message)),)
    container = pods.create(sandbox, log_path="app/0.log", mounts=mounts)
    pods.start(container).result()
    log = tmp_path / "logs/app/0.log"
    assert log.read_text() == "".join(f"2026-01-01T00:00:00.000000000Z stdout F {text}\n" for text in ("one", "two"))
    log.rename(tmp_path / "rotated")
    pods.advance(30 * SECOND)
    pods.ask(v.REOPEN_CONTAINER_LOG, m.ReopenContainerLogRequest(container_id=container))
    pods.advance(60 * SECOND)
    assert log.read_text().startswith("2026-01-01T00:01:00.000000000Z stdout F one\n")
    assert len((tmp_path / "rotated").read_text().splitlines()) == 2
    assert message.read_text() == "bye"
    assert pods.state(container) == "EXITED"


def test_a_callback_may_call_the_runtime_again() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(stop_delay="1s"))
    answers: list[Promise[Any]] = []
    request = m.RemoveContainerRequest(container_id=container)
    pods.stop(container).add_done_callback(lambda _: answers.append(pods.cri.call(v.REMOVE_CONTAINER, request)))
    pods.advance(SECOND)
    assert answers[0].exception() is None
    assert pods.list() == ()


def test_many_threads_may_call_at_once() -> None:
    dispatcher = PoolDispatcher(1)
    cri = SimulatedCri(dispatcher, Settings(images=(IMAGE,)))
    events = Events(cri)
    pods = Pods()

    def whole_life(number: int) -> None:
        name = f"p{number}"
        annotations = {PREFIX + "run-for": "1ms"}
        config = m.PodSandboxConfig(
            metadata=m.PodSandboxMetadata(name=name, uid=name, namespace="default"), annotations=annotations
        )
        sandbox = cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).result().pod_sandbox_id
        create = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=pods.container_config(name))
        container = cri.call(v.CREATE_CONTAINER, create).result().container_id
        cri.call(v.START_CONTAINER, m.StartContainerRequest(container_id=container)).result()
        cri.call(v.LIST_CONTAINERS, m.ListContainersRequest()).result()
        cri.call(v.STOP_CONTAINER, m.StopContainerRequest(container_id=container, timeout=1)).result()
        cri.call(v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=sandbox)).result()

    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(whole_life, range(100)))
    finally:
        dispatcher.close()
    assert not cri.state.sandboxes
    assert not cri.state.containers
    order = ["CREATED", "STARTED", "STOPPED", "DELETED"]
    assert {identity: events.kinds(identity) for identity in {item.container_id for item in events.items}} == {
        item.container_id: order for item in events.items
    }
