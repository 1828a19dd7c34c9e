"""Names of moments in a run of an operator: a request, an event of a watch, a pod that is ready. Pure.

An operator runs in real time, so moments have no number that two runs share. What it asks for does: a moment is named
by verb, resource and object, and by how many of that name came before it. `create configmaps default/notes #1` is
one, `DELETED pods default/web-0 #1` another.

A write that changes nothing, or is refused, has the number of the next one. How often an operator says the same again
depends on how soon its watches tell it: a busy machine must not give all later moments another name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

NOWHERE = "*"
"""The name of a request for no single object."""
READY = "READY"
"""The verb of the moment in which a pod is Ready for the first time."""
_FORM = re.compile(r"([A-Za-z]+) ([a-z0-9./-]+) (\S+) #([0-9]{1,9})")


class Key(msgspec.Struct, frozen=True, order=True):
    """`resource`: `pods`, `pods/status`, `sites.example.com`. `name`: `namespace/name`, or a part of it."""

    verb: str
    resource: str
    name: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name} #{self.nth}"

    @property
    def kind(self) -> tuple[str, str]:
        """What moments of other objects share with it."""
        return self.verb, self.resource


def read_key(text: str) -> Key:
    """The opposite of `str`. Raises ValueError."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} names no moment; write it as `create configmaps default/notes #1`")
    return Key(found[1], found[2], found[3], int(found[4]))


def place(namespace: str, name: str) -> str:
    """The name of an object or a collection in a key."""
    whole = name or NOWHERE
    return f"{namespace}/{whole}" if namespace else whole


def steady_name(metadata: Mapping[str, Any]) -> str:
    """The name of an object as another run has it, too: of a generated one its beginning and a `*`."""
    name, prefix = str(metadata.get("name") or ""), str(metadata.get("generateName") or "")
    return f"{prefix}{NOWHERE}" if prefix and name.startswith(prefix) else name


class Counted:
    """Gives moments their numbers."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, str, str]] = Counter()

    def key(self, verb: str, resource: str, name: str) -> Key:
        """The key of the next moment of that name, which counts."""
        key = self.next(verb, resource, name)
        self.count(key)
        return key

    def next(self, verb: str, resource: str, name: str) -> Key:
        """The key of the next moment of that name; it counts when `count` is told so."""
        return Key(verb, resource, name, self._seen[verb, resource, name] + 1)

    def count(self, key: Key) -> None:
        """The moment is over, and the next one of its name has another number."""
        what = (key.verb, key.resource, key.name)
        self._seen[what] = max(self._seen[what], key.nth)
