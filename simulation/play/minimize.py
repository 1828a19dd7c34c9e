"""The search behind shrinking: the fewest things, and the smallest number.

It knows nothing of what it searches.

Both ask one question: does a candidate `still` fail? They start from something that fails, and what they return still
fails. Neither promises the global minimum: two things that can only be left out together may stay. The order of
questions depends only on the answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def minimize(things: tuple[T, ...], still: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of `things` from which no single one can be left out.

    Delta debugging, with complements only. Leaving out all is tried first, then halves, then ever smaller pieces.
    """
    pieces = 1
    while things:
        size = -(-len(things) // pieces)
        for start in range(0, len(things), size):
            rest = things[:start] + things[start + size :]
            if still(rest):
                things = rest
                pieces = max(1, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(things), 2 * pieces)
    return things


def smallest(number: int, at_least: int, still: Callable[[int], bool]) -> int:
    """A small number from `at_least` to `number` that still fails.

    Small numbers are tried first, since they are cheap, each twice the one before. Then the gap is halved.
    """
    too_small, found = at_least - 1, number
    tried = at_least
    while tried < number:
        if still(tried):
            found = tried
            break
        too_small, tried = tried, 2 * tried + (tried == 0)
    while found - too_small > 1:
        middle = (found + too_small) // 2
        if still(middle):
            found = middle
        else:
            too_small = middle
    return found
