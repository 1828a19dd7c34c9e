"""How many devices the node has, and how many of them pods may have (spec 9.5, 10.11). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from actors.messages.devices import DeviceAmountsObserved
from actors.model.devices import Offer
from config.frozen_map import FrozenMap


def device_amounts(offers: Mapping[str, Offer], withdrawn: Iterable[str]) -> DeviceAmountsObserved:
    """All devices are capacity; pods may have the healthy ones.

    `withdrawn`: resources that had a plugin. They stay with an amount of zero, as with a kubelet.
    """
    gone = dict.fromkeys(withdrawn, 0)
    capacity = {name: len(offer.devices) for name, offer in offers.items()}
    healthy = {name: sum(each.healthy for each in offer.devices) for name, offer in offers.items()}
    return DeviceAmountsObserved(
        FrozenMap(sorted((gone | capacity).items())), FrozenMap(sorted((gone | healthy).items()))
    )
