"""How many seeds a simulated test plays: a few, or as many as `ACTORLET_SEEDS` says.

`tox -e seeds` runs everything that is marked here, over 200. A test whose world is small takes one seed at a time
(`over_seeds`). A test that must reach something rare takes sets of seeds (`over_sets_of_seeds`).
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "ACTORLET_SEEDS"


def over_seeds(few: int) -> pytest.MarkDecorator:
    """The test's `seed` is each of 1 to `few`, or to what the variable says."""
    return pytest.mark.parametrize("seed", [_param(seed, str(seed)) for seed in _seeds(few)])


def over_sets_of_seeds(few: int, in_a_set: int = 10) -> pytest.MarkDecorator:
    """The test's `seeds` is a range: one of `few`, or as many ranges of `in_a_set` as are needed."""
    return pytest.mark.parametrize("seeds", [_param(each, _words(each)) for each in _sets(_seeds(few), in_a_set)])


def _seeds(few: int) -> range:
    return range(1, int(os.environ.get(VARIABLE) or few) + 1)


def _sets(seeds: range, in_a_set: int) -> list[range]:
    return [seeds[first : first + in_a_set] for first in range(0, len(seeds), in_a_set)]


def _words(seeds: range) -> str:
    return f"{seeds[0]}..{seeds[-1]}"


def _param(value: object, words: str) -> object:
    return pytest.param(value, marks=pytest.mark.seeds, id=words)
