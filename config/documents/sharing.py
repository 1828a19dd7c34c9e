"""Objects that share what they have in common.

Pods of one template differ in a few names. A pod that is decoded anew shares nothing with the others; a node with
thousands of them would keep thousands of equal texts.
"""

from __future__ import annotations

from itertools import compress
from operator import is_, is_not
from typing import TypeVar, cast

import msgspec

T = TypeVar("T")

ITEMS_AT_MOST = 64
"""Items of a tuple that are compared one by one. A longer one is shared as a whole, or not at all.

Whoever shares serves all pods, and one pod may have 30,000 variables. Two such pods are hardly of one template.
"""


def shared(now: T, other: T) -> T:
    """An object equal to `now`, with the parts of `other` that are equal to its own.

    It is `now` itself if that has them already. Parts are the fields of structs, and the items of short tuples of one
    length; anything else is shared as a whole.
    """
    if type(now) is not type(other):
        return now
    if now == other:
        return other
    if isinstance(now, msgspec.Struct) and isinstance(other, msgspec.Struct):
        mine, its = msgspec.structs.astuple(now), msgspec.structs.astuple(other)
        differing = compress(zip(now.__struct_fields__, mine, its, strict=True), map(is_not, mine, its))
        parts = {name: part for name, one, two in differing if (part := shared(one, two)) is not one}
        return msgspec.structs.replace(now, **parts) if parts else now
    if isinstance(now, tuple) and isinstance(other, tuple) and len(now) == len(other) <= ITEMS_AT_MOST:
        items = tuple([one if one is two else shared(one, two) for one, two in zip(now, other, strict=True)])
        return now if all(map(is_, items, now)) else cast(T, items)
    return now
