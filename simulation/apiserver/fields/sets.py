"""Sets of fields, in the form of `fieldsV1`: a tree of steps.

    {"f:spec": {"f:replicas": {}, "f:ports": {"k:{\\"port\\":53}": {".": {}, "f:port": {}}}}}

A step is a field (`f:NAME`), an item of a list by its keys (`k:{...}`) or by its value (`v:...`), or one by its place
(`i:0`). A node is in the set if it is empty or has the step `.`; the root never is. So a set may have the item of a
list without its fields, its fields without the item, or both. No node without members stands in a tree.

Sets never change; a result shares the unchanged parts, and is the first operand itself where nothing differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from sys import intern
from typing import Any, TypeAlias

import msgspec

from config.caches import MIB, KeptBytes

Fields: TypeAlias = "dict[str, Fields]"
Path: TypeAlias = tuple[str, ...]

NONE: Fields = {}
"""The empty set. Nobody changes it."""
LEAF: Fields = {}
"""A node in the set without anything below it. Nobody changes it."""
NODES_BYTES_AT_MOST = 2 * MIB
STEP_BYTES = 128
"""What a step takes in the table of nodes, beside the nodes themselves."""
_HERE = "."
_FORMS = "fkvi"
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


# --- steps ----------------------------------------------------------------------------------------------------------


def field_step(name: str) -> str:
    """The step to a field of a map; equal ones are one text."""
    return intern(f"f:{name}")


def key_step(keys: Mapping[str, Any]) -> str:
    """The step to an item of a list, from its keys in the order of their names."""
    return f"k:{_json(keys)}"


def value_step(value: Any) -> str:
    """The step to an item of a list that is a set."""
    return f"v:{_json(value)}"


def _json(value: Any) -> str:
    """As Go writes it in a step."""
    text = msgspec.json.encode(value).decode()
    for letter, escape in _ESCAPES.items():
        if letter in text:
            text = text.replace(letter, escape)
    return text


def shown_path(path: Path) -> str:
    """A path as conflicts name it: `.spec.ports[port=53,protocol="UDP"].name`."""
    return "".join(map(shown_step, path))


def shown_step(step: str) -> str:
    """A step as conflicts name it."""
    form, _, rest = step.partition(":")
    if form == "f":
        return f".{rest}"
    if form == "k":
        keys = sorted(msgspec.json.decode(rest).items())
        return f"[{','.join(f'{name}={_json(value)}' for name, value in keys)}]"
    return f"[={rest}]" if form == "v" else f"[{rest}]"


def _order(step: str) -> tuple[Any, ...]:
    """Fields come before items by key, by value and by place; numbers before texts."""
    form, _, rest = step.partition(":")
    if form == "f":
        return (0, rest)
    value = msgspec.json.decode(rest)
    parts = sorted(value.items()) if form == "k" else [("", value)]
    return (_FORMS.index(form), [(name, isinstance(part, str), part) for name, part in parts])


# --- sets -----------------------------------------------------------------------------------------------------------


def is_member(node: Fields) -> bool:
    """Whether the field at that node is in the set."""
    return not node or _HERE in node


def has(fields: Fields, path: Path) -> bool:
    """Whether the set has the field at that path."""
    node: Fields | None = fields
    for step in path:
        node = None if node is None else node.get(step)
    return node is not None and bool(path) and is_member(node)


def united(one: Fields, other: Fields) -> Fields:
    """What is in either set."""
    if one is other or not other:
        return one
    if not one:
        return other
    made: Fields | None = None
    for step, below in other.items():
        mine = one.get(step)
        both = below if mine is None else mine if step == _HERE else _united_nodes(mine, below)
        if both is not mine:
            made = dict(one) if made is None else made
            made[step] = both
    return one if made is None else made


def _united_nodes(one: Fields, other: Fields) -> Fields:
    if one is other or (not one and not other):
        return one
    if not one:
        return other if _HERE in other else {_HERE: LEAF, **other}
    if not other:
        return one if _HERE in one else {_HERE: LEAF, **one}
    return united(one, other)


def without(one: Fields, other: Fields) -> Fields:
    """What is in the first set and not in the second. A field stays where only some below it are taken."""
    return _taken(one, other, deep=False)


def without_all_below(one: Fields, other: Fields) -> Fields:
    """What is in the first set and neither in the second nor below one of its fields."""
    return _taken(one, other, deep=True)


def _taken(one: Fields, other: Fields, *, deep: bool) -> Fields:
    if not one or not other:
        return one
    if one is other:
        return NONE
    made: Fields | None = None
    for step, theirs in other.items():
        mine = one.get(step)
        if mine is None or step == _HERE:
            continue
        left = None if mine is theirs else _left(mine, theirs, deep=deep)
        if left is not mine:
            made = dict(one) if made is None else made
            if left is None:
                del made[step]
            else:
                made[step] = left
    return one if made is None else made


def _left(mine: Fields, theirs: Fields, *, deep: bool) -> Fields | None:
    """What stays of a node; None for nothing."""
    taken = is_member(theirs)
    if taken and deep:
        return None
    stays = is_member(mine) and not taken
    below = _taken(mine, theirs, deep=deep) if mine and theirs else mine
    if not below or (len(below) == 1 and _HERE in below):
        return LEAF if stays else None
    if _HERE in below and not stays:
        return {step: node for step, node in below.items() if step != _HERE}
    return below


def common(one: Fields, other: Fields) -> Fields:
    """What is in both sets."""
    if one is other:
        return one
    made: Fields = {}
    for step, mine in one.items() if len(one) <= len(other) else ((step, one.get(step)) for step in other):
        theirs = other.get(step)
        if mine is None or theirs is None or step == _HERE:
            continue
        below = common(mine, theirs)
        if is_member(mine) and is_member(theirs):
            made[step] = {_HERE: LEAF, **below} if below else LEAF
        elif below:
            made[step] = below
    return made


def fields_at(names: Sequence[str]) -> Fields:
    """The set of the one field at that path of names."""
    made = LEAF
    for name in reversed(names):
        made = {f"f:{name}": made}
    return made


def paths(fields: Fields, above: Path = ()) -> Iterator[Path]:
    """The paths of all fields in the set, in the order of their steps.

    Those of a level come before all that are below them.
    """
    steps = [(step, node) for step, node in sorted(fields.items(), key=_order_of_item) if step != _HERE]
    for step, node in steps:
        if is_member(node):
            yield (*above, step)
    for step, node in steps:
        if node:
            yield from paths(node, (*above, step))


def _order_of_item(item: tuple[str, Fields]) -> tuple[Any, ...]:
    return (-1,) if item[0] == _HERE else _order(item[0])


_nodes: KeptBytes[tuple[Any, ...], Fields] = KeptBytes(NODES_BYTES_AT_MOST)


def shared(fields: Fields) -> Fields:
    """The same set, of nodes that equal sets share: the pods of one template have one set in memory."""
    if not fields:
        return LEAF
    made = {step: shared(node) for step, node in fields.items()}
    # An entry keeps its nodes alive, so that their ids are not reused while it is there.
    key = tuple(part for step, node in made.items() for part in (step, id(node)))
    try:
        return _nodes[key]
    except KeyError:
        return _nodes.keep(key, made, STEP_BYTES * len(made))


# --- reading and writing --------------------------------------------------------------------------------------------


def read_fields(value: Any) -> Fields:
    """The set in a `fieldsV1`. Steps of unknown forms are left out. Raises ValueError."""
    if value is None:
        return NONE
    if not isinstance(value, dict):
        raise ValueError("fieldsV1 is not an object")
    made: Fields = {}
    for step, below in value.items():
        if step == _HERE:
            made[_HERE] = LEAF
            continue
        read, node = _read_step(step), read_fields(below)
        if read is not None:
            made[read] = node if node.keys() != {_HERE} else LEAF
    return made


def _read_step(step: str) -> str | None:
    """The step as it is written here; None for an unknown form. Raises ValueError."""
    form, colon, rest = step[:1], step[1:2], step[2:]
    if colon != ":":
        raise ValueError(f"the step {step!r} of fieldsV1 has no colon")
    if form == "f":
        return step
    if form not in _FORMS or not form:
        return None
    try:
        value = msgspec.json.decode(rest)
    except msgspec.DecodeError:
        raise ValueError(f"the step {step!r} of fieldsV1 is not JSON") from None
    if form == "k":
        if not isinstance(value, dict):
            raise ValueError(f"the step {step!r} of fieldsV1 has no keys")
        return key_step(dict(sorted(value.items())))
    if form == "i" and type(value) is not int:
        raise ValueError(f"the step {step!r} of fieldsV1 is not a place")
    return value_step(value) if form == "v" else f"i:{value}"


def written(fields: Fields) -> Fields:
    """The `fieldsV1`, in the order in which a kube-apiserver writes it."""
    return {step: written(node) for step, node in sorted(fields.items(), key=_order_of_item)}


_texts: KeptBytes[int, tuple[Fields, bytes]] = KeptBytes(NODES_BYTES_AT_MOST)


def text_of(fields: Fields) -> bytes:
    """The `fieldsV1` as JSON. The text of a node that sets share is made once."""
    if not fields:
        return b"{}"
    try:
        return _texts[id(fields)][1]
    except KeyError:
        items = sorted(fields.items(), key=_order_of_item)
        text = b",".join([b"%b:%b" % (msgspec.json.encode(step), text_of(node)) for step, node in items])
        return _texts.keep(id(fields), (fields, b"{%b}" % text), 2 * len(text) + STEP_BYTES)[1]
