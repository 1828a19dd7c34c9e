"""Finds devices for all claims of a pod on one node. Pure.

Requests are met in their order, each with the first alternative that works. An alternative takes the first devices that
fit, in the order of pools and slices. When a later request fails, earlier ones take others. The number of tries is
limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from config.pods.node_selection import tolerated
from config.values.quantity import ZERO
from simulation.allocation.offered import Device, DeviceId, Pool
from simulation.allocation.selectors import Selectors
from simulation.allocation.shares import Consumed, counters_left, fits_beside, share_of
from simulation.allocation.wanted import Alternative, Constraint, UnmetError, WantedClaim

TRIES_AT_MOST = 20_000
RESULTS_AT_MOST = 32
"""Devices of a claim."""
DEVICES_OF_A_POD_AT_MOST = 256


class InUse(msgspec.Struct, frozen=True):
    """What other claims have. `whole`: devices that nobody else gets; `shares`: of shared devices."""

    whole: Set[DeviceId] = frozenset()
    shares: Mapping[DeviceId, Consumed] = {}


class Given(msgspec.Struct, frozen=True):
    """A device for a request.

    `claim`: the place of the claim among those wanted. `share`: of a shared device.
    """

    claim: int
    request: Alternative
    device: Device
    share: Consumed


def allocate(
    claims: Sequence[WantedClaim], pools: Sequence[Pool], in_use: InUse, selectors: Selectors
) -> tuple[Given, ...] | None:
    """A device for each request of these claims; None if they do not fit. Raises UnmetError."""
    for claim in claims:
        _check_size(claim)
    search = _Search(claims, pools, in_use, selectors)
    return tuple(search.given) if search.meets_all() else None


def _check_size(claim: WantedClaim) -> None:
    least = sum(min((each.count or 1 for each in request.alternatives), default=0) for request in claim.requests)
    if least > RESULTS_AT_MOST:
        raise UnmetError(
            f"claim {claim.key}: number of requested devices at least {least} exceeds the claim limit of "
            f"{RESULTS_AT_MOST} devices"
        )


class _Search:
    """`given`: so far."""

    def __init__(
        self, claims: Sequence[WantedClaim], pools: Sequence[Pool], in_use: InUse, selectors: Selectors
    ) -> None:
        self._claims = claims
        self._pools = pools
        self._in_use = in_use
        self._selectors = selectors
        self._requests = [(number, request) for number, claim in enumerate(claims) for request in claim.requests]
        self._candidates: dict[tuple[int, str], list[Device]] = {}
        self._pool_of = {device.id: pool for pool in pools for device in pool.devices}
        self._tries = 0
        self.given: list[Given] = []

    def meets_all(self, place: int = 0) -> bool:
        """Meet the requests from that place on."""
        if place == len(self._requests):
            return True
        number, request = self._requests[place]
        return any(self._meets(number, alternative, place) for alternative in request.alternatives)

    def _meets(self, number: int, wanted: Alternative, place: int) -> bool:
        devices = self._selected(number, wanted)
        if wanted.count is None:
            return bool(devices) and self._takes_all(number, wanted, devices, place)
        return self._takes(number, wanted, devices, wanted.count, 0, place)

    def _takes(
        self, number: int, wanted: Alternative, devices: list[Device], count: int, first: int, place: int
    ) -> bool:
        """Take so many more of the devices from `first` on, and meet all other requests."""
        if count == 0:
            return self.meets_all(place + 1)
        for position in range(first, len(devices) - count + 1):
            if self._take(number, wanted, devices[position]):
                if self._takes(number, wanted, devices, count - 1, position + 1, place):
                    return True
                self.given.pop()
        return False

    def _takes_all(self, number: int, wanted: Alternative, devices: list[Device], place: int) -> bool:
        before = len(self.given)
        if all(self._take(number, wanted, device) for device in devices) and self.meets_all(place + 1):
            return True
        del self.given[before:]
        return False

    def _selected(self, number: int, wanted: Alternative) -> list[Device]:
        """What an alternative may take, whether it is in use or not."""
        key = (number, wanted.name)
        if key not in self._candidates:
            self._candidates[key] = self._usable(self._claims[number], wanted)
        return self._candidates[key]

    def _usable(self, claim: WantedClaim, wanted: Alternative) -> list[Device]:
        found: list[Device] = []
        for pool in self._pools:
            selected = self._selectors.selected(wanted.selectors, pool.devices)
            selected = [each for each in selected if all(tolerated(taint, wanted.tolerations) for taint in each.taints)]
            if selected and pool.fault:
                raise UnmetError(f"pool {pool} is invalid: {pool.fault}")
            if selected and pool.incomplete and wanted.count is None:
                raise UnmetError(
                    f"claim {claim.key}, request {wanted.name}: asks for all devices, but resource pool {pool} "
                    "is currently being updated"
                )
            found += () if pool.incomplete else selected
        return found

    def _take(self, number: int, wanted: Alternative, device: Device) -> bool:
        """Give the device, if it is free and all constraints hold."""
        self._tries += 1
        if self._tries > TRIES_AT_MOST or len(self.given) >= DEVICES_OF_A_POD_AT_MOST:
            raise UnmetError("timed out trying to allocate devices: there are too many ways to choose them")
        if sum(each.claim == number for each in self.given) >= RESULTS_AT_MOST:
            return False
        share = share_of(device, wanted.asks)
        if share is None or not (wanted.admin or self._is_free(device, share)):
            return False
        given = Given(number, wanted, device, {} if wanted.admin else share)
        if not all(self._holds(constraint, given) for constraint in self._claims[number].constraints):
            return False
        self.given.append(given)
        return True

    def _is_free(self, device: Device, share: Consumed) -> bool:
        beside = [each.share for each in self.given if each.device.id == device.id and not each.request.admin]
        if device.shared:
            taken = dict(self._in_use.shares.get(device.id, {}))
            for one in beside:
                taken = {name: taken.get(name, ZERO) + one.get(name, ZERO) for name in {**taken, **one}}
            return fits_beside(device, share, taken) and self._has_counters(device)
        return not beside and device.id not in self._in_use.whole and self._has_counters(device)

    def _has_counters(self, device: Device) -> bool:
        pool = self._pool_of[device.id]
        if device.id.device not in pool.consumers:
            return True
        taken = {device.id, *(each.device.id for each in self.given if not each.request.admin)}
        taken |= {*self._in_use.whole, *self._in_use.shares}
        return counters_left(pool, (each.device for each in sorted(taken) if each[:2] == device.id[:2]))

    def _holds(self, constraint: Constraint, given: Given) -> bool:
        if not constraint.concerns(given.request.name):
            return True
        value = given.device.attributes.get(constraint.attribute)
        if value is None:
            return False
        others = (each.device.attributes[constraint.attribute] for each in self._concerned(constraint, given.claim))
        return all((other != value) == constraint.differ for other in others)

    def _concerned(self, constraint: Constraint, number: int) -> Iterator[Given]:
        for each in self.given:
            if each.claim == number and constraint.concerns(each.request.name):
                yield each
