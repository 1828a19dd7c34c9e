"""JSON patches as `evanphx/json-patch` applies them for an API server, which is not all of RFC 6902.

A member that is absent counts as null: `test` against null holds, `replace` sets it, and `copy` copies null. An index
may count from the end. What stands beside a known operation is ignored. Errors name the operation by its index. Pure.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from config.patches.errors import PatchError

COPIED_BYTES_AT_MOST = 3 * 2**20
"""The most JSON that all copies of one patch may make together.

A copy of the whole document into itself doubles it each time.
"""
MAX_OPERATIONS = 10_000
"""The limit of operations in the API server, so that the work of a patch is bounded."""
_INDEX = re.compile(r"[-+]?[0-9]{1,9}", re.ASCII)


class _RefusedError(Exception):
    """Why the document cannot take an operation."""


class _OtherValueError(_RefusedError):
    """A test has found another value."""


def apply_json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations. Neither input changes. Raises PatchError."""
    if not isinstance(operations, list):
        raise PatchError("the patch", "it is not a list of operations", 'write [{"op": ...}]', malformed=True)
    if len(operations) > MAX_OPERATIONS:
        reason = f"it has {len(operations)} operations"
        raise PatchError("the patch", reason, f"at most {MAX_OPERATIONS} are taken", malformed=True)
    if not all(isinstance(each, dict) for each in operations):
        index = next(index for index, each in enumerate(operations) if not isinstance(each, dict))
        raise PatchError(f"operation {index}", "it is not an object", 'write {"op": ...}', malformed=True)
    patched = _Patched(copy.deepcopy(document))
    for index, operation in enumerate(operations):
        kind, path = operation.get("op"), operation.get("path")
        where = f"operation {index} ({kind} {path or 'the whole document'})"
        try:
            (_OPERATIONS.get(kind, _unknown) if isinstance(kind, str) else _unknown)(patched, operation)
        except _RefusedError as error:
            raise PatchError(where, str(error), failed_test=isinstance(error, _OtherValueError)) from None
        except RecursionError:
            raise PatchError(where, "it is nested too deeply") from None
    try:
        msgspec.json.encode(patched.root)
    except RecursionError:
        raise PatchError("the patch", "its result is nested too deeply", "flatten it", malformed=True) from None
    return patched.root


class _Patched:
    """The document while it changes. `copied_bytes`: the JSON that copies have added."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied_bytes = 0

    def around(self, pointer: str) -> tuple[Any, str]:
        """The map or list around the place, and the last word of the pointer. Raises _RefusedError."""
        first, *words = pointer.split("/")
        if not words:
            raise _RefusedError(
                f"a path begins with /, and {first!r} does not" if first else "it needs a path in the document"
            )
        around = self.root
        for depth, word in enumerate(words[:-1], 1):
            around = _member(around, _unescaped(word))
            if not isinstance(around, dict | list):
                raise _RefusedError(f"there is no map or list at {'/'.join(['', *words[:depth]])}")
        return around, _unescaped(words[-1])


def _unescaped(word: str) -> str:
    return word.replace("~1", "/").replace("~0", "~")


def _member(around: Any, key: str) -> Any:
    """The value there; None for an absent member of a map.

    Raises _RefusedError for an absent item of a list.
    """
    return around[_index(around, key, len(around))] if isinstance(around, list) else around.get(key)


def _index(items: list[Any], key: str, size: int) -> int:
    """The index that the word means, below `size`. Raises _RefusedError."""
    if not _INDEX.fullmatch(key):
        raise _RefusedError(f"{key!r} is no index of a list")
    index = int(key)
    if not -size <= index < size:
        raise _RefusedError(f"the list has {len(items)} items, so it takes no index {index}")
    return index if index >= 0 else index + size


def _add_value(around: Any, key: str, value: Any) -> None:
    if isinstance(around, dict):
        around[key] = value
    elif key == "-":
        around.append(value)
    else:
        around.insert(_index(around, key, len(around) + 1), value)


def _remove_value(around: Any, key: str) -> None:
    if isinstance(around, list):
        del around[_index(around, key, len(around))]
    elif key not in around:
        raise _RefusedError(f"there is no {key!r} to remove")
    else:
        del around[key]


def _text(operation: Mapping[str, Any], field: str) -> str:
    value = operation.get(field)
    if not isinstance(value, str):
        raise _RefusedError(f"it has no {field!r} that is text")
    return value


def _value(operation: Mapping[str, Any]) -> Any:
    return copy.deepcopy(operation.get("value"))


def _add(patched: _Patched, operation: Mapping[str, Any]) -> None:
    _add_value(*patched.around(_text(operation, "path")), _value(operation))


def _remove(patched: _Patched, operation: Mapping[str, Any]) -> None:
    _remove_value(*patched.around(_text(operation, "path")))


def _replace(patched: _Patched, operation: Mapping[str, Any]) -> None:
    path, value = _text(operation, "path"), _value(operation)
    if not path:
        if not isinstance(value, dict | list):
            raise _RefusedError("only a map or a list replaces the whole document")
        patched.root = value
        return
    around, key = patched.around(path)
    around[_index(around, key, len(around)) if isinstance(around, list) else key] = value


def _test(patched: _Patched, operation: Mapping[str, Any]) -> None:
    path, wanted = _text(operation, "path"), operation.get("value")
    found = _member(*patched.around(path)) if path else patched.root
    if not _equal(found, wanted):
        raise _OtherValueError(f"the value there is {_shown(found)}, not {_shown(wanted)}")


def _move(patched: _Patched, operation: Mapping[str, Any]) -> None:
    around, key = patched.around(_text(operation, "from"))
    value = _member(around, key)
    _remove_value(around, key)
    _add_value(*patched.around(_text(operation, "path")), value)


def _copy(patched: _Patched, operation: Mapping[str, Any]) -> None:
    value = _member(*patched.around(_text(operation, "from")))
    around, key = patched.around(_text(operation, "path"))
    patched.copied_bytes += len(msgspec.json.encode(value))
    if patched.copied_bytes > COPIED_BYTES_AT_MOST:
        raise _RefusedError(
            f"the operations so far copy more than {COPIED_BYTES_AT_MOST} bytes; send the document itself"
        )
    _add_value(around, key, copy.deepcopy(value))


def _unknown(_: _Patched, operation: Mapping[str, Any]) -> None:
    raise _RefusedError(f"{operation.get('op')!r} is none of {', '.join(_OPERATIONS)}")


_OPERATIONS: Mapping[str, Callable[[_Patched, Mapping[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _equal(left: Any, right: Any) -> bool:
    """Whether both are written alike: 1 is neither 1.0 nor true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return type(left) is type(right) and bool(left == right)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}…"
