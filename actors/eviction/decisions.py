"""Who has been decided on, as it is kept on the disk until the API knows of the end. Pure.

An agent that dies between the decision and the end leaves this behind: the next one ends the same pod, with the same
words, before it looks for another.
"""

from __future__ import annotations

from collections.abc import Iterable

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


class _Saved(msgspec.Struct, frozen=True):
    victims: tuple[Victim, ...] = ()


def text_of(victims: Iterable[Victim]) -> str:
    """The document."""
    return msgspec.json.encode(_Saved(tuple(victims))).decode()


def victims_in(text: str) -> tuple[Victim, ...]:
    """What the document says; nobody where it is no such document."""
    try:
        return msgspec.json.decode(text, type=_Saved).victims
    except (msgspec.MsgspecError, UnicodeError):
        return ()
