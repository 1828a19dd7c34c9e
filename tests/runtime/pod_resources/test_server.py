"""The pod resources API over its socket: what clients of a kubelet get here."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from actors.kernel import PoolDispatcher
from actors.node.pod_resources import NodePodResources
from runtime.cri.transport import grpc
from runtime.metrics import shares as names
from runtime.metrics.meters import Meters
from runtime.pod_resources.capability import DevicesOnNodes, Holdings, MemoryOnNodes, PodHoldings
from runtime.pod_resources.server import CALLS_AT_ONCE, LIMITED, SOCKET, PodResourcesError, PodResourcesServer
from runtime.pod_resources.v1 import pod_resources_pb2 as v1
from runtime.pod_resources.v1alpha1 import pod_resources_pb2 as v1alpha1
from simulation.node.simulated_node import SimulatedNode
from tests.real.waiting import until
from tests.simulation.node.test_shares import MACHINE, STATIC, pinned
from tests.simulation.node.worlds import READY_IMAGES, manifest

GIB = 2**30
SECOND_NS = 1_000_000_000
HOLDINGS = Holdings(
    (1, 9), (MemoryOnNodes("memory", GIB, (0, 1)),), (DevicesOnNodes("example.com/gpu", ("g0", "g1"), (1,)),)
)
RUNS = PodHoldings("shop", "web", (("side", Holdings()), ("app", HOLDINGS)), 1)
ENDED = PodHoldings("shop", "job", (("app", Holdings()),))


class Source:
    """A node with one pod that runs and one that has ended."""

    def __init__(self) -> None:
        self.known = True
        self.lists_active_pods = True

    def allocatable(self) -> Holdings | None:
        return HOLDINGS if self.known else None

    def pods(self, *, active: bool) -> tuple[PodHoldings, ...] | None:
        if not self.known:
            return None
        return (RUNS,) if active else (RUNS, ENDED)


class Client:
    """Calls methods by name, with the messages that protoc made."""

    def __init__(self, path: str) -> None:
        self._channel = grpc.insecure_channel(f"unix:{path}")

    def call(self, messages: Any, verb: str, request: str, **fields: Any) -> Any:
        answer = {"List": "ListPodResources", "GetAllocatableResources": "AllocatableResources"}
        response = getattr(messages, f"{answer.get(verb, 'GetPodResources')}Response")
        method = self._channel.unary_unary(
            f"/{messages.DESCRIPTOR.package}.PodResourcesLister/{verb}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        return method(getattr(messages, request)(**fields), timeout=60)

    def list(self, messages: Any = v1) -> Any:
        return self.call(messages, "List", "ListPodResourcesRequest")

    def get(self, namespace: str, name: str) -> Any:
        return self.call(v1, "Get", "GetPodResourcesRequest", pod_namespace=namespace, pod_name=name)

    def allocatable(self) -> Any:
        return self.call(v1, "GetAllocatableResources", "AllocatableResourcesRequest")

    def close(self) -> None:
        self._channel.close()


class Clock:
    """Stands still until it is moved, or somebody waits."""

    def __init__(self) -> None:
        self.ns = 0
        self.on_pause: Callable[[], None] = lambda: None

    def pause(self, seconds: float) -> None:
        self.ns += round(seconds * SECOND_NS)
        self.on_pause()

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def root() -> Iterator[Path]:
    """Short, because paths of sockets are."""
    with tempfile.TemporaryDirectory(prefix="p-") as directory:
        yield Path(directory)


@pytest.fixture
def served(root: Path) -> Iterator[tuple[Source, Client, Clock]]:
    source, clock = Source(), Clock()
    server = PodResourcesServer(str(root), source, clock, pause=clock.pause)
    server.start()
    with closing(server), closing(Client(server.path)) as client:
        yield source, client, clock


Served = tuple[Source, Client, Clock]


def test_v1_lists_cpus_memory_and_devices_of_each_container(served: Served) -> None:
    _, client, _ = served
    nodes = v1.TopologyInfo(nodes=[v1.NUMANode(ID=0), v1.NUMANode(ID=1)])
    app = v1.ContainerResources(
        name="app",
        cpu_ids=[1, 9],
        memory=[v1.ContainerMemory(memory_type="memory", size=GIB, topology=nodes)],
        devices=[
            v1.ContainerDevices(
                resource_name="example.com/gpu",
                device_ids=["g0", "g1"],
                topology=v1.TopologyInfo(nodes=[v1.NUMANode(ID=1)]),
            )
        ],
    )
    web = v1.PodResources(name="web", namespace="shop", containers=[v1.ContainerResources(name="side"), app])
    assert list(client.list().pod_resources) == [web]
    assert client.get("shop", "web").pod_resources == web
    assert client.allocatable() == v1.AllocatableResourcesResponse(
        devices=app.devices, cpu_ids=app.cpu_ids, memory=app.memory
    )


def test_v1alpha1_lists_devices_of_all_pods_and_knows_no_sidecars(served: Served) -> None:
    _, client, _ = served
    found = client.list(v1alpha1).pod_resources
    assert [(pod.name, [each.name for each in pod.containers]) for pod in found] == [("web", ["app"]), ("job", ["app"])]
    assert found[0].containers[0].devices[0] == v1alpha1.ContainerDevices(
        resource_name="example.com/gpu", device_ids=["g0", "g1"]
    )


def test_without_the_gate_v1_lists_pods_that_have_ended(served: Served) -> None:
    source, client, _ = served
    source.lists_active_pods = False
    assert [pod.name for pod in client.list().pod_resources] == ["web", "job"]


@pytest.mark.parametrize("name", ["job", "nobody"])
def test_get_of_a_pod_that_is_not_active_fails_in_a_kubelets_words(served: Served, name: str) -> None:
    _, client, _ = served
    with pytest.raises(grpc.RpcError) as failure:
        client.get("shop", name)
    assert failure.value.code() is grpc.StatusCode.UNKNOWN
    assert failure.value.details() == f"pod {name} in namespace shop not found"


def test_what_is_not_known_is_not_told_as_nothing(served: Served) -> None:
    source, client, _ = served
    source.known = False
    for ask in (client.list, client.allocatable, lambda: client.get("shop", "web"), lambda: client.list(v1alpha1)):
        with pytest.raises(grpc.RpcError) as failure:
            ask()
        assert failure.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_call_waits_for_an_agent_that_is_beginning(served: Served) -> None:
    source, client, clock = served
    source.known = False
    began_ns = clock.ns

    def learn() -> None:
        source.known = clock.ns - began_ns >= 3 * SECOND_NS

    clock.on_pause = learn
    assert [pod.name for pod in client.list().pod_resources] == ["web"]
    assert clock.ns - began_ns < 4 * SECOND_NS


def test_more_than_ten_calls_at_once_are_refused_until_time_passes(served: Served) -> None:
    _, client, clock = served
    for _ in range(CALLS_AT_ONCE):
        client.list()
    with pytest.raises(grpc.RpcError) as failure:
        client.list(v1alpha1)
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert failure.value.details() == LIMITED
    clock.ns += 10**7  # a hundredth of a second: one more
    client.list()
    with pytest.raises(grpc.RpcError):
        client.list()


def test_a_socket_that_a_killed_agent_left_is_replaced_and_ours_is_removed(root: Path) -> None:
    path = root / SOCKET
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = PodResourcesServer(str(root), Source())
    server.start()
    with closing(Client(server.path)) as client:
        assert len(client.list().pod_resources) == 1
    server.close()
    assert os.listdir(path.parent) == []


def test_only_who_may_enter_the_directory_may_ask(root: Path) -> None:
    with closing(PodResourcesServer(str(root), Source())) as server:
        server.start()
        assert (root / SOCKET).parent.stat().st_mode & 0o777 == 0o750


def test_a_root_directory_that_is_too_long_is_an_error_with_the_way_out(root: Path) -> None:
    with pytest.raises(PodResourcesError, match="shorten the root directory"):
        PodResourcesServer(str(root / ("x" * 100)), Source()).start()


def test_a_node_tells_over_the_socket_what_its_book_has(root: Path) -> None:
    with closing(PoolDispatcher()) as dispatcher:
        node = SimulatedNode(dispatcher, topology=MACHINE, configuration=STATIC, settings=READY_IMAGES)
        node.put_manifest("a.yaml", manifest("a", [pinned()]))
        clock = Clock()
        server = PodResourcesServer(str(root), NodePodResources(node.node), clock)
        node.start()
        server.start()
        with closing(server), closing(Client(server.path)) as client:

            def has_its_cpus() -> bool:
                clock.ns += 10**9
                with suppress(grpc.RpcError):  # while the agent begins
                    pods = client.list().pod_resources
                    return [cpu for pod in pods for each in pod.containers for cpu in each.cpu_ids] == [1, 9]
                return False

            until(has_its_cpus, 60, lambda: "the pod is not listed with its CPUs")
            assert client.get("default", "a-node").pod_resources.containers[0].memory[0].size == GIB
        node.stop()


def test_calls_and_failures_are_counted_by_version(root: Path) -> None:
    meters = Meters()
    with closing(PodResourcesServer(str(root), Source(), Clock(), meters)) as server:
        server.start()
        with closing(Client(server.path)) as client:
            client.list()
            client.list(v1alpha1)
            client.allocatable()
            with pytest.raises(grpc.RpcError):
                client.get("shop", "job")
    counted = {family.name: meters.value(family, "v1") for family in (names.CALLS, names.LIST_CALLS, names.GET_ERRORS)}
    assert list(counted.values()) == [3, 1, 1]
    assert meters.value(names.CALLS, "v1alpha1") == 1
    assert meters.value(names.LIST_ERRORS, "v1") == 0
