"""How the lines of a terminal are shared out among the parts of `actorlet up`. Pure.

The reasons why manifests are refused come first: each is shown whole. Pods come next, then pulls; actors get what is
left. Whatever is left out is counted on a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_BLANK = 1
"""Before each part."""
_HEADING = 1
_MORE = 1
"""The line that counts what is left out."""
_PODS_AT_LEAST = 3
_PULLS_AT_MOST = 4
_ACTORS_AT_LEAST = 3
"""Fewer tell nothing; then one line counts them all."""


@dataclass(frozen=True, slots=True)
class ShownRows:
    """How many of each kind are shown.

    `actors`: with the line that counts the others; 0 for a count alone.
    """

    told: int
    pods: int
    pulls: int
    actors: int


def share_out(height: int, pods: int, pulls: int, told: Sequence[int]) -> ShownRows:
    """`height`: free lines. `told`: the number of lines of each thing to tell, the most important first."""
    shown_pods = min(pods, _PODS_AT_LEAST)
    left = height - _BLANK - _HEADING - _rows(shown_pods, pods) - _BLANK - _MORE
    if pulls:
        left -= _BLANK + _MORE
    shown_told = _fitting(told, left - _BLANK)
    if told:
        left -= _BLANK + sum(told[:shown_told]) + (_MORE if shown_told < len(told) else 0)
    shown_pulls = min(pulls, _PULLS_AT_MOST) if left > 2 * _PULLS_AT_MOST else 0
    if shown_pulls:
        left -= _HEADING + _rows(shown_pulls, pulls) - _MORE
    room = left + _rows(shown_pods, pods)
    if pods > shown_pods:
        shown_pods = pods if pods <= room else max(room - _MORE, shown_pods)
    actors = room - _rows(shown_pods, pods) + _MORE - _HEADING
    return ShownRows(shown_told, shown_pods, shown_pulls, actors if actors > _ACTORS_AT_LEAST else 0)


def _rows(shown: int, of: int) -> int:
    return shown + (_MORE if shown < of else 0)


def _fitting(heights: Sequence[int], room: int) -> int:
    """How many fit, with a line for the count of the others."""
    used = 0
    for number, height in enumerate(heights):
        used += height
        if used + (_MORE if number + 1 < len(heights) else 0) > room:
            return number
    return len(heights)
