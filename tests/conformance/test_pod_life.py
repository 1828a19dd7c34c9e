"""The list of a pod's life is true.

What it names as a test is one, and what is not on containerd says why.
"""

from __future__ import annotations

import pytest

from tests.conformance.named_tests import exists
from tests.conformance.pod_life import ELSEWHERE, ON_CONTAINERD

REAL = "tests/real/"


@pytest.mark.parametrize("bullet", ON_CONTAINERD)
def test_behaviours_shown_on_containerd_name_real_tests(bullet: str):
    assert ON_CONTAINERD[bullet]
    for place in ON_CONTAINERD[bullet]:
        assert place.startswith(REAL), place
        assert exists(place), place


@pytest.mark.parametrize("bullet", ELSEWHERE)
def test_behaviours_shown_elsewhere_say_why_and_where(bullet: str):
    why, places = ELSEWHERE[bullet]
    assert why
    assert places
    for place in places:
        assert not place.startswith(REAL), place
        assert exists(place), place


def test_nothing_is_in_both_lists():
    assert not ON_CONTAINERD.keys() & ELSEWHERE.keys()
