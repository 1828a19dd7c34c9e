"""The eviction decisions and node conditions that are saved to disk for the next agent. Pure.

If an agent dies between a decision and the pod's end, the next agent ends the same pod with the same message. Only then
does it look for another victim. It also restores the node conditions, so that a restart does not attract pods that the
scheduler has sent elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.eviction.words import Annotations
from runtime.files.state_file import VERSION


class EvictionVictim(msgspec.Struct, frozen=True):
    """A pod to evict, and all that its worker and users are told.

    `signal`: what the eviction is counted under.
    """

    uid: str
    message: str
    grace_seconds: int
    disrupted: bool
    signal: str = ""
    annotations: Annotations = ()


class Remembered(msgspec.Struct, frozen=True):
    """The saved document. `conditions`: when each node condition was last seen, wall time in ns."""

    victims: tuple[EvictionVictim, ...] = ()
    conditions: Mapping[str, int] = {}
    version: int = VERSION


def text_of(victims: Iterable[EvictionVictim], conditions: Mapping[str, int]) -> str:
    return msgspec.json.encode(Remembered(tuple(victims), conditions)).decode()


_decode_remembered = msgspec.json.Decoder(Remembered).decode


def remembered_in(text: bytes) -> Remembered:
    """Parse the document. Raises msgspec.MsgspecError."""
    return _decode_remembered(text)
