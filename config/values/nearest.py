"""The known word that a mistyped one was probably meant to be. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_ALIKE = 0.65
"""How alike two words must be, from 0 to 1."""
_LONGEST = 100
"""Longer words are compared by their beginning: the time grows with the square of the length."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, whatever their case; empty when none is like it."""
    import difflib  # slow to import, and only for who mistypes

    folded = {each.casefold(): each for each in sorted(known, reverse=True)}
    near = difflib.get_close_matches(word[:_LONGEST].casefold(), folded, 1, _ALIKE)
    return folded[near[0]] if near else ""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """`did you mean WORD?` with the nearest known word; `otherwise` when none is near."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near else otherwise
