"""What a check sees: a place in an object, with the object before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from simulation.apiserver.rules.causes import Cause


class Seen(msgspec.Struct, frozen=True):
    """A place in an object: its value, the value before, its path, and the whole objects."""

    value: Any
    before: Any
    path: str
    root: Any
    root_before: Any

    def join(self, names: str) -> str:
        """The path of what stands below this place."""
        return f"{self.path}.{names}" if self.path and names else names or self.path

    def at_field(self, name: str) -> Seen:
        return self._at(field_of(self.value, name), field_of(self.before, name), self.join(name))

    def each(self) -> Iterator[Seen]:
        """The items of a list, or the values of a map."""
        if isinstance(self.value, list):
            was = self.before if isinstance(self.before, list) else []
            for number, item in enumerate(self.value):
                yield self._at(item, was[number] if number < len(was) else None, f"{self.path}[{number}]")
        elif isinstance(self.value, dict):
            for name, item in self.value.items():
                yield self._at(item, field_of(self.before, name), f"{self.path}[{name}]")

    def _at(self, value: Any, before: Any, path: str) -> Seen:
        return Seen(value, before, path, self.root, self.root_before)


def field_of(value: Any, name: str) -> Any:
    """A field of an object; None where there is none."""
    return value.get(name) if isinstance(value, dict) else None


Check: TypeAlias = Callable[[Seen], Iterator[Cause]]


def registry(checks: dict[str, Check]) -> Callable[[Check], Check]:
    """A decorator that lets rules use a function by its name."""

    def check(function: Check) -> Check:
        checks[function.__name__] = function
        return function

    return check
