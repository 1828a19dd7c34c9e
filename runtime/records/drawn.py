"""What is drawn at random for each record."""

from __future__ import annotations

import secrets
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drawn:
    """`run` names the agent, `seed` is that of its actors' chance. `key` is secret and is never written."""

    run: str
    seed: int
    key: bytes


def draw() -> Drawn:
    """New ones."""
    return Drawn(secrets.token_hex(8), secrets.randbits(63), secrets.token_bytes(32))
