"""How soon a pass follows one that did something."""

from __future__ import annotations

from actors.pod.passes_in_a_row import FEW_CONTAINERS, FIRST_PAUSE_NS, SANDBOX_PASSES, PassesInARow, rest_ns


def pauses(row: PassesInARow, passes: int, containers: int = 1) -> list[int]:
    return [row.pause_ns(containers) // FIRST_PAUSE_NS for _ in range(passes)]


# (spec 2.7.10)
def test_the_passes_that_start_a_pod_of_many_containers_run_without_pauses():
    assert pauses(PassesInARow(), 12 + SANDBOX_PASSES, containers=12) == [0] * (12 + SANDBOX_PASSES)


def test_fruitless_passes_pause_twice_as_long_each_time_up_to_a_minute():
    assert pauses(PassesInARow(), 14) == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 64, 64]


def test_a_pass_without_work_resets_the_pause():
    row = PassesInARow()
    assert pauses(row, 7)[-1] == 4
    row.ended()
    assert pauses(row, 5) == [0, 0, 0, 0, 1]


def test_only_a_pod_of_many_containers_rests_between_passes_and_as_long_as_it_is_large():
    assert [rest_ns(containers) for containers in (0, 1, FEW_CONTAINERS)] == [0, 0, 0]
    assert rest_ns(4_000) == 4 * rest_ns(1_000) > 0
