"""Strategic merge patches: merge patches that know which lists are maps by a key, or sets.

Owns applying one (`apply_strategic`) and making one from two documents (`make_strategic`), in the dialect of the API
server. In a patch, such a list has only the items that change. A patch may also have directives:

- `$patch: delete` or `replace` in a map or a list item: remove it, or take the rest of it as the whole value;
- `$setElementOrder/<field>`: the items of the list in their order, those of a map as their keys alone;
- `$deleteFromPrimitiveList/<field>`: values to remove from a list of plain values;
- `$retainKeys`: the fields of this map that remain.

Documents are parsed JSON: dict, list, str, int, float, bool and None. Inputs never change, and results share their
unchanged parts with them. Failures are `PatchError`. A `Schema` has the rules of each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from config.patches.errors import PatchError
from config.patches.strategic_schema import NO_RULE, PLAIN, FieldRule, Schema

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"
_LISTS = (_ORDER, _DELETE)
_NO_LISTS: Mapping[str, list[Any]] = {}
_ABSENT = object()
_NESTED = frozenset({dict, list})
"""The JSON types that contain others."""


def apply_strategic(original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema = PLAIN) -> dict[str, Any]:
    """Apply `patch` to `original`. Raises PatchError."""
    return _merge_map(original, patch, schema, "$")


def make_strategic(original: Mapping[str, Any], modified: Mapping[str, Any], schema: Schema = PLAIN) -> dict[str, Any]:
    """A patch that turns `original` into `modified`; empty when they are equal. Raises PatchError.

    It keeps the changes that others made meanwhile to other fields or other items.
    """
    return _map_difference(original, modified, schema, False, "$")


def _merge_map(original: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
    if _PATCH in patch:
        return _directed_map(patch, path)
    directives = _directives_in(patch)
    lists = _lists_of_directives(directives, patch, path) if directives else _NO_LISTS
    result = _retained(original, patch, path) if _RETAIN in patch else dict(original)
    for name, value in patch.items():
        kind = type(value)
        if kind not in _NESTED:
            if value is None:
                result.pop(name, None)
            else:
                result[name] = value
            continue
        if name in lists or name == _RETAIN:
            continue
        current = result.get(name)
        rule = schema.get(name, NO_RULE)
        if kind is dict:
            if type(current) is dict and not rule.replace:
                result[name] = _merge_map(current, value, rule.schema, f"{path}.{name}")
            elif _PATCH in value and not rule.replace:
                # As on the API server, a directive about a missing field has no effect.
                result.pop(name, None)
            else:
                result[name] = _plain(value)
        elif rule.merge:
            before = current if type(current) is list else None
            result[name] = _merge_list(before, value, rule, lists.get(_ORDER + name), f"{path}.{name}")
        else:
            result[name] = _plain(value)
    for directive, items in lists.items():
        prefix, _, name = directive.partition("/")
        current = result.get(name)
        if not isinstance(current, list):
            continue
        if prefix == _DELETE[:-1]:
            result[name] = [item for item in current if item not in items]
        elif name not in patch:
            result[name] = _merge_list(current, [], schema.get(name, NO_RULE), items, f"{path}.{name}")
    return result


def _directives_in(patch: Mapping[str, Any]) -> Sequence[str]:
    """The names that begin with a dollar. They are rare, and a dollar sorts before all letters."""
    return [name for name in patch if name[:1] == "$"] if patch and min(patch) < "%" else ()


def _directed_map(patch: Mapping[str, Any], path: str) -> dict[str, Any]:
    directive = patch[_PATCH]
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: _plain(value) for name, value in patch.items() if name != _PATCH and value is not None}
    raise PatchError(path, f"$patch {directive!r} is not known", "use delete or replace; to merge, say nothing")


def _lists_of_directives(names: Iterable[str], patch: Mapping[str, Any], path: str) -> dict[str, list[Any]]:
    """The directives about lists, by the name of their list."""
    lists = {name: patch[name] for name in names if name.startswith(_LISTS)}
    for name, value in lists.items():
        if not isinstance(value, list):
            raise PatchError(f"{path}.{name}", "must be a list", malformed=True)
    return lists


def _retained(original: Mapping[str, Any], patch: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The map after `$retainKeys`. The patch may not set fields that it does not retain."""
    names = patch[_RETAIN]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PatchError(f"{path}.{_RETAIN}", "must be a list of names of fields", malformed=True)
    for name, value in patch.items():
        if name not in names and name != _RETAIN and value is not None and not name.startswith(_LISTS):
            reason = f"the patch sets {name}, which is not in it"
            raise PatchError(f"{path}.{_RETAIN}", reason, "name every field that remains", malformed=True)
    return {name: value for name, value in original.items() if name in names}


