"""How long an operator waits before it starts again, and when it counts as started."""

from __future__ import annotations

import pytest

from simulation.operators.process import Start, next_pause_ns

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


@pytest.mark.parametrize(
    ("looks", "is_over"),
    [
        ("i" * 9, False),
        ("i" * 10, True),  # it waits for something else than the API server
        ("w" * 60, False),  # its imports take long on a busy machine
        ("iiiiiiiiiw", False),
        ("w" * 119, False),
        ("w" * 120, True),
    ],
)
def test_a_start_lasts_while_the_program_wants_cpu(looks: str, is_over: bool) -> None:
    start = Start()
    for look in looks:
        start = start.looked(wants_cpu=look == "w")
    assert start.is_over is is_over
