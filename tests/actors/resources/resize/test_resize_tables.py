"""Whether a pod gets other resources, why never, and in which order pods are tried (spec 10.16)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.model.allocation import Book, KeptBook, allocation_of
from actors.model.devices import Offer
from actors.model.pod_resources import PodResources, resources_of, same_resources, with_resources
from actors.resources.abilities import Abilities
from actors.resources.admission import Snapshot
from actors.resources.resize.changes import changes
from actors.resources.resize.infeasible import ResizeRules, infeasible
from actors.resources.resize.order import Waiting, grows, in_turn
from actors.resources.resize.verdicts import UNCHANGED, Deferred, Granted, resize_verdict
from actors.start.resources import ResourceRules, SwapRules
from config.frozen_map import FrozenMap
from config.objects import (
    Container,
    ContainerResizePolicy,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from config.pods.identity import CONFIG_SOURCE

NODE = Node(metadata=ObjectMeta(name="n"), status=NodeStatus(allocatable={"cpu": "4", "memory": "8Gi", "pods": "10"}))
RESTART = (ContainerResizePolicy(resource_name="memory", restart_policy="RestartContainer"),)
SWAP = ResizeRules(ResourceRules(memory_capacity_bytes=2**33, swap=SwapRules(limited=True, capacity_bytes=2**30)))


def amounts(cpu: str = "", memory: str = "", *, limits: bool = False) -> ResourceRequirements:
    found = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text}
    return ResourceRequirements(requests=found, limits=found if limits else {})


def pod(resources: ResourceRequirements, uid: str = "web", *, source: str = "api", **fields: Any) -> Pod:
    meta = ObjectMeta(name=uid, namespace="shop", uid=uid, annotations={CONFIG_SOURCE: source})
    inits = fields.pop("inits", ())
    whole = fields.pop("whole", None)
    priority = fields.pop("priority", None)
    container = Container(name="app", resources=resources, **fields)
    return Pod(
        metadata=meta, spec=PodSpec(containers=(container,), init_containers=inits, resources=whole, priority=priority)
    )


GPU = "vendor.example/gpu"
FULL, MORE = amounts("1", "1Gi", limits=True), amounts("2", "2Gi", limits=True)


@pytest.mark.parametrize(
    ("before", "after", "rules", "detail"),
    [
        (pod(amounts("1")), pod(amounts("2")), ResizeRules(), ""),
        (pod(amounts("1")), pod(amounts("2"), source="file"), ResizeRules(), "static_pod"),
        (pod(amounts("1", "1Gi")), pod(amounts("2", "1Gi")), SWAP, ""),
        (pod(amounts("1", "1Gi")), pod(amounts("1", "2Gi")), SWAP, "swap_limitation"),
        (pod(amounts("1", "1Gi")), pod(amounts("1", "2Gi"), resize_policy=RESTART), SWAP, ""),
        (pod(FULL), pod(MORE), SWAP, ""),
        (pod(FULL), pod(FULL, whole=MORE), ResizeRules(pod_level=False), "plr_feature_gate_off"),
        (pod(FULL), pod(FULL, whole=MORE), ResizeRules(), ""),
        (
            pod(FULL, inits=(Container(name="once", resources=FULL),)),
            pod(FULL, inits=(Container(name="once", resources=MORE),)),
            ResizeRules(init_containers=False),
            "feature_gate_off",
        ),
        (
            pod(FULL, inits=(Container(name="side", resources=FULL, restart_policy="Always"),)),
            pod(FULL, inits=(Container(name="side", resources=MORE, restart_policy="Always"),)),
            ResizeRules(init_containers=False),
            "",
        ),
        (pod(FULL), pod(MORE), ResizeRules(cpu_policy="static"), "guaranteed_pod_cpu_manager_static_policy"),
        (pod(FULL), pod(MORE), ResizeRules(cpu_policy="static", exclusive_cpus=True), ""),
        (pod(amounts("1")), pod(amounts("2")), ResizeRules(cpu_policy="static"), ""),
        (pod(FULL), pod(MORE), ResizeRules(memory_policy="Static"), "guaranteed_pod_memory_manager_static_policy"),
    ],
)
# (spec 10.16.2)
def test_why_a_pod_never_gets_what_it_asks_for(before: Pod, after: Pod, rules: ResizeRules, detail: str) -> None:
    found = infeasible(after, resources_of(before.spec), rules)
    assert (found.detail if found is not None else "") == detail


def waiting(uid: str, has: str, wants: str, *, priority: int = 0, full: bool = False, since_s: int = 0) -> Waiting:
    one, other = (pod(amounts(each, "1Gi", limits=full), uid, priority=priority) for each in (has, wants))
    return Waiting(allocation_of(one), allocation_of(other), since_s)


# (spec 10.16.3)
def test_the_order_is_shrinking_priority_class_and_age() -> None:
    everyone = [
        waiting("young", "1", "2", since_s=9),
        waiting("old", "1", "2", since_s=1),
        waiting("guaranteed", "1", "2", full=True, since_s=9),
        waiting("important", "1", "2", priority=5, since_s=9),
        waiting("less", "2", "1", since_s=9),
    ]
    assert [each.wanted.uid for each in in_turn(everyone)] == ["less", "important", "guaranteed", "old", "young"]


@pytest.mark.parametrize(
    ("has", "wants", "found"),
    [
        ("1", "1", UNCHANGED),
        ("1", "1000m", UNCHANGED),
        ("1", "500m", None),
        ("1", "3", None),
        ("1", "3001m", "OutOfcpu"),
    ],
)
# (spec 10.16.2)
def test_a_pod_gets_what_fits_beside_the_others(has: str, wants: str, found: Any) -> None:
    other = allocation_of(pod(amounts("1"), "other"))
    book = Book(KeptBook((other,)))
    snapshot = Snapshot(NODE, book, Abilities())
    verdict = resize_verdict(pod(amounts(wants)), resources_of(pod(amounts(has)).spec), ResizeRules(), snapshot)
    if found is None:
        assert verdict == Granted(allocation_of(pod(amounts(wants))))
    elif isinstance(found, str):
        assert isinstance(verdict, Deferred)
        assert verdict.reason == found
    else:
        assert verdict is found


def test_a_pod_with_devices_grows_although_their_plugin_is_away() -> None:
    def with_gpu(cpu: str) -> Pod:
        return pod(ResourceRequirements(requests={"cpu": cpu, GPU: "1"}, limits={GPU: "1"}))

    offers = FrozenMap({GPU: Offer(connected=False)})
    snapshot = Snapshot(NODE, Book(), Abilities(), offers=offers)
    verdict = resize_verdict(with_gpu("2"), resources_of(with_gpu("1").spec), ResizeRules(), snapshot)
    assert verdict == Granted(allocation_of(with_gpu("2")))


MILLI = st.integers(1, 5000).map("{}m".format)


@settings(max_examples=60, deadline=None)
@given(st.lists(MILLI, max_size=4), MILLI, MILLI)
def test_a_granted_resize_never_overcommits_the_node(others: list[str], has: str, wants: str) -> None:
    taken = tuple(allocation_of(pod(amounts(each), f"other-{number}")) for number, each in enumerate(others))
    book = Book(KeptBook(taken))
    verdict = resize_verdict(
        pod(amounts(wants)), resources_of(pod(amounts(has)).spec), ResizeRules(), Snapshot(NODE, book, Abilities())
    )
    total = sum(int(each[:-1]) for each in others) + int(wants[:-1])
    assert isinstance(verdict, Granted) == (total <= 4000 and wants != has)


@given(st.sampled_from([FULL, MORE, amounts("1"), amounts()]), st.sampled_from([FULL, MORE, amounts("1000m")]))
def test_a_pod_in_another_form_has_just_those_resources(asked: ResourceRequirements, has: ResourceRequirements) -> None:
    one, other = pod(asked), resources_of(pod(has).spec)
    changed = with_resources(one, other)
    assert same_resources(resources_of(changed.spec), other)
    assert (changed is one) == same_resources(resources_of(one.spec), other)
    assert same_resources(resources_of(with_resources(changed, resources_of(one.spec)).spec), resources_of(one.spec))
    assert PodResources().of(one.spec.containers[0]) == asked


def test_only_cpu_and_memory_grow() -> None:
    assert not grows(allocation_of(pod(MORE)), allocation_of(pod(FULL)))
    assert grows(allocation_of(pod(FULL)), allocation_of(pod(amounts("500m", "2Gi"))))


def test_each_limit_and_request_that_changes_is_counted() -> None:
    before = pod(ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"}, limits={"cpu": "2"}))
    after = pod(ResourceRequirements(requests={"cpu": "2"}, limits={"cpu": "1", "memory": "2Gi"}))
    found = changes(resources_of(before.spec), resources_of(after.spec))
    assert [(each.requirement, each.resource, each.operation) for each in found] == [
        ("limits", "cpu", "decrease"),
        ("limits", "memory", "add"),
        ("requests", "cpu", "increase"),
        ("requests", "memory", "remove"),
    ]
    assert list(changes(resources_of(before.spec), resources_of(before.spec))) == []
