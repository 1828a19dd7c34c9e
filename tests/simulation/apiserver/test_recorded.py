"""The embedded API server beside a kube-apiserver 1.36.2.

`tools.recordings` has recorded the answers of the latter.
"""

from __future__ import annotations

import pytest

from simulation.validations.program import the_program
from tools.recordings.compare import embedded, floors, recorded, replayed, resources, shares_of

FLOORS = floors()


@pytest.mark.parametrize("resource", resources())
def test_it_answers_as_the_recorded_server_in_at_least_as_many_cases_as_before(resource: str) -> None:
    if resource == "admission_policies" and the_program() is None:
        pytest.skip("actorlet[cel] is not installed")
    with embedded() as send:
        shares = shares_of(list(replayed(recorded(resource), send)))
    floor = FLOORS[resource]
    assert shares.code >= floor.code, "status codes"
    assert shares.but_for_words >= floor.but_for_words, "answers but for words"
    assert shares.whole >= floor.whole, "answers to the letter"
    assert shares.words_of_refusals >= floor.words_of_refusals, "words of refusals"


def test_there_are_pairs_of_every_resource_with_a_smallest_object() -> None:
    assert sum(len(script.answers) for name in resources() for script in recorded(name)) >= 10_000