def _merge_list(
    current: list[Any] | None,
    patch: list[Any],
    rule: FieldRule,
    order: list[Any] | None,
    path: str,
) -> list[Any]:
    """Merge the patch's items into a list by key or a set.

    `order` gives the order of the result, else the patch does.
    """
    _check_items((current or [], patch, order or []), patch, rule, path)
    if rule.key is None:
        wanted = _positions(order or patch)
        if order and current is not None:
            _check_order(patch, wanted, path)
        found = list(dict.fromkeys([*(current or ()), *patch])) if patch else list(current or ())
        return _woven(found, found, wanted, _positions(current or ()))
    deleted, replace, fresh = _sorted_out(patch, rule.key, path)
    before = _without(current or [], rule.key, deleted)
    if replace:
        before, fresh = fresh, []
    wanted = _positions([item[rule.key] for item in order or fresh])
    result = [_plain(item) for item in before] if replace else list(before)
    keys = [item[rule.key] for item in result]
    index = _positions(keys)
    server = dict(index)
    # As on the API server, added items take the places of deleted ones.
    freed = len(current or ()) - len(before) if order else 0
    for item in fresh:
        key = item[rule.key]
        position = index.get(key)
        if position is None:
            index[key] = len(result)
            if freed > 0:
                server[key] = len(result)
                freed -= 1
            result.append(_plain(item))
            keys.append(key)
        else:
            merged = _merge_map(result[position], item, rule.schema, f"{path}[{rule.key}={key}]")
            result[position] = merged
    if order:
        _check_order([item[rule.key] for item in fresh], wanted, path)
    return _woven(result, keys, wanted, server)


def _sorted_out(patch: list[Any], key: str, path: str) -> tuple[set[Any], bool, list[Any]]:
    """The keys of the items to delete, whether the list is replaced, and the other items."""
    deleted: set[Any] = set()
    replace = False
    directed = [item for item in patch if _PATCH in item]
    if not directed:
        return deleted, replace, patch
    fresh: list[Any] = []
    for item in patch:
        match item.get(_PATCH):
            case None:
                fresh.append(item)
            case "delete":
                deleted.add(item[key])
            case "replace":
                replace = True
            case directive:
                raise PatchError(f"{path}[]", f"$patch {directive!r} is not known", "use delete or replace")
    return deleted, replace, fresh


def _without(items: list[Any], key: str, deleted: set[Any]) -> list[Any]:
    return [item for item in items if item[key] not in deleted] if deleted else items


def _check_items(lists: Iterable[list[Any]], patch: list[Any], rule: FieldRule, path: str) -> None:
    """Each item of a list by key must be a map with that key, each item of a set a plain value.

    Only in the patch an item may be a directive without a key.
    """
    kinds: set[type] = set()
    for items in lists:
        for position, item in enumerate(items):
            if rule.key is None:
                kinds.add(type(item))
                if isinstance(item, (dict, list)):
                    raise PatchError(f"{path}[{position}]", "must be a plain value", "the list is a set")
            elif not isinstance(item, dict):
                raise PatchError(f"{path}[{position}]", "must be a map", f"the list is merged by {rule.key}")
            elif items is patch and item.get(_PATCH) == "replace":
                continue
            elif not isinstance(item.get(rule.key), (str, int, float)):
                raise PatchError(f"{path}[{position}]", f"has no {rule.key}", "it is what the list is merged by")
    if len(kinds) > 1:
        raise PatchError(path, "the items are of several types", "use one")


def _check_order(keys: list[Any], wanted: Mapping[Any, int], path: str) -> None:
    """The items of the patch must appear in its `$setElementOrder`, in the same order."""
    last = -1
    for key in keys:
        position = wanted.get(key, -1)
        if position <= last:
            reason = f"the order of the patch does not match its $setElementOrder at {key!r}"
            raise PatchError(path, reason, "name every item of the patch there, in the same order", malformed=True)
        last = position


