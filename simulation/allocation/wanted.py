"""What claims want: their requests, with the classes that these name. Pure.

A request has alternatives in the order of preference; most have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from config.objects import Toleration
from config.values.quantity import Quantity, QuantityError, parse_quantity

Json = Mapping[str, Any]
ALL, EXACT = "All", "ExactCount"


class UnmetError(Exception):
    """Claims that no node can meet; the text says why, in a scheduler's words."""


class Selector(msgspec.Struct, frozen=True):
    """A rule in CEL. `where`: how errors name it."""

    expression: str
    where: str


class Alternative(msgspec.Struct, frozen=True):
    """One way to meet a request.

    `name`: as results and constraints name it, "request/sub" for one of several.
    `count`: how many devices; None: all that are selected. `asks`: of capacities, by their names.
    """

    name: str
    count: int | None
    selectors: tuple[Selector, ...]
    admin: bool
    tolerations: tuple[Toleration, ...]
    written_tolerations: tuple[Json, ...]
    asks: Mapping[str, Quantity]
    class_name: str


class Request(msgspec.Struct, frozen=True):
    """A request of a claim, and its alternatives."""

    name: str
    alternatives: tuple[Alternative, ...]


class Constraint(msgspec.Struct, frozen=True):
    """Devices of these requests (all, if none is named) agree in an attribute, or differ in it."""

    requests: frozenset[str]
    attribute: str
    differ: bool

    def concerns(self, name: str) -> bool:
        """Whether it is about the alternative of that name."""
        return not self.requests or name in self.requests or name.partition("/")[0] in self.requests


class WantedClaim(msgspec.Struct, frozen=True):
    """A claim without devices. `key`: namespace/name."""

    key: str
    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]


def wanted(key: str, spec: Json, classes: Mapping[str, Json]) -> WantedClaim:
    """What a claim of that spec wants. `classes`: DeviceClasses by name. Raises UnmetError."""
    devices = spec.get("devices") or {}
    return WantedClaim(
        key,
        tuple(
            Request(str(each["name"]), tuple(_alternatives(key, each, classes)))
            for each in devices.get("requests") or ()
        ),
        tuple(_constraint(each) for each in devices.get("constraints") or ()),
    )


def _constraint(written: Json) -> Constraint:
    names = frozenset(map(str, written.get("requests") or ()))
    match = written.get("matchAttribute")
    return Constraint(names, str(match or written.get("distinctAttribute") or ""), match is None)


def _alternatives(key: str, request: Json, classes: Mapping[str, Json]) -> Iterator[Alternative]:
    name = str(request["name"])
    exactly = request.get("exactly")
    if exactly is not None:
        yield _alternative(key, name, exactly, classes)
    for sub in request.get("firstAvailable") or ():
        yield _alternative(key, f"{name}/{sub['name']}", sub, classes)


def _alternative(key: str, name: str, written: Json, classes: Mapping[str, Json]) -> Alternative:
    class_name = str(written.get("deviceClassName") or "")
    found = classes.get(class_name)
    if found is None:
        raise UnmetError(f"request {name}: device class {class_name} does not exist")
    rules = [(f"class {class_name}", each) for each in (found.get("spec") or {}).get("selectors") or ()]
    rules += [(f"claim {key}, request {name}", each) for each in written.get("selectors") or ()]
    tolerations = tuple(written.get("tolerations") or ())
    return Alternative(
        name,
        None if written.get("allocationMode") == ALL else int(written.get("count") or 1),
        tuple(
            Selector(str((rule.get("cel") or {}).get("expression") or ""), f"{where}: selector #{number}")
            for where, rules_of in _by_place(rules)
            for number, rule in enumerate(rules_of)
        ),
        bool(written.get("adminAccess")),
        tuple(
            Toleration(
                key=each.get("key"), operator=each.get("operator"), value=each.get("value"), effect=each.get("effect")
            )
            for each in tolerations
        ),
        tolerations,
        _asks(name, (written.get("capacity") or {}).get("requests") or {}),
        class_name,
    )


def _by_place(rules: list[tuple[str, Json]]) -> Iterator[tuple[str, list[Json]]]:
    """The rules of each place, the class first."""
    places: dict[str, list[Json]] = {}
    for where, rule in rules:
        places.setdefault(where, []).append(rule)
    yield from places.items()


def _asks(name: str, written: Mapping[str, Any]) -> Mapping[str, Quantity]:
    try:
        return {str(each): parse_quantity(str(text)) for each, text in written.items()}
    except QuantityError as error:
        raise UnmetError(f"request {name}: {error}") from None
