"""What the next agent has to know, as it is kept on the disk: who has been decided on, and what the node was short of.
Pure.

An agent that dies between a decision and the end of the pod leaves this behind: the next one ends the same pod, with
the same words, before it looks for another. And a condition of the node that was to stay for a while stays, so that an
agent that begins anew does not bring back those that the cluster has sent elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.eviction.words import Annotations


class Victim(msgspec.Struct, frozen=True):
    """Who goes, and all that its worker and people are told. `signal`: what it is counted as."""

    uid: str
    message: str
    grace_seconds: int
    disrupted: bool
    signal: str = ""
    annotations: Annotations = ()


class Remembered(msgspec.Struct, frozen=True):
    """The document. `conditions`: when each condition of the node was last seen, wall time in ns."""

    victims: tuple[Victim, ...] = ()
    conditions: Mapping[str, int] = {}


def text_of(victims: Iterable[Victim], conditions: Mapping[str, int]) -> str:
    """The document."""
    return msgspec.json.encode(Remembered(tuple(victims), conditions)).decode()


def remembered_in(text: str) -> Remembered:
    """What the document says; nothing where it is no such document."""
    try:
        return msgspec.json.decode(text, type=Remembered)
    except (msgspec.MsgspecError, UnicodeError):
        return Remembered()
