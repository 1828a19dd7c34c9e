"""Strategic merge patches with no null and no directive in them, as nearly all are: they are put over the document.

Owns applying one where every list that is merged by a key has maps with keys alone, none of them twice. Everything else
is left to `config.patches.strategic` (`UnusualError`), which knows what is wrong with it and says where. The document
is the same either way, and most of the looking is spared here. Neither input ever changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

from config.patches.strategic_schema import NO_RULE, FieldRule, Schema

_KEYS = frozenset({str, int, float, bool})
_NESTED = frozenset({dict, list})
"""What has parts, of all that JSON is read as."""


class UnusualError(Exception):
    """A list is not as nearly all are."""


def is_bare(text: bytes) -> bool:
    """Whether it can be seen from its JSON that a patch has no null and no directive, as nearly all have none. One with
    such words in a value, or with letters that are spelled out, is looked through.
    """
    return b"null" not in text and b"$" not in text and b"\\u" not in text


def put_over(original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The document that a bare patch makes of `original`. Raises UnusualError."""
    result = {**original, **patch}
    if _NESTED.isdisjoint(map(type, patch.values())):
        return result
    for name, value in patch.items():
        if type(value) not in _NESTED:
            continue
        current, rule = original.get(name), schema.get(name, NO_RULE)
        if type(value) is list:
            if rule.merge:
                result[name] = _items_put_over(current, value, rule)
        elif type(current) is dict and not rule.replace:
            result[name] = put_over(current, value, rule.schema)
    return result


def _items_put_over(current: Any, patch: list[Any], rule: FieldRule) -> list[Any]:
    """A list by key with the patch's items merged into it, in the order of the patch."""
    if rule.key is None:
        raise UnusualError
    key_of = itemgetter(rule.key)
    before = current if type(current) is list else []
    try:
        ours = dict(zip(map(key_of, patch), patch, strict=True))
        places = dict(zip(map(key_of, before), range(len(before)), strict=True)) if before else {}
    except (KeyError, TypeError):
        raise UnusualError from None
    if len(ours) < len(patch) or not _KEYS.issuperset(map(type, ours)):
        raise UnusualError
    if not before:
        return patch
    if len(places) < len(before) or not _KEYS.issuperset(map(type, places)):
        raise UnusualError
    # Those that the patch does not name come before what stood behind them, otherwise as late as they can.
    others = [place for name, place in places.items() if name not in ours]
    others.reverse()
    plain = _NESTED.isdisjoint(map(type, chain.from_iterable(map(dict.values, patch))))
    result: list[Any] = []
    for name, item in ours.items():
        place = places.get(name)
        if place is None:
            result.append(item)
            continue
        while others and others[-1] < place:
            result.append(before[others.pop()])
        mine = before[place]
        result.append({**mine, **item} if plain else put_over(mine, item, rule.schema))
    while others:
        result.append(before[others.pop()])
    return result
