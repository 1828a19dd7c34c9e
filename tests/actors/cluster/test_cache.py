"""`ClusterCacheActor`: service variables, RuntimeClass handlers and the node, for pods.

See spec 9.8 and 13.1.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actors.cluster.cache import ClusterCacheActor
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    PodInputs,
    PodInputsChanged,
    PodInputsRead,
    ReadPodInputs,
    ReadRuntimeClass,
    RuntimeClassRead,
)
from config.frozen_map import FrozenMap
from config.objects import Node, NodeStatus, ObjectMeta, RuntimeClass, Service, ServicePort, ServiceSpec
from runtime.api import ApiError, ObjectList
from tests.actors.manual_api import ManualApi, unreachable
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000


def service(name: str, address: str, namespace: str = "shop") -> Service:
    meta = ObjectMeta(name=name, namespace=namespace, resource_version="1")
    return Service(metadata=meta, spec=ServiceSpec(cluster_ip=address, ports=(ServicePort(port=80),)))


def runtime_class(name: str, handler: str) -> RuntimeClass:
    return RuntimeClass(metadata=ObjectMeta(name=name), handler=handler)


class World:
    def __init__(self, *, alone: bool = False) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.reader, self.heard = Recorder.spawn_in(self.system, "reader", PodInputsRead, RuntimeClassRead)
        node, self.followed = Recorder.spawn_in(self.system, "node-status", FollowNode)
        sync_loop, self.told = Recorder.spawn_in(self.system, "sync-loop", PodInputsChanged)
        api = None if alone else self.api
        self.cache = self.system.spawn(ClusterCacheActor, api, node, sync_loop, name="cluster-cache")
        self.run()

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def list_both(self, services: tuple[Service, ...] = (), classes: tuple[RuntimeClass, ...] = ()) -> None:
        assert [call.path.rpartition("/")[2] for call in self.api.calls] == ["services", "runtimeclasses"]
        self.api.answer(ObjectList(services, "5"))
        self.api.answer(ObjectList(classes, "5"))
        self.run()

    def ask(self, *, wait: bool = True, own: bool = True, needs_node: bool = False) -> None:
        self.cache.tell(ReadPodInputs(self.reader, "s", "shop", own, wait, needs_node))
        self.run()

    def ask_class(self, name: str) -> None:
        self.cache.tell(ReadRuntimeClass(self.reader, "c", name))
        self.run()

    def hosts(self) -> dict[str, str]:
        answer = self.heard.pop()
        assert isinstance(answer, PodInputsRead)
        assert answer.synced
        return {key: value for key, value in answer.services.items() if key.endswith("_HOST")}


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_pod_gets_variables_of_the_services_that_exist_now(world: World):
    world.list_both((service("web", "10.0.0.1"), service("kubernetes", "10.0.0.9", "default")))
    world.ask()
    assert world.hosts() == {"KUBERNETES_SERVICE_HOST": "10.0.0.9", "WEB_SERVICE_HOST": "10.0.0.1"}
    watch = next(each for each in world.api.watches if each.call.path.endswith("/services"))
    watch.say("ADDED", service("db", "10.0.0.2"), "6")
    watch.say("MODIFIED", service("web", "None"), "7")
    world.ask()
    assert world.hosts() == {"DB_SERVICE_HOST": "10.0.0.2", "KUBERNETES_SERVICE_HOST": "10.0.0.9"}
    watch.say("DELETED", service("db", "10.0.0.2"), "8")
    world.ask(own=False)
    assert world.hosts() == {"KUBERNETES_SERVICE_HOST": "10.0.0.9"}


def test_the_variables_of_a_namespace_are_made_once(world: World):
    world.list_both((service("web", "10.0.0.1"),))
    world.ask()
    world.ask()
    assert world.heard[0].services is world.heard[1].services


def test_the_sync_loop_hears_of_each_change_of_pod_inputs_and_of_nothing_else(world: World):
    around = [each.around for each in world.told]
    assert around == [None], "nothing is known yet"
    world.list_both((service("web", "10.0.0.1"),))
    watch = next(each for each in world.api.watches if each.call.path.endswith("/services"))
    for version in ("6", "7"):
        watch.say("MODIFIED", service("web", "10.0.0.2"), version)
        world.run()
    node = NodeObserved(Node(metadata=ObjectMeta(name="node"), status=NodeStatus(allocatable={"cpu": "4"})))
    world.cache.tell(node)
    world.cache.tell(node)
    world.run()
    told = [(each.variables_of("shop", True)["WEB_SERVICE_HOST"], each.allocatable) for each in known(world)]
    assert told == [("10.0.0.1", None), ("10.0.0.2", None), ("10.0.0.2", {"cpu": "4"})]


def known(world: World) -> list[PodInputs]:
    return [each.around for each in world.told if each.around is not None]


def test_each_namespace_gets_its_own_service_variables(world: World):
    world.list_both((service("web", "10.0.0.1"), service("kubernetes", "10.0.0.9", "default")))
    (around,) = known(world)
    asked = [("shop", True), ("shop", False), ("yard", True), ("yard", False), ("shop", True)]
    hosts = [{key for key in around.variables_of(*each) if key.endswith("_HOST")} for each in asked]
    everywhere, shop = "KUBERNETES_SERVICE_HOST", "WEB_SERVICE_HOST"
    assert hosts == [{everywhere, shop}, {everywhere}, {everywhere}, {everywhere}, {everywhere, shop}]


# (spec 13.1.4)
def test_a_pod_waits_a_while_for_the_first_list(world: World):
    world.ask()
    world.run(4 * SECOND_NS)
    assert world.heard == []
    world.list_both((service("web", "10.0.0.1"),))
    assert world.hosts() == {"WEB_SERVICE_HOST": "10.0.0.1"}


# (spec 13.1.4)
def test_a_pod_is_told_when_services_are_not_known_in_time_and_one_that_cannot_wait_at_once(world: World):
    world.ask(wait=False)
    assert world.heard == [PodInputsRead("s", FrozenMap(), FrozenMap(), False)]
    world.heard.clear()
    world.ask()
    world.run(5 * SECOND_NS)
    assert world.heard == [PodInputsRead("s", FrozenMap(), FrozenMap(), False)]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("sandboxed", RuntimeClassRead("c", "gvisor")),
        ("default", RuntimeClassRead("c", "")),
        ("none", RuntimeClassRead("c", "", 'runtimeclass.node.k8s.io "none" not found')),
    ],
)
# (spec 9.8.1)
def test_a_runtime_class_means_a_handler(world: World, name: str, answer: RuntimeClassRead):
    world.list_both((), (runtime_class("sandboxed", "gvisor"), runtime_class("default", "")))
    world.ask_class(name)
    assert world.heard == [answer]


def test_a_runtime_class_that_is_made_later_is_known_then(world: World):
    world.list_both()
    watch = next(each for each in world.api.watches if each.call.path.endswith("/runtimeclasses"))
    watch.say("ADDED", runtime_class("new", "kata"), "6")
    world.ask_class("new")
    watch.say("DELETED", runtime_class("new", "kata"), "7")
    world.ask_class("new")
    assert [(each.handler, bool(each.error)) for each in world.heard] == [("kata", False), ("", True)]


def test_why_runtime_classes_are_not_known_is_told(world: World):
    world.ask_class("sandboxed")
    world.api.fail(unreachable())
    world.api.fail(ApiError(403, "Forbidden", "may not", "list runtimeclasses"))
    world.run(5 * SECOND_NS)
    [answer] = world.heard
    assert answer.error.startswith("failed to lookup RuntimeClass sandboxed: ")
    assert "may not" in answer.error


def test_a_pod_that_needs_the_node_object_waits_for_it(world: World):
    assert world.followed == [FollowNode(world.cache)]
    world.list_both()
    world.ask(needs_node=True)
    assert world.heard == []
    status = NodeStatus(allocatable={"cpu": "3500m"})
    world.cache.tell(NodeObserved(Node(metadata=ObjectMeta(name="n"), status=status)))
    world.run()
    assert world.heard == [PodInputsRead("s", FrozenMap(), FrozenMap({"cpu": "3500m"}), True)]


def test_a_node_that_stands_alone_has_no_services_and_no_classes():
    world = World(alone=True)
    world.ask()
    world.ask_class("gvisor")
    services, runtime_class = world.heard
    assert services == PodInputsRead("s", FrozenMap(), FrozenMap(), True)
    assert "stands alone" in runtime_class.error
    assert world.system.stop()
