"""How much of a shared device a request takes, and of a pool's counters a device. Pure.

See KEP-5075 and KEP-4815.

A device that may be given several times has capacities. A request asks for amounts of them; the policy of a capacity
rounds an amount up. Without an amount and a policy the request takes all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from config.values.quantity import ZERO, Quantity, QuantityError, parse_quantity
from simulation.allocation.offered import Capacity, Device, Pool, qualified

Json = Mapping[str, Any]
Consumed = Mapping[str, Quantity]
"""Capacity -> the amount that is taken."""


def share_of(device: Device, asks: Mapping[str, Quantity]) -> Consumed | None:
    """What a request with these amounts takes of a device; None if the device cannot give that.

    A device that is not shared is given whole, and has to be large enough.
    """
    wanted = {qualified(name, device.id.driver): amount for name, amount in asks.items()}
    if not wanted.keys() <= device.capacity.keys():
        return None
    taken: dict[str, Quantity] = {}
    for name, capacity in device.capacity.items():
        amount = _rounded(capacity, wanted.get(name))
        if amount is None or amount > capacity.value:
            return None
        taken[name] = amount
    return taken if device.shared else {}


def _rounded(capacity: Capacity, wanted: Quantity | None) -> Quantity | None:
    """The amount that counts; None if the policy allows none as large as wanted."""
    policy = capacity.policy
    if wanted is None:
        return _read(policy.get("default")) or capacity.value
    valid = [each for each in map(_read, policy.get("validValues") or ()) if each is not None]
    if valid:
        return min((each for each in valid if each >= wanted), default=None)
    limits = policy.get("validRange")
    if limits is None:
        return wanted
    least, most, step = (_read(limits.get(name)) for name in ("min", "max", "step"))
    least = least or ZERO
    amount = max(wanted, least)
    if step is not None and step.nanos > 0:
        steps = -(-(amount.nanos - least.nanos) // step.nanos)
        amount = Quantity(least.nanos + steps * step.nanos, amount.suffixes)
    return None if most is not None and amount > most else amount


def _read(text: Any) -> Quantity | None:
    try:
        return None if text is None else parse_quantity(str(text))
    except QuantityError:
        return None


def fits_beside(device: Device, share: Consumed, taken: Consumed) -> bool:
    """Whether the device has that share left. `taken`: what others have of it."""
    return all(
        amount.nanos + taken.get(name, ZERO).nanos <= device.capacity[name].value.nanos
        for name, amount in share.items()
    )


def counters_left(pool: Pool, devices: Iterable[str]) -> bool:
    """Whether the pool has counters for these of its devices together."""
    used: Counter[tuple[str, str]] = Counter()
    for device in devices:
        used.update(pool.consumers.get(device, {}))
    return all(amount <= pool.counters.get(counter, 0) for counter, amount in used.items())
