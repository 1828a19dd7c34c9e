"""The book of devices: wishes of plugins, and devices that containers use one after the other."""

from __future__ import annotations

import pytest

from actors.model.devices import DeviceBook, HeldDevices, Offer, PodDevices
from actors.resources.devices.book import choice_of, left_before, with_pod, with_setup, with_wish, without_pod
from actors.resources.devices.health import UNLISTED, sick_devices
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device, DeviceSetup

GPU = "vendor.example/gpu"
OFFER = Offer(tuple(Device(f"gpu-{number}", nodes=(number // 3,)) for number in range(6)))


def held(*numbers: int) -> FrozenMap[str, HeldDevices]:
    return FrozenMap({GPU: HeldDevices(tuple(OFFER.devices[number] for number in numbers))})


def pod(**containers: FrozenMap[str, HeldDevices]) -> PodDevices:
    return FrozenMap(containers)


def ids(book: DeviceBook, uid: str = "a") -> dict[str, tuple[str, ...]]:
    return {name: resources[GPU].ids for name, resources in book[uid].items()}


def book_of(**pods: PodDevices) -> DeviceBook:
    return FrozenMap(pods)


@pytest.mark.parametrize(
    ("wish", "any_node", "gets"),
    [
        (("gpu-2",), False, ("gpu-2",)),
        (("gpu-5",), False, ("gpu-0",)),  # near another node
        (("gpu-5",), True, ("gpu-5",)),
        (("gpu-1",), True, ("gpu-0",)),  # another pod has it
        (("gpu-2", "gpu-5"), True, ("gpu-0",)),  # too many
        (("gpu-9",), True, ("gpu-0",)),
        ((), True, ("gpu-0",)),
    ],
)
def test_a_wish_counts_where_it_breaks_no_rule(wish: tuple[str, ...], any_node: bool, gets: tuple[str, ...]) -> None:
    book = book_of(a=pod(main=held(0)), b=pod(main=held(1)))
    assert ids(with_wish(book, OFFER, "a", "main", GPU, wish, any_node=any_node)) == {"main": gets}


def test_later_containers_follow_a_wish_for_devices_that_they_use_again() -> None:
    book = book_of(a=pod(init=held(0, 1), side=held(3), main=held(0, 4)))
    wished = with_wish(book, OFFER, "a", "init", GPU, ("gpu-1", "gpu-2"), any_node=True)
    assert ids(wished) == {"init": ("gpu-1", "gpu-2"), "side": ("gpu-3",), "main": ("gpu-2", "gpu-4")}
    assert left_before(wished["a"], "main", GPU) == {"gpu-2"}


def test_devices_of_init_containers_stay_whatever_the_plugin_wishes() -> None:
    book = book_of(a=pod(init=held(0), main=held(0, 1)))
    assert with_wish(book, OFFER, "a", "main", GPU, ("gpu-1", "gpu-2"), any_node=True) == book
    wished = with_wish(book, OFFER, "a", "main", GPU, ("gpu-0", "gpu-2"), any_node=True)
    assert ids(wished) == {"init": ("gpu-0",), "main": ("gpu-0", "gpu-2")}


@pytest.mark.parametrize(
    ("any_node", "choice"),
    [(False, ("gpu-0", "gpu-2")), (True, ("gpu-0", "gpu-2", "gpu-3", "gpu-4", "gpu-5"))],
)
def test_a_plugin_may_choose_among_free_devices(any_node: bool, choice: tuple[str, ...]) -> None:
    book = book_of(a=pod(main=held(0)), b=pod(main=held(1)))
    assert choice_of(book, OFFER, "a", "main", GPU, any_node=any_node) == choice


def test_a_pod_without_devices_is_not_in_the_book() -> None:
    book = book_of(b=pod(main=held(1)))
    assert with_pod(book, "a", FrozenMap()) == book
    assert without_pod(with_pod(book, "a", pod(main=held(0))), "a") == book


def test_what_a_plugin_has_said_is_kept_with_the_devices() -> None:
    setup = DeviceSetup(cdi=("vendor.example/gpu=0",))
    found = with_setup(pod(main=held(0), other=held(1)), "main", GPU, setup)
    assert (found["main"][GPU].setup, found["other"][GPU].setup) == (setup, None)


HAS = pod(main=held(0, 1))
BAD = Offer((Device("gpu-0", healthy=False),))


@pytest.mark.parametrize(
    ("offers", "troubles", "expected", "sick"),
    [
        ({GPU: OFFER}, {}, (), {}),
        ({GPU: BAD}, {}, (), {"gpu-0": "", "gpu-1": UNLISTED}),
        ({GPU: BAD}, {GPU: "killed"}, (), dict.fromkeys(("gpu-0", "gpu-1"), "its plugin has stopped: killed")),
        ({GPU: Offer(connected=False)}, {}, (GPU,), {}),  # it may yet come
        ({}, {}, (), {}),
    ],
)
def test_devices_are_sick_as_their_plugin_says(
    offers: dict[str, Offer], troubles: dict[str, str], expected: tuple[str, ...], sick: dict[str, str]
) -> None:
    assert dict(sick_devices(HAS, offers, troubles, expected).get(GPU, {})) == sick
