"""Seeded randomness: one small stream per concern, so that none disturbs another.

A stream is made from a text (`Chance("faults 7")`), and gives the same numbers on every machine, Python version and
hash seed. It is splitmix64: fast, small, and good enough to choose faults. Do not use it for secrets.
"""

from __future__ import annotations

import hashlib

_MASK = (1 << 64) - 1


class Chance:
    """A stream of numbers, determined by its seed text."""

    __slots__ = ("_state",)

    def __init__(self, seed: str) -> None:
        self._state = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")

    def bits(self) -> int:
        """64 random bits."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)

    def share(self) -> float:
        """A number from 0 to 1, without 1."""
        return (self.bits() >> 11) / (1 << 53)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.bits() % (high - low + 1)
