"""The list of behaviours is true: what it names as a test is one, and nothing is said twice."""

from __future__ import annotations

import pytest

from tests.conformance.behaviours import COVERED, NOT_COVERED
from tests.conformance.named_tests import exists


@pytest.mark.parametrize("behaviour", COVERED)
def test_the_tests_of_a_behaviour_exist(behaviour: str):
    assert COVERED[behaviour]
    for place in COVERED[behaviour]:
        assert exists(place), place


def test_a_behaviour_is_shown_or_it_is_said_why_not():
    assert not COVERED.keys() & NOT_COVERED.keys()
    assert all(NOT_COVERED.values())