def _positions(keys: Sequence[Any]) -> dict[Any, int]:
    """The first position of each key."""
    positions = dict(zip(keys, range(len(keys)), strict=True))
    if len(positions) < len(keys):
        positions = {key: position for position, key in reversed(list(enumerate(keys)))}
    return positions


def _woven(items: list[Any], keys: list[Any], wanted: Mapping[Any, int], server: Mapping[Any, int]) -> list[Any]:
    """The items in their final order.

    Those in `wanted` keep its order; the others stay between them as on the server.

    An item that is not in `wanted` comes before a wanted one if it did so on the server, otherwise as late as possible.
    """
    places = list(map(wanted.get, keys))
    ours = [index for _, index in sorted((place, index) for index, place in enumerate(places) if place is not None)]
    if not ours:
        return items
    if len(ours) == len(items):
        return [items[index] for index in ours]
    others = [index for index, place in enumerate(places) if place is None]
    result: list[Any] = []
    waiting = 0
    for index in ours:
        before = server.get(keys[index], -1)
        while waiting < len(others) and server[keys[others[waiting]]] < before:
            result.append(items[others[waiting]])
            waiting += 1
        result.append(items[index])
    result.extend(items[index] for index in others[waiting:])
    return result


def _plain(value: Any) -> Any:
    """The value for a missing field: the patch itself, without nulls and directives."""
    if type(value) is list:
        return [
            _plain(item) if type(item) in _NESTED else item
            for item in value
            if not (type(item) is dict and _PATCH in item)
        ]
    if type(value) is not dict:
        return value
    plain = value
    if _directives_in(plain):
        plain = {name: part for name, part in plain.items() if not _directs(name)}
    if None in plain.values():
        plain = {name: part for name, part in plain.items() if part is not None}
    if _NESTED.isdisjoint(map(type, plain.values())):
        return plain
    return {
        name: _plain(part) if type(part) in _NESTED else part
        for name, part in plain.items()
        if not (type(part) is dict and _PATCH in part)
    }


def _directs(name: str) -> bool:
    return name == _RETAIN or name.startswith(_LISTS)


def _map_difference(
    original: Mapping[str, Any], modified: Mapping[str, Any], schema: Schema, retain_keys: bool, path: str
) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for name, after in modified.items():
        before = original.get(name, _ABSENT)
        if before is after or (before == after and type(before) is type(after)):
            continue
        rule = schema.get(name, NO_RULE)
        if isinstance(before, dict) and isinstance(after, dict) and not rule.replace:
            difference = _map_difference(before, after, rule.schema, rule.retain_keys, f"{path}.{name}")
            if difference:
                patch[name] = difference
        elif rule.merge and isinstance(before, list) and before and isinstance(after, list):
            _check_items((before, after), [], rule, f"{path}.{name}")
            if rule.key is None:
                _set_difference(patch, name, before, after)
            else:
                _list_difference(patch, name, before, after, rule, rule.key, path)
        else:
            patch[name] = after
    for name in original:
        if name not in modified:
            patch[name] = None
    if retain_keys and patch:
        patch[_RETAIN] = sorted(name for name, value in modified.items() if value is not None)
    return patch


def _set_difference(patch: dict[str, Any], name: str, before: list[Any], after: list[Any]) -> None:
    added = [item for item in after if item not in before]
    removed = [item for item in dict.fromkeys(before) if item not in after]
    if added:
        patch[name] = added
    if removed:
        patch[_DELETE + name] = removed
    if after:
        patch[_ORDER + name] = after


def _list_difference(
    patch: dict[str, Any], name: str, before: list[Any], after: list[Any], rule: FieldRule, key: str, path: str
) -> None:
    old = {item[key]: item for item in before}
    new = {item[key] for item in after}
    if len(old) < len(before) or len(new) < len(after):
        # Items with the same key cannot be told apart, so the patch has the whole list.
        patch[name] = [*after, {_PATCH: "replace"}]
        return
    changes: list[Any] = []
    for item in after:
        value = item[key]
        if value not in old:
            changes.append(item)
            continue
        difference = _map_difference(old[value], item, rule.schema, rule.retain_keys, f"{path}.{name}[{key}={value}]")
        if difference:
            difference[key] = value
            changes.append(difference)
    changes += ({_PATCH: "delete", key: value} for value in old if value not in new)
    if changes:
        patch[name] = changes
    if after:
        patch[_ORDER + name] = [{key: item[key]} for item in after]
