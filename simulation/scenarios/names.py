"""The names that a scenario may use.

Calls, resources, kinds of volumes, messages and actors of the agent.

A name without a match would do nothing, and such a scenario proves nothing. So misspelt names are refused. The place in
the scenario is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import actors.node.node  # noqa: F401 - with it all actors and messages of an agent are there
from actors.kernel import Actor, Message
from config.objects import Volume
from config.values.nearest import did_you_mean
from runtime.cri.verbs import ALL_VERBS
from simulation.apiserver.kinds.table import ALL_VERBS as API_VERBS
from simulation.apiserver.kinds.table import SERVED
from simulation.chance.sometimes import KNOWN

EVERYTHING = "*"
LISTED_AT_MOST = 50
"""A longer list of names is left out of errors: nobody reads it."""


def wrong_runtime_verb(verb: str) -> str | None:
    """The error for an unknown runtime verb; None for a known one."""
    return _unless_in(verb, {each.name for each in ALL_VERBS if not each.streaming}, "a call to the runtime")


def wrong_api_verb(verb: str) -> str | None:
    """The error for an unknown call to the API server; None for one such as `patch pods/status`."""
    word, _, resource = verb.partition(" ")
    if word not in API_VERBS or not resource:
        return f"{verb!r} is not a call to the API server; write it as `patch pods/status`, or `*`"
    plural = resource.partition("/")[0]
    return _unless_in(plural, {EVERYTHING, *(each.plural for each in SERVED)}, "a resource")


def wrong_volume(kind: str) -> str | None:
    """The error for an unknown kind of volume; None for a known one."""
    return _unless_in(kind, set(Volume.__struct_encode_fields__) - {"name"}, "a kind of volume")


def wrong_message(name: str) -> str | None:
    """The error for an unknown message type; None for a known one."""
    return _unless_in(name, _MESSAGES, "a type of message")


def wrong_actor(name: str) -> str | None:
    """The error for an unknown actor class; None for a known one."""
    return _unless_in(name, _ACTORS, "a class of actors")


def wrong_events(names: Iterable[str]) -> Iterator[str]:
    """The errors for unknown rare events in `reaches`, with their paths."""
    for number, name in enumerate(names):
        if name not in KNOWN:
            hint = did_you_mean(name, KNOWN)
            yield f"$.reaches[{number}]: {name!r} is none of {', '.join(KNOWN)}" + (f"; {hint}" if hint else "")


def _unless_in(word: str, known: Iterable[str], what: str) -> str | None:
    known = set(known)
    if word in known:
        return None
    hint = did_you_mean(word, known, f"there are {', '.join(sorted(known))}" if len(known) <= LISTED_AT_MOST else "")
    return f"{word!r} is not the name of {what}" + (f"; {hint}" if hint else "")


def _names_below(kind: type[Any]) -> frozenset[str]:
    found: set[str] = set()
    below: list[type[Any]] = kind.__subclasses__()
    for each in below:
        found |= {each.__name__} | _names_below(each)
    return frozenset(found)


_MESSAGES, _ACTORS = _names_below(Message), _names_below(Actor)
