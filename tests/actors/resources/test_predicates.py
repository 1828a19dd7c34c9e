"""Whether a pod fits on a node (spec 10.14): what is told, in which order, in which words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.model.allocation import Allocation, Book, KeptBook, allocation_of
from actors.resources.predicates import UNKNOWN_AT_MOST, failures, os_rejection, rejection
from actors.resources.verdict import counted_reason
from config.frozen_map import FrozenMap
from config.objects import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodOS,
    PodStatus,
    ResourceRequirements,
    Taint,
    Toleration,
)
from config.objects.pod_status import ContainerExtendedResourceRequest, PodExtendedResourceClaimStatus
from config.pods.identity import CONFIG_SOURCE
from config.values.quantity import parse_quantity
from tests.actors.pod_pictures import container, pod, sidecar

ROOM = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "3", "hugepages-2Mi": "4Mi"}
FILE = {"annotations": {CONFIG_SOURCE: "file"}}


def node(labels: dict[str, str] | None = None, taints: tuple[Taint, ...] = (), **room: str) -> Node:
    """One with `ROOM`; underscores of `room` are dashes."""
    more = {name.replace("_", "-"): amount for name, amount in room.items()}
    meta = ObjectMeta(name="n1", labels=labels or {})
    return Node(metadata=meta, spec=NodeSpec(taints=taints), status=NodeStatus(allocatable={**ROOM, **more}))


def asking(name: str = "app", **requests: str) -> Container:
    """A container that asks for that."""
    amounts = {each.replace("_", "-"): amount for each, amount in requests.items()}
    return container(name, resources=ResourceRequirements(requests=amounts))


def beside(cpu: str) -> Container:
    """A sidecar."""
    return sidecar("proxy", resources=ResourceRequirements(requests={"cpu": cpu}))


def given(uid: str, **requests: str) -> Allocation:
    """What another pod has."""
    amounts = {each.replace("_", "-"): parse_quantity(amount).nanos for each, amount in requests.items()}
    return Allocation(uid, "shop", uid, FrozenMap(amounts))


def reasons(desired: Pod, there: Node, *others: Allocation) -> list[str]:
    return [rejection(each).reason for each in failures(desired, allocation_of(desired), there, Book(KeptBook(others)))]


def words(desired: Pod, there: Node, *others: Allocation) -> list[str]:
    return [
        rejection(each).message for each in failures(desired, allocation_of(desired), there, Book(KeptBook(others)))
    ]


@pytest.mark.parametrize(
    ("requests", "others", "found"),
    [
        ({"cpu": "4"}, (), []),
        ({"cpu": "4001m"}, (), ["OutOfcpu"]),
        ({"cpu": "2"}, ({"cpu": "2"},), []),
        ({"cpu": "2"}, ({"cpu": "2001m"},), ["OutOfcpu"]),
        ({"memory": "8Gi"}, (), []),
        ({"memory": "8Gi"}, ({"memory": "1"},), ["OutOfmemory"]),
        ({"ephemeral_storage": "101Gi"}, (), ["OutOfephemeral-storage"]),
        ({"hugepages_2Mi": "6Mi"}, (), ["OutOfhugepages-2Mi"]),
        ({"hugepages_1Gi": "1Gi"}, (), ["OutOfhugepages-1Gi"]),
        ({}, ({}, {}), []),
        ({}, ({}, {}, {}), ["OutOfpods"]),
        ({"memory": "9Gi", "cpu": "5"}, ({}, {}, {}), ["OutOfpods", "OutOfcpu", "OutOfmemory"]),
    ],
)
# (spec 10.14.2)
def test_10_14_requests_that_exceed_what_is_allocatable(
    requests: dict[str, str], others: tuple[dict[str, str], ...], found: list[str]
) -> None:
    there = [given(f"other-{index}", **other) for index, other in enumerate(others)]
    assert reasons(pod(asking(**requests)), node(), *there) == found


# (spec 10.11.5)
def test_10_14_devices_that_nobody_offers_on_this_node_are_refused() -> None:
    wants = pod(container("app", resources=ResourceRequirements(requests={"example.com/gpu": "1"})))
    assert reasons(wants, node()) == ["OutOfexample.com/gpu"]
    there = node()
    known = Node(
        metadata=there.metadata, spec=there.spec, status=NodeStatus(allocatable={**ROOM, "example.com/gpu": "0"})
    )
    assert reasons(wants, known) == ["OutOfexample.com/gpu"]


# (spec 10.12)
@pytest.mark.parametrize("resource", ["example.com/gpu", "deviceclass.resource.kubernetes.io/gpu.example.com"])
def test_devices_that_a_claim_gives_need_no_room_on_the_node(resource: str) -> None:
    asked = ResourceRequirements(requests={resource: "1", "cpu": "5"})
    mapping = ContainerExtendedResourceRequest("app", "container-0-request-0", resource)
    given_ = PodExtendedResourceClaimStatus(request_mappings=(mapping,), resource_claim_name="app-extended-resources")
    wants = msgspec.structs.replace(
        pod(container("app", resources=asked)), status=PodStatus(extended_resource_claim_status=given_)
    )
    assert reasons(wants, node()) == ["OutOfcpu"]


def test_of_thousands_of_resources_that_the_node_lacks_the_first_are_named() -> None:
    requests = {f"example.com/r{number:04}": "1" for number in range(3_000)}
    wants = pod(container("app", resources=ResourceRequirements(requests={**requests, "memory": "99Gi"})))
    found = reasons(wants, node())
    assert found == ["OutOfmemory", *(f"OutOfexample.com/r{number:04}" for number in range(UNKNOWN_AT_MOST))]


# (spec 10.14.2)
def test_10_14_the_words_say_how_much_was_asked_used_and_there() -> None:
    said = words(pod(asking(cpu="1500m", memory="8Gi")), node(), given("other", cpu="3", memory="1Gi"))
    assert said == [
        "Node didn't have enough resource: cpu, requested: 1500, used: 3000, capacity: 4000",
        f"Node didn't have enough resource: memory, requested: {8 << 30}, used: {1 << 30}, capacity: {8 << 30}",
    ]
    assert words(pod("app"), node(pods="0")) == [
        "Node didn't have enough resource: pods, requested: 1, used: 0, capacity: 0"
    ]


@pytest.mark.parametrize(
    ("init", "fits"),
    [
        ((asking("setup", cpu="4"),), True),
        ((asking("setup", cpu="5"),), False),
        ((beside("3"),), True),
        ((beside("3500m"),), False),
        (
            (beside("1"), asking("setup", cpu="3500m")),
            False,
        ),
        ((asking("setup", cpu="3500m"), beside("1")), True),
    ],
)
# (spec 10.14.3)
def test_10_14_init_containers_and_sidecars_count_in_their_time(init: tuple[Container, ...], fits: bool) -> None:
    assert (reasons(pod(asking(cpu="1"), init=init), node()) == []) is fits


def affinity(*terms: NodeSelectorTerm) -> Affinity:
    required = NodeSelector(node_selector_terms=terms)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


def term(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"node_selector": {"disk": "ssd"}}, []),
        ({"node_selector": {"disk": "hdd"}}, ["NodeAffinity"]),
        ({"affinity": affinity(term("disk", "In", "hdd", "ssd"))}, []),
        ({"affinity": affinity(term("disk", "NotIn", "ssd"))}, ["NodeAffinity"]),
        ({"affinity": affinity(term("disk", "NotIn", "ssd"), term("disk", "Exists"))}, []),
        ({"affinity": affinity(NodeSelectorTerm())}, ["NodeAffinity"]),
        ({"node_name": "n1"}, []),
        ({"node_name": "n2"}, ["NodeName"]),
    ],
)
# (spec 10.14.4)
def test_10_14_selectors_affinity_and_name(spec: dict[str, Any], found: list[str]) -> None:
    assert reasons(pod("app", **spec), node({"disk": "ssd"})) == found


def test_10_14_the_words_of_a_predicate_name_it() -> None:
    assert words(pod("app", node_selector={"disk": "hdd"}), node()) == [
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    ]


@pytest.mark.parametrize(
    ("taint", "tolerations", "meta", "found"),
    [
        (Taint(key="gone", effect="NoExecute"), (), {}, ["TaintToleration"]),
        (Taint(key="gone", effect="NoSchedule"), (), {}, []),
        (Taint(key="gone", effect="NoExecute"), (Toleration(operator="Exists"),), {}, []),
        (Taint(key="gone", effect="NoExecute"), (Toleration(key="gone", value="x"),), {}, ["TaintToleration"]),
        (Taint(key="gone", effect="NoExecute"), (), FILE, []),
    ],
)
# (spec 10.14.4)
def test_10_14_a_noexecute_taint_keeps_all_but_static_pods_away(
    taint: Taint, tolerations: tuple[Toleration, ...], meta: dict[str, Any], found: list[str]
) -> None:
    assert reasons(pod("app", tolerations=tolerations, meta=meta), node(taints=(taint,))) == found


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        (ContainerPort(container_port=80, host_port=8080), ["NodePorts"]),
        (ContainerPort(container_port=80, host_port=8080, protocol="UDP"), []),
        (ContainerPort(container_port=80, host_port=8081), []),
        (ContainerPort(container_port=80, host_port=8080, host_ip="10.0.0.1"), ["NodePorts"]),
        (ContainerPort(container_port=8080), []),
    ],
)
# (spec 10.14.4)
def test_10_14_a_port_of_the_host_is_given_once(mine: ContainerPort, found: list[str]) -> None:
    other = Allocation("other", "shop", "other", FrozenMap(), ports=(("", "TCP", 8080),))
    assert reasons(pod(container("app", ports=(mine,))), node(), other) == found


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"os": PodOS(name="linux")}, None),
        ({"os": PodOS(name="windows")}, "PodOSNotSupported"),
        ({"meta": {"labels": {"kubernetes.io/os": "linux"}}}, None),
        ({"meta": {"labels": {"kubernetes.io/os": "windows"}}}, "PodOSSelectorNodeLabelDoesNotMatch"),
    ],
)
# (spec 10.14.6)
def test_10_14_another_operating_system(fields: dict[str, Any], reason: str | None) -> None:
    verdict = os_rejection(pod("app", **fields))
    assert (verdict.reason if verdict is not None else None) == reason


def test_the_book_adds_up_and_gives_back() -> None:
    book = Book()
    book.put(given("a", cpu="1", memory="1Gi"))
    book.put(given("b", cpu="2"))
    book.put(given("a", cpu="500m"))
    assert (len(book), book.used("cpu"), book.used("memory")) == (2, parse_quantity("2500m").nanos, 0)
    assert book.remove("a") is not None
    assert book.remove("a") is None
    assert book.used("cpu") == parse_quantity("2").nanos


@pytest.mark.parametrize(
    ("reason", "counted"),
    [
        ("OutOfcpu", "OutOfcpu"),
        ("OutOfephemeral-storage", "OutOfephemeral-storage"),
        ("OutOfexample.com/gpu", "OutOfExtendedResources"),
        ("NodeShutdown", "NodeShutdown"),
        ("NodeAffinity", "Other"),
    ],
)
# (spec 10.14.8)
def test_rejections_are_counted_under_few_reasons(reason: str, counted: str) -> None:
    assert counted_reason(reason) == counted
