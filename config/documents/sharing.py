"""Objects that share what they have in common.

Pods of one template differ in a few names. A pod that is decoded anew shares nothing with the others; a node with
thousands of them would keep thousands of equal texts.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

ITEMS_AT_MOST = 64
"""Items of a tuple that are compared one by one. A longer one is shared as a whole, or not at all.

Whoever shares serves all pods, and one pod may have 30,000 variables. Two such pods are hardly of one template.
"""


def shared(now: T, other: T) -> T:
    """An object equal to `now`, with the parts of `other` that are equal to its own.

    Parts are the fields of structs, and the items of short tuples of one length; anything else is shared as a whole.
    """
    if type(now) is not type(other):
        return now
    if now == other:
        return other
    if isinstance(now, msgspec.Struct):
        names = now.__struct_fields__
        parts = _parts([getattr(now, name) for name in names], [getattr(other, name) for name in names])
        return msgspec.structs.replace(now, **dict(zip(names, parts, strict=True)))
    if isinstance(now, tuple) and isinstance(other, tuple) and len(now) == len(other) <= ITEMS_AT_MOST:
        return cast(T, tuple(_parts(now, other)))
    return now


def _parts(now: Any, other: Any) -> list[Any]:
    return [mine if mine is its else shared(mine, its) for mine, its in zip(now, other, strict=True)]
