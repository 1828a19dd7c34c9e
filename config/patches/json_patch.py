"""JSON patches (RFC 6902): operations on the places of a document, one after the other, all or none.

Pure: a document goes in and another comes out, sharing what no operation touched. What can fail is an operation that
is none (`PatchError.malformed`) or that this document cannot take; the error names the operation by its index. Refuses
to know what documents mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from config.patches.errors import PatchError

Pointer = tuple[str, ...]

MAX_OPERATIONS = 10_000
"""As many as the API server takes in one patch; the work of a patch has a bound."""

_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_ABSENT = object()


def apply_json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations. Neither input changes. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError("the patch", "it is no list of operations", 'write [{"op": ...}]', malformed=True)
    if len(operations) > MAX_OPERATIONS:
        reason = f"it has {len(operations)} operations"
        raise PatchError("the patch", reason, f"at most {MAX_OPERATIONS} are taken", malformed=True)
    for index, operation in enumerate(operations):
        document = _Operation(index, operation).apply(document)
    return document


def parse_pointer(text: str) -> Pointer | None:
    """The keys of a JSON pointer (RFC 6901): "/a~1b/0" is ("a/b", "0"), "" the whole document. None: it is none."""
    if not text:
        return ()
    if not text.startswith("/") or _BAD_ESCAPE.search(text):
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


class _Operation:
    """One operation: checked when made, then applied."""

    def __init__(self, index: int, operation: Any) -> None:
        self.where = f"operation {index}"
        if not isinstance(operation, Mapping):
            self.malformed("it is no object", 'write {"op": "replace", "path": "/spec/nodeName", "value": "n1"}')
        self.fields: Mapping[str, Any] = operation
        name = operation.get("op")
        apply = _APPLY.get(name) if isinstance(name, str) else None
        if apply is None:
            self.malformed(f"op {name!r} is not known", f"use one of {', '.join(_APPLY)}")
        self.apply_to: Callable[[_Operation, Any], Any] = apply
        self.path = self.pointer("path")
        self.where += f" ({name} {operation['path'] or 'the whole document'})"

    def apply(self, document: Any) -> Any:
        return self.apply_to(self, document)

    def pointer(self, field: str) -> Pointer:
        text = self.fields.get(field)
        pointer = parse_pointer(text) if isinstance(text, str) else None
        if pointer is None:
            reason = f"{field} is missing" if text is None else f"{field} {text!r} is no JSON pointer"
            self.malformed(reason, "write it like /spec/containers/0; in a key, / is ~1 and ~ is ~0")
        return pointer

    @property
    def value(self) -> Any:
        if "value" not in self.fields:
            self.malformed("value is missing", "null has to be written, too")
        return self.fields["value"]

    def add(self, document: Any) -> Any:
        return self.put(document, self.path, self.value)

    def remove(self, document: Any) -> Any:
        return self.without(document, self.path)

    def replace(self, document: Any) -> Any:
        self.get(document, self.path)
        return self.change(document, self.path, lambda parent, key: _with(parent, key, self.value))

    def move(self, document: Any) -> Any:
        source = self.pointer("from")
        value = self.get(document, source)
        if source == self.path:
            return document
        if self.path[: len(source)] == source:
            self.refuse("a value cannot move into itself")
        return self.put(self.without(document, source), self.path, value)

    def copy(self, document: Any) -> Any:
        return self.put(document, self.path, self.get(document, self.pointer("from")))

    def test(self, document: Any) -> Any:
        if not same_json(self.get(document, self.path), self.value):
            self.refuse("the value there is another one")
        return document

    def get(self, document: Any, pointer: Pointer) -> Any:
        """What is at `pointer`; its absence is a fault."""
        for depth, key in enumerate(pointer):
            document = self.child(document, pointer, depth, key)
        return document

    def put(self, document: Any, pointer: Pointer, value: Any) -> Any:
        if not pointer:
            return value

        def add(parent: Any, key: str) -> Any:
            if not isinstance(parent, list):
                return {**parent, key: value}
            index = len(parent) if key == "-" else self.index(pointer, key)
            if index > len(parent):
                self.refuse(f"{_text(pointer)}: the list has {len(parent)} items", "- is the place after the last one")
            return [*parent[:index], value, *parent[index:]]

        return self.change(document, pointer, add)

    def without(self, document: Any, pointer: Pointer) -> Any:
        if not pointer:
            self.refuse("the whole document cannot be taken away")
        self.get(document, pointer)

        def remove(parent: Any, key: str) -> Any:
            if isinstance(parent, list):
                return [*parent[: int(key)], *parent[int(key) + 1 :]]
            return {name: value for name, value in parent.items() if name != key}

        return self.change(document, pointer, remove)

    def change(self, document: Any, pointer: Pointer, edit: Callable[[Any, str], Any], depth: int = 0) -> Any:
        """The document with the object or list around `pointer` edited; what is on the way to it is copied."""
        if not pointer:
            return self.value
        key = pointer[depth]
        if depth == len(pointer) - 1:
            if not isinstance(document, (dict, list)):
                self.refuse(f"{_text(pointer[:depth])} is {_kind(document)}: nothing can be put into it")
            return edit(document, key)
        child = self.child(document, pointer, depth, key)
        return _with(document, key, self.change(child, pointer, edit, depth + 1))

    def child(self, parent: Any, pointer: Pointer, depth: int, key: str) -> Any:
        found = _ABSENT
        if isinstance(parent, list):
            index = self.index(pointer[: depth + 1], key)
            found = parent[index] if index < len(parent) else _ABSENT
        elif isinstance(parent, dict):
            found = parent.get(key, _ABSENT)
        if found is _ABSENT:
            self.refuse(f"there is no {_text(pointer[: depth + 1])}")
        return found

    def index(self, pointer: Pointer, key: str) -> int:
        if not _INDEX.fullmatch(key) or len(key) > 9:
            self.refuse(f"{_text(pointer)}: {key!r} is no index of a list", "count from 0, without leading zeros")
        return int(key)

    def refuse(self, reason: str, hint: str = "") -> NoReturn:
        raise PatchError(self.where, reason, hint)

    def malformed(self, reason: str, hint: str = "") -> NoReturn:
        raise PatchError(self.where, reason, hint, malformed=True)


_APPLY: Mapping[str, Callable[[_Operation, Any], Any]] = {
    "add": _Operation.add,
    "remove": _Operation.remove,
    "replace": _Operation.replace,
    "move": _Operation.move,
    "copy": _Operation.copy,
    "test": _Operation.test,
}


def same_json(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON: 1 is 1.0, but true is not 1, as it is to Python."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def _with(parent: Any, key: str, value: Any) -> Any:
    if isinstance(parent, list):
        changed = list(parent)
        changed[int(key)] = value
        return changed
    return {**parent, key: value}


def _text(pointer: Pointer) -> str:
    """The pointer as it is written."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in pointer) or "the whole document"


def _kind(value: Any) -> str:
    return "null" if value is None else "true or false" if isinstance(value, bool) else f"{value!r}"
