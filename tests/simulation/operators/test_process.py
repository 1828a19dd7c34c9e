"""How long an operator waits before it starts again."""

from __future__ import annotations

import pytest

from simulation.operators.process import next_pause_ns

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("pause_s", "lived_s", "next_s"),
    [
        (None, 1, 0),  # the first end
        (0, 1, 10),
        (10, 1, 20),
        (160, 1, 300),
        (300, 1, 300),
        (300, 601, 0),  # it lived long: the next end is like the first
    ],
)
def test_the_pause_grows_as_that_of_a_pod(pause_s: int | None, lived_s: int, next_s: int) -> None:
    pause_ns = None if pause_s is None else pause_s * SECOND_NS
    assert next_pause_ns(pause_ns, lived_s * SECOND_NS) == next_s * SECOND_NS
