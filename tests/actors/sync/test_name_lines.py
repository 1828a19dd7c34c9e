"""Lines of those who wait for a name: in the order of coming, but for who has run since before."""

from __future__ import annotations

from actors.sync.entries import NameLines


def test_who_came_first_goes_first_and_who_asks_again_keeps_its_place():
    lines = NameLines()
    for uid in ("a", "b", "a"):
        lines.join("web", uid)
    lines.join("other", "c")
    assert (lines.first("web"), lines.first("other"), lines.first("nobody's")) == ("a", "c", "")


def test_when_one_leaves_it_is_the_turn_of_the_next_and_at_last_of_nobody():
    lines = NameLines()
    for uid in ("a", "b", "c"):
        lines.join("web", uid)
    assert lines.leave("web", "b") == "a"
    assert lines.leave("web", "a") == "c"
    assert lines.leave("web", "c") == ""
    assert lines.first("web") == ""


def test_who_stands_in_no_line_leaves_none():
    lines = NameLines()
    lines.join("web", "a")
    assert lines.leave("web", "stranger") == ""
    assert lines.leave("other", "a") == ""
    assert lines.first("web") == "a"


def test_what_runs_already_goes_ahead_of_who_waits_and_stays_where_it_is():
    lines = NameLines()
    lines.join("web", "a")
    lines.goes_first("web", "runs")
    lines.goes_first("web", "a")
    assert lines.leave("web", "runs") == "a"
