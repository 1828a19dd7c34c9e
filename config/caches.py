"""Results kept by what they were worked out from, bounded by bytes.

Who creates pods chooses the texts in them: names of images, headers of probes, amounts. A cache that is bounded by the
number of its entries keeps as many megabytes of such texts as somebody writes. So every cache of something from outside
is made here: it has a limit in bytes for its keys and values together, and the oldest entries go first.

A long entry is not kept at all. Long texts seldom come again, and to work with one costs more than to look it up.

`kept` is for functions, `KeptBytes` for tables with other ways in. `with_its_object` is for results about an object
that lives elsewhere. The rule `tests/lint/rules/caches.py` finds other caches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from enum import Enum
from functools import wraps
from gc import get_referents
from sys import getsizeof
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

import msgspec
from cachetools import FIFOCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

KIB, MIB = 2**10, 2**20
LONGEST_BYTES = 4 * KIB
"""An entry that takes more is not kept, unless its cache says otherwise."""
ENTRY_BYTES = 420
"""What the tables of a cache take for an entry, besides its key and its value."""
_LEAVES = frozenset({str, bytes, int, float, bool, type(None)})
_SHARED = (type, Enum, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
"""Not counted: the process has them anyway."""


def size_of(value: object, most_bytes: int, beside: tuple[type, ...] = ()) -> int:
    """The bytes of a value and of all that it holds; the count stops beyond `most_bytes`.

    Objects of the classes `beside` are not counted.
    """
    size, seen, waiting, not_counted = 0, set[int](), [value], _SHARED + beside
    while waiting and size <= most_bytes:
        each = waiting.pop()
        if id(each) in seen:
            continue
        leaf = type(each) in _LEAVES
        if leaf or not isinstance(each, not_counted):
            seen.add(id(each))
            size += getsizeof(each)
            if not leaf:
                waiting += _held_by(each)
    return size


def _held_by(value: Any) -> Iterable[Any]:
    """What the collector is not told: keys that are texts, and the fields of structs that it does not see."""
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    return get_referents(value)


class QuickCache(FIFOCache[K, V]):
    """A `FIFOCache` with `quick`, a dict of what is in it.

    To read the cache itself takes two calls of Python, and of the dict none. Nobody but the cache may change the dict.
    """

    def __init__(self, most: int, getsizeof: Callable[[V], int] | None = None) -> None:
        super().__init__(most, getsizeof)
        self.quick: dict[K, V] = {}

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.quick[key] = value

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        del self.quick[key]

    def clear(self) -> None:
        super().clear()
        self.quick.clear()


class KeptBytes(Generic[K, V]):
    """At most `most_bytes` of keys, values and tables. `longest_bytes`: of one entry.

    `beside`: classes of objects in the entries that live elsewhere, and are not counted.

    Any thread may use it. Reading takes no lock, since it changes nothing. A writer that would have to wait
    keeps nothing: it may be a finalizer in the middle of another write of its own thread.
    """

    def __init__(self, most_bytes: int, longest_bytes: int = LONGEST_BYTES, beside: tuple[type, ...] = ()) -> None:
        self._longest_bytes = longest_bytes
        self._beside = beside
        self._lock = threading.Lock()
        self._entries: QuickCache[K, tuple[V, int]] = QuickCache(most_bytes, _size_of_entry)
        self.entry = self._entries.quick.get
        """The value of a key with its size; None: it is not kept. Quicker than by the index."""

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, key: K) -> V:
        """The value that is kept. Raises KeyError."""
        return self._entries.quick[key][0]

    def keep(self, key: K, value: V, size_bytes: int | None = None) -> V:
        """Keep the value, if it is short, and return it. `size_bytes`: of both; None: they are counted."""
        if size_bytes is None:
            size_bytes = size_of((key, value), self._longest_bytes, self._beside)
        if size_bytes <= self._longest_bytes and self._lock.acquire(blocking=False):
            try:
                self._entries[key] = value, size_bytes + ENTRY_BYTES
            finally:
                self._lock.release()
        return value

    def forget(self, key: K) -> None:
        """Keep what belongs to the key no longer."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Keep nothing of what there is."""
        with self._lock:
            self._entries.clear()

    @property
    def size_bytes(self) -> int:
        """What the entries take now."""
        return int(self._entries.currsize)

    @property
    def most_bytes(self) -> int:
        return int(self._entries.maxsize)


def _size_of_entry(entry: tuple[Any, int]) -> int:
    return entry[1]


def kept(
    most_bytes: int, longest_bytes: int = LONGEST_BYTES, beside: tuple[type, ...] = ()
) -> Callable[[Callable[[*Arguments], T]], Callable[[*Arguments], T]]:
    """Keep the results of a pure function, in a `KeptBytes`.

    Arguments are given by their places, and have hashes. Nobody may change a result. Exceptions are not kept. Two
    threads at once may both do the work.
    """

    def decorate(work: Callable[[*Arguments], T]) -> Callable[[*Arguments], T]:
        results: KeptBytes[tuple[*Arguments], T] = KeptBytes(most_bytes, longest_bytes, beside)

        @wraps(work)
        def answer(*arguments: *Arguments) -> T:
            found = results.entry(arguments)
            return results.keep(arguments, work(*arguments)) if found is None else found[0]

        return answer

    return decorate


def with_its_object(work: Callable[[K], T]) -> Callable[[K], T]:
    """Keep the result about an object for as long as the object lives, found by its identity.

    The object allows weak references and compares by identity. The result must not hold it.
    """
    results: WeakKeyDictionary[K, T] = WeakKeyDictionary()

    @wraps(work)
    def answer(about: K) -> T:
        try:
            return results[about]
        except KeyError:
            pass
        found = results[about] = work(about)
        return found

    return answer
