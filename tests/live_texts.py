"""Which objects still hold a text: follows every reference from where it is told to begin."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from gc import get_referents
from types import FrameType, ModuleType
from typing import Any

import msgspec

PARTS_SHOWN = 4
"""Of the way to a text: its end tells enough."""


def holders_of(
    mark: str, roots: Iterable[tuple[str, object]], *, beside: tuple[type, ...] = (), not_in: tuple[str, ...] = ()
) -> Counter[str]:
    """Characters of the texts that have the mark, by the way to them.

    Objects of the classes `beside` are not looked into, nor those whose class is in a module that begins with one of
    `not_in`.
    """
    found, seen, waiting = Counter[str](), set[int](), deque(roots)
    written = mark.encode()
    while waiting:
        way, value = waiting.popleft()
        if id(value) in seen or isinstance(value, (FrameType, *beside)) or _module_of(value).startswith(not_in):
            continue
        seen.add(id(value))
        if isinstance(value, str):
            found[way] += len(value) if mark in value else 0
        elif isinstance(value, (bytes, bytearray)):
            found[way] += len(value) if written in value else 0
        else:
            waiting += ((_longer(way, name), each) for name, each in _held_by(value))
    return +found


def modules(*not_in: str) -> Iterator[tuple[str, object]]:
    """The tables of every module that is imported, but for those that begin so."""
    for name, module in sorted(sys.modules.items()):
        if isinstance(module, ModuleType) and not name.startswith(not_in):
            yield name, vars(module)


def _module_of(value: object) -> str:
    module = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
    return module if isinstance(module, str) else ""


def _held_by(value: Any) -> Iterator[tuple[str, Any]]:
    kind = type(value).__name__
    if isinstance(value, dict):
        for key, held in list(value.items()):
            yield "keys", key
            yield key if isinstance(key, str) and len(key) < 40 else "values", held
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield f"{kind}.{name}", getattr(value, name)
    else:
        for name, held in _own_names(value).items():
            yield f"{kind}.{name}", held
        for held in get_referents(value):
            yield kind, held


def _own_names(value: object) -> dict[str, Any]:
    try:
        return vars(value)
    except Exception:  # a stand-in of pydantic raises its own error for every name
        return {}


def _longer(way: str, name: str) -> str:
    return " ".join((*way.split(" ")[1 - PARTS_SHOWN :], name))
