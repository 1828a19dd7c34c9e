"""What is written into the status of a claim, and read from it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from config.values.quantity import ZERO, Quantity, QuantityError, parse_quantity
from simulation.allocation.offered import DeviceId
from simulation.allocation.search import Given, InUse
from simulation.allocation.shares import Consumed

Json = Mapping[str, Any]


def allocation(
    given: Iterable[Given], spec: Json, classes: Mapping[str, Json], node: str, new_uid: Callable[[], str]
) -> dict[str, Any]:
    """`status.allocation` of a claim of that spec.

    `given`: to this claim, on that node. `new_uid`: names shares.
    """
    own = tuple(given)
    devices: dict[str, Any] = {"results": [_result(each, new_uid) for each in own]}
    config = [*_of_classes(own, classes), *_of_claim(own, spec)]
    if config:
        devices["config"] = config
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"devices": devices, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def _result(given: Given, new_uid: Callable[[], str]) -> dict[str, Any]:
    driver, pool, device = given.device.id
    result: dict[str, Any] = {"request": given.request.name, "driver": driver, "pool": pool, "device": device}
    if given.request.admin:
        result["adminAccess"] = True
    if given.request.written_tolerations:
        result["tolerations"] = list(given.request.written_tolerations)
    if given.device.shared:
        result["shareID"] = new_uid()
        if given.share:
            result["consumedCapacity"] = {name: str(amount) for name, amount in given.share.items()}
    return result


def _of_classes(given: Iterable[Given], classes: Mapping[str, Json]) -> Iterator[dict[str, Any]]:
    requests = {each.request.name: each.request.class_name for each in given}
    for request, name in requests.items():
        for each in (classes[name].get("spec") or {}).get("config") or ():
            yield {"source": "FromClass", "requests": [request], **each}


def _of_claim(given: Iterable[Given], spec: Json) -> Iterator[dict[str, Any]]:
    met = {each.request.name for each in given}
    met |= {name.partition("/")[0] for name in met}
    for each in (spec.get("devices") or {}).get("config") or ():
        requests = each.get("requests") or ()
        if not requests or met & set(requests):
            yield {"source": "FromClaim", **each}


def in_use(claims: Iterable[Json]) -> InUse:
    """What these claims have, those with admin access aside."""
    whole: set[DeviceId] = set()
    shares: dict[DeviceId, Consumed] = {}
    for claim in claims:
        for result in results_of(claim):
            if result.get("adminAccess"):
                continue
            name = DeviceId(result["driver"], result["pool"], result["device"])
            if result.get("shareID"):
                before = shares.get(name, {})
                more = {key: _read(text) for key, text in (result.get("consumedCapacity") or {}).items()}
                shares[name] = {key: before.get(key, ZERO) + more.get(key, ZERO) for key in {**before, **more}}
            else:
                whole.add(name)
    return InUse(whole, shares)


def results_of(claim: Json) -> tuple[Json, ...]:
    """The devices that a claim has; none without an allocation."""
    given = (claim.get("status") or {}).get("allocation") or {}
    return tuple((given.get("devices") or {}).get("results") or ())


def _read(text: Any) -> Quantity:
    try:
        return parse_quantity(str(text))
    except QuantityError:
        return ZERO
