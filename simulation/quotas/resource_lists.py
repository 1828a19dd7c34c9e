"""Resource lists, as in requests and limits: amounts by the name of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from config.values.quantity import Quantity, QuantityError, parse_quantity

Amounts: TypeAlias = dict[str, Quantity]


def read(texts: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a list. What is no quantity counts as absent: validation refuses it."""
    amounts: Amounts = {}
    for name, text in (texts or {}).items():
        try:
            amounts[name] = parse_quantity(str(text))
        except QuantityError:
            continue
    return amounts


def texts_of(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """The amounts as an object has them."""
    return {name: str(amount) for name, amount in amounts.items()}


def added(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> Amounts:
    """The sum of both."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def greater(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> Amounts:
    """The larger amount of each resource."""
    total = dict(one)
    for name, amount in other.items():
        if name not in total or amount > total[name]:
            total[name] = amount
    return total
