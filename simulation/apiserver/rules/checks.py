"""Rules of built-in kinds that no form of the data can say: a function each.

The data uses the name of the function. Pure. A function gets the place where the rule stands, and yields the causes of
a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.spelling import label_key, label_value


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
        return self._at(_field(self.value, name), _field(self.before, name), self.join(name))

    def each(self) -> Iterator[Seen]:
        """The items of a list, or the values of a map."""
        if isinstance(self.value, list):
            was = self.before if isinstance(self.before, list) else []
            for number, item in enumerate(self.value):
                yield self._at(item, was[number] if number < len(was) else None, f"{self.path}[{number}]")
        elif isinstance(self.value, dict):
            for name, item in self.value.items():
                yield self._at(item, _field(self.before, name), f"{self.path}[{name}]")

    def _at(self, value: Any, before: Any, path: str) -> Seen:
        return Seen(value, before, path, self.root, self.root_before)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


Check = Callable[[Seen], Iterator[Cause]]
CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""


def check(function: Check) -> Check:
    """Let rules use a function of this module by its name."""
    CHECKS[function.__name__] = function
    return function


@check
def labels(seen: Seen) -> Iterator[Cause]:
    """Each cause names the whole map, not the label."""
    for key, value in (seen.value or {}).items():
        yield from (causes.invalid(seen.path, key, why) for why in label_key(key))
        yield from (causes.invalid(seen.path, value, why) for why in label_value(value))
