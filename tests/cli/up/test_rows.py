"""How many rows of each part of `actorlet up` a terminal has room for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cli.up.rows import ShownRows, share_out


def lines(shown: ShownRows, pods: int, pulls: int, told: list[int]) -> int:
    """The lines that are drawn, with a blank one before each part."""
    used = 2 + shown.pods + (shown.pods < pods)
    used += 2 + shown.actors if shown.actors else 2
    if pulls:
        used += 1 + (1 if shown.pulls else 0) + shown.pulls + (shown.pulls < pulls)
    if told:
        used += 1 + sum(told[: shown.told]) + (shown.told < len(told))
    return used


@given(st.integers(14, 80), st.integers(0, 120), st.integers(0, 20), st.lists(st.integers(1, 4), max_size=30))
def test_the_shown_rows_fit_and_always_include_pods(height: int, pods: int, pulls: int, told: list[int]) -> None:
    shown = share_out(height, pods, pulls, told)
    assert lines(shown, pods, pulls, told) <= height
    assert min(pods, 3) <= shown.pods <= pods
    assert 0 <= shown.pulls <= pulls
    assert 0 <= shown.told <= len(told)


def test_all_is_shown_where_there_is_room() -> None:
    assert share_out(60, 10, 2, [2, 2]) == ShownRows(2, 10, 2, 60 - 1 - 1 - 10 - 1 - 1 - 1 - 1 - 2 - 1 - 4)


def test_reasons_come_before_pods_and_pods_before_actors() -> None:
    assert share_out(20, 40, 0, [2, 2, 2]) == ShownRows(told=3, pods=8, pulls=0, actors=0)
    assert share_out(20, 40, 0, [3] * 9) == ShownRows(told=3, pods=4, pulls=0, actors=0)
