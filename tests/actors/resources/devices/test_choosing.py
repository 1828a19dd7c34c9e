"""Which devices a pod gets: from whom, in which order, near what, and the words of refusals."""

from __future__ import annotations

import pytest

from actors.model.devices import NO_DEVICES, DeviceBook, HeldDevices, Offer
from actors.resources.devices.choosing import DeviceSearch, preferred
from actors.resources.devices.near import by_distance, device_hints
from actors.resources.devices.wanted import plugins_of
from actors.resources.topology.masks import NodeMask
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Container, ObjectMeta, Pod, PodSpec, ResourceRequirements
from runtime.device_plugins.capability import Device

GPU, NIC = "vendor.example/gpu", "vendor.example/nic"
FOUR = Offer(tuple(Device(f"gpu-{n}", nodes=(n // 2,)) for n in range(4)))


def wants(name: str, *, sidecar: bool = False, **amounts: int) -> Container:
    limits = {f"vendor.example/{resource}": str(amount) for resource, amount in amounts.items()}
    policy = "Always" if sidecar else None
    return Container(name=name, restart_policy=policy, resources=ResourceRequirements(limits=limits, requests=limits))


def pod(*containers: Container, inits: tuple[Container, ...] = ()) -> Pod:
    meta = ObjectMeta(name="p", namespace="default", uid="u")
    return Pod(metadata=meta, spec=PodSpec(containers=containers, init_containers=inits))


def given(
    asked: Pod, offers: dict[str, Offer], book: DeviceBook = NO_DEVICES, mask: NodeMask | None = None
) -> dict[str, dict[str, tuple[str, ...]]] | Rejected:
    """Container -> resource -> IDs, or the refusal."""
    search = DeviceSearch(offers, book, asked)
    for name in search.containers:
        refused = search.take(name, mask)
        if refused is not None:
            return refused
    return {
        name: {resource.partition("/")[2]: held.ids for resource, held in resources.items()}
        for name, resources in search.found().items()
    }


def held(*ids: str, resource: str = GPU) -> DeviceBook:
    devices = tuple(Device(each) for each in ids)
    return FrozenMap({"other": FrozenMap({"c": FrozenMap({resource: HeldDevices(devices)})})})


def test_containers_get_different_devices():
    found = given(pod(wants("a", gpu=2), wants("b", gpu=1)), {GPU: FOUR})
    assert found == {"a": {"gpu": ("gpu-0", "gpu-1")}, "b": {"gpu": ("gpu-2",)}}


def test_a_device_that_was_decided_on_and_not_yet_told_is_nobody_elses():
    """kubernetes/kubernetes#137534: the plugin of another pod has not answered yet."""
    found = given(pod(wants("a", gpu=2)), {GPU: FOUR}, held("gpu-0", "gpu-1"))
    assert found == {"a": {"gpu": ("gpu-2", "gpu-3")}}


def test_devices_of_init_containers_are_used_again():
    asked = pod(wants("main", gpu=3), inits=(wants("first", gpu=2), wants("second", gpu=3)))
    assert given(asked, {GPU: Offer(FOUR.devices[:3])}) == {
        "first": {"gpu": ("gpu-0", "gpu-1")},
        "second": {"gpu": ("gpu-0", "gpu-1", "gpu-2")},
        "main": {"gpu": ("gpu-0", "gpu-1", "gpu-2")},
    }


def test_devices_of_a_sidecar_stay_its_own():
    asked = pod(wants("main", gpu=2), inits=(wants("init", gpu=2), wants("side", gpu=1, sidecar=True)))
    assert given(asked, {GPU: FOUR}) == {
        "init": {"gpu": ("gpu-0", "gpu-1")},
        "side": {"gpu": ("gpu-0",)},
        "main": {"gpu": ("gpu-1", "gpu-2")},
    }


def test_two_resources_do_not_mix():
    offers = {GPU: FOUR, NIC: Offer((Device("gpu-0"),))}
    assert given(pod(wants("a", gpu=1, nic=1)), offers) == {"a": {"gpu": ("gpu-0",), "nic": ("gpu-0",)}}


@pytest.mark.parametrize(
    ("offer", "amount", "why"),
    [
        (FOUR, 5, f"requested number of devices unavailable for {GPU}. Requested: 5, Available: 4"),
        (Offer(), 1, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        (Offer((Device("a", False),)), 1, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        (
            Offer(FOUR.devices, connected=False),
            1,
            f"no healthy devices present; cannot allocate unhealthy devices {GPU}",
        ),
        (
            Offer((Device("a", False), Device("b"))),
            2,
            f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1",
        ),
    ],
)
def test_a_refusal_has_the_words_of_a_kubelet(offer: Offer, amount: int, why: str):
    refused = given(pod(wants("a", gpu=amount)), {GPU: offer})
    assert refused == Rejected("UnexpectedAdmissionError", f"Allocate failed due to {why}, which is unexpected")


def test_devices_near_the_chosen_nodes_come_first():
    offer = Offer((*FOUR.devices, Device("gpu-x")))
    assert given(pod(wants("a", gpu=3)), {GPU: offer}, mask=0b10) == {"a": {"gpu": ("gpu-2", "gpu-3", "gpu-0")}}
    assert [[each.id for each in some] for some in by_distance(offer.devices, 0b10)] == [
        ["gpu-2", "gpu-3"],
        ["gpu-0", "gpu-1"],
        ["gpu-x"],
    ]


def test_resources_without_a_plugin_are_nobody_elses_business():
    asked = pod(wants("a", gpu=1, other=1))
    assert plugins_of(asked, {GPU, NIC}) == (GPU,)
    assert given(asked, {NIC: FOUR}) == {}


@pytest.mark.parametrize(
    ("free", "reusable", "wanted", "hints"),
    [
        ("0123", "", 1, {0b01: True, 0b10: True, 0b11: False}),
        ("0123", "", 3, {0b11: True}),
        ("023", "", 2, {0b10: True, 0b11: False}),  # node 0 would do, were gpu-1 free: so one node is the least
        ("02", "", 2, {0b11: False}),
        ("02", "", 3, {}),
        ("23", "0", 1, {0b01: True, 0b11: False}),
        ("23", "0", 2, {0b11: False}),
    ],
)
def test_hints_are_the_sets_of_nodes_that_can_meet_the_request(
    free: str, reusable: str, wanted: int, hints: dict[int, bool]
):
    frees, reused = ({f"gpu-{n}" for n in each} for each in (free, reusable))
    assert device_hints(FOUR.devices, frees, reused, wanted, (0, 1)) == hints


def test_devices_near_no_node_have_no_preference():
    assert device_hints((Device("a"), Device("b")), {"a"}, (), 1, (0, 1)) is None


def test_nodes_that_the_machine_does_not_have_count_for_nothing():
    devices = (Device("a", nodes=(0,)), Device("b", nodes=(9,)))
    assert device_hints(devices, {"a", "b"}, (), 1, (0, 1)) == {0b01: True}


@pytest.mark.parametrize(
    ("wish", "got"),
    [
        (("gpu-1", "gpu-3"), ("gpu-1", "gpu-3")),
        (("gpu-1",), ("gpu-0", "gpu-2")),  # too few
        (("gpu-1", "gpu-1"), ("gpu-0", "gpu-2")),
        (("gpu-0", "gpu-1"), ("gpu-0", "gpu-2")),  # both near one node
        (("gpu-1", "gpu-9"), ("gpu-0", "gpu-2")),  # not there
        (("gpu-1", "gpu-4"), ("gpu-0", "gpu-2")),  # taken
        (("gpu-1", "gpu-5"), ("gpu-0", "gpu-2")),  # not healthy
    ],
)
def test_a_wish_counts_only_if_it_can_be_met(wish: tuple[str, ...], got: tuple[str, ...]):
    more = (Device("gpu-4", nodes=(1,)), Device("gpu-5", healthy=False, nodes=(1,)))
    offer = Offer((*FOUR.devices, *more))
    now = HeldDevices((FOUR.devices[0], FOUR.devices[2]))
    assert preferred(offer, {"gpu-0", "gpu-2", "gpu-4"}, now, (), wish).ids == got


def test_a_wish_keeps_what_init_containers_left():
    now = HeldDevices(FOUR.devices[:2])
    offer = Offer(tuple(Device(each.id) for each in FOUR.devices))
    same_place = HeldDevices(tuple(Device(each.id) for each in now.devices))
    assert preferred(offer, (), same_place, ("gpu-0",), ("gpu-2", "gpu-3")).ids == ("gpu-0", "gpu-1")
    assert preferred(offer, (), same_place, ("gpu-0",), ("gpu-3", "gpu-0")).ids == ("gpu-3", "gpu-0")
