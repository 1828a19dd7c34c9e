"""How two series differ."""

from __future__ import annotations

import pytest

from actors.kernel.recorded.differences import aligned


@pytest.mark.parametrize(
    ("was", "now", "differ"),
    [
        ("abc", "abc", []),
        ("abc", "abd", [("c", "d")]),
        ("abc", "ac", [("b", None)]),
        ("ac", "abc", [(None, "b")]),
        ("abc", "xbc", [("a", "x")]),
        ("", "ab", [(None, "a"), (None, "b")]),
        ("ab", "", [("a", None), ("b", None)]),
        ("abc", "cab", [(None, "c"), ("c", None)]),
        ("abcd", "xyzd", [("a", "x"), ("b", "y"), ("c", "z")]),
    ],
)
def test_series_are_aligned(was: str, now: str, differ: list[tuple[str | None, str | None]]):
    found = aligned(len(was), len(now), lambda one, other: was[one] == now[other])
    assert [
        (None if one is None else was[one], None if other is None else now[other]) for one, other in found
    ] == differ
