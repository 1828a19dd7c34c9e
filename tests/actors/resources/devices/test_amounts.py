"""How many devices the node says that it has."""

from __future__ import annotations

from actors.messages.devices import DeviceAmountsObserved
from actors.model.devices import Offer
from actors.resources.devices.amounts import device_amounts
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device


def test_all_devices_are_capacity_and_the_healthy_ones_are_for_pods():
    offers = {"v.example/gpu": Offer((Device("a"), Device("b", healthy=False))), "v.example/nic": Offer()}
    assert device_amounts(offers, ["v.example/gone", "v.example/nic"]) == DeviceAmountsObserved(
        FrozenMap({"v.example/gone": 0, "v.example/gpu": 2, "v.example/nic": 0}),
        FrozenMap({"v.example/gone": 0, "v.example/gpu": 1, "v.example/nic": 0}),
    )
