"""Values in a record, as bytes that a replay makes values of again.

They are pickles with three differences. Structs go by the names of their fields, so that a later version reads them.
Objects of the API and messages of the runtime are packed by `msgspec`, which is many times as fast. Actors and handles
are names, and mean those of the replay.

A record comes from another machine, so a pickle is read with care: it may name only data classes of actorlet, plain
types and exceptions. Nothing else is imported or called.
"""

from __future__ import annotations

import builtins
import copyreg
import dataclasses
import enum
import importlib
import io
import pickle
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec._utils import rebuild  # type: ignore[attr-defined]  # what msgspec pickles its own structs with

from actors.kernel.promise import Promise
from actors.kernel.recorded.edges import Edge
from actors.kernel.recorded.replayed_edges import HandleSite
from actors.kernel.ref import ActorRef
from config.frozen_map import FrozenMap
from config.objects.base import ApiObject, UnknownFields
from runtime.cri.base import CriMessage

PROTOCOL = 5
OURS = ("actors.", "runtime.", "config.")
_PLAIN = frozenset({"set", "frozenset", "bytearray", "complex", "range", "slice", "object"})
_OTHERS = frozenset(
    {
        ("datetime", "datetime"),
        ("datetime", "timedelta"),
        ("datetime", "timezone"),
        ("concurrent.futures._base", "CancelledError"),
        ("concurrent.futures._base", "TimeoutError"),
        ("collections", "OrderedDict"),
        ("collections", "Counter"),
        ("collections", "deque"),
        ("ipaddress", "IPv4Address"),
        ("ipaddress", "IPv6Address"),
        ("ipaddress", "IPv4Network"),
        ("ipaddress", "IPv6Network"),
    }
)


class UnreadableValueError(ValueError):
    """A value that cannot be read: it was damaged, or names what a record must not name."""


class Opaque(msgspec.Struct, frozen=True):
    """In the place of a value that cannot be written: a function, for one."""

    what: str


# --- writing ----------------------------------------------------------------------------------------------------------


class _Reducers(Mapping[Any, Any]):
    """How types are written. The pickler looks here for each type that it does not know itself."""

    def __init__(self, seen: Callable[[Any], object]) -> None:
        self._seen = seen
        self._known: dict[type, Any] = {}

    def __getitem__(self, kind: type) -> Any:
        try:
            found = self._known[kind]
        except KeyError:
            found = self._known[kind] = self._reducer(kind)
        if found is None:
            raise KeyError(kind)
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _reducer(self, kind: type) -> Any:
        if issubclass(kind, ApiObject | CriMessage):
            seen = self._seen

            def packed(value: Any) -> Any:
                seen(value)
                return _unpack, (kind, _PACK.encode(value))

            return packed
        if issubclass(kind, msgspec.Struct):
            return self._struct
        if issubclass(kind, ActorRef):
            return lambda ref: (_actor, (ref.path,))
        if issubclass(kind, Edge):
            return lambda edge: (HandleSite, (edge.site,))
        if issubclass(kind, BaseException):
            return lambda error: (_exception, (type(error), error.args, _plain_attributes(error)))
        if issubclass(kind, UnknownFields):
            return lambda unknown: (UnknownFields, (unknown.entries,))
        if issubclass(kind, enum.Enum):
            return lambda member: (type(member), (member._value_,))
        if issubclass(kind, type) or dataclasses.is_dataclass(kind):
            return None
        if kind in (FrozenMap,) or kind.__module__ == "builtins" or (kind.__module__, kind.__qualname__) in _OTHERS:
            return None if not issubclass(kind, _FUNCTIONS) else _opaque
        return None if kind.__module__.startswith(OURS) and not issubclass(kind, Promise) else _opaque

    def _struct(self, value: Any) -> Any:
        self._seen(value)
        kind = type(value)
        return rebuild, (kind, {name: getattr(value, name) for name in kind.__struct_fields__})


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType)


def _opaque(value: Any) -> Any:
    return Opaque, (type(value).__qualname__,)


def _plain_attributes(error: BaseException) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(error).items()
        if isinstance(value, str | int | float | tuple | type(None) | enum.Enum) and not name.startswith("__")
    }


def _pack_other(value: Any) -> Any:
    if isinstance(value, UnknownFields):
        return value.entries
    if isinstance(value, FrozenMap):
        return dict(value)
    raise TypeError(f"{type(value).__name__} in an object of the API")


_PACK = msgspec.msgpack.Encoder(enc_hook=_pack_other)


class ValueWriter:
    """Writes values.

    `seen` gets each object of the API, each message of the runtime and each other struct.
    """

    def __init__(self, seen: Callable[[Any], object]) -> None:
        self._reducers = _Reducers(seen)

    def write(self, value: Any) -> bytes:
        """The value as bytes. What cannot be written is `Opaque`."""
        file = io.BytesIO()
        pickler = pickle.Pickler(file, PROTOCOL)
        pickler.dispatch_table = self._reducers
        try:
            pickler.dump(value)
        except Exception as failure:
            return pickle.dumps(Opaque(f"{type(value).__name__}: {failure}"), PROTOCOL)
        return file.getvalue()


# --- reading ----------------------------------------------------------------------------------------------------------


def _unpack(kind: type, data: bytes) -> Any:
    """The object of the API, or the message of the runtime."""
    return msgspec.msgpack.decode(data, type=kind, dec_hook=_unpack_other)


def _unpack_other(kind: Any, value: Any) -> Any:
    if kind is UnknownFields:
        return UnknownFields(
            tuple((tuple(tuple(step) if isinstance(step, list) else step for step in path), raw) for path, raw in value)
        )
    if isinstance(kind, type) and issubclass(kind, FrozenMap):
        return FrozenMap(value)
    raise TypeError(f"no value of {kind}")


def _exception(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """The exception, made without its constructor."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def _actor(path: str) -> Any:
    """Stands for an actor; the reader of a replay has its own."""
    return path


class ValueReader:
    """Reads values. `actor` gives the reference of a path."""

    def __init__(self, actor: Callable[[str], Any]) -> None:
        self._actor = actor

    def read(self, data: bytes) -> Any:
        """The value. Raises UnreadableValueError."""
        try:
            return _Unpickler(data, self._actor).load()
        except UnreadableValueError:
            raise
        except Exception as failure:
            raise UnreadableValueError(f"a value of the record cannot be read: {failure}") from failure


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, actor: Callable[[str], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._actor = actor

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name, if a record may name it."""
        if module == __name__ and name in ("_unpack", "_exception", "_actor"):
            return {"_unpack": _unpack, "_exception": _exception, "_actor": self._actor}[name]
        if (module, name) == ("msgspec._utils", "rebuild"):
            return rebuild
        if (module, name) == ("copyreg", "_reconstructor"):
            return copyreg._reconstructor  # type: ignore[attr-defined]
        if module == "builtins":
            found = getattr(builtins, name, None)
            if name in _PLAIN or (isinstance(found, type) and issubclass(found, BaseException)):
                return found
        elif (module, name) in _OTHERS:
            return getattr(importlib.import_module(module), name)
        elif module.startswith(OURS):
            found = _named(module, name)
            if isinstance(found, type) and _is_data_class(found):
                return found
        raise UnreadableValueError(f"a record must not name {module}.{name}")


def _named(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise UnreadableValueError(f"this version has no {module}.{name}") from None
    return found


def _is_data_class(kind: type) -> bool:
    data = (msgspec.Struct, enum.Enum, BaseException, tuple, FrozenMap, UnknownFields, HandleSite)
    return issubclass(kind, data) or dataclasses.is_dataclass(kind)
