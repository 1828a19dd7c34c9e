"""What the disk has of the book of allocations, in whatever order the writes end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.resources.book_saves import AT_ONCE, UNKNOWN, BookSaves


def changed(times: int = 1) -> BookSaves:
    saves = BookSaves()
    for _ in range(times):
        saves.changed()
    return saves


def test_one_write_at_a_time_and_the_next_has_all_that_came_meanwhile() -> None:
    saves = changed()
    first = saves.begin()
    assert first is not None
    saves.changed()
    assert saves.begin() is None
    assert saves.ended(first, "") == 1
    second = saves.begin()
    assert second is not None
    assert saves.ended(second, "") == 2
    assert saves.is_saved()
    assert saves.begin() is None


def test_one_write_that_hangs_holds_up_no_other() -> None:
    saves = changed()
    hung = saves.begin()
    assert hung is not None
    assert saves.late(hung)
    beside = saves.begin()
    assert beside is not None
    assert saves.ended(beside, "") == 1
    assert saves.begin() is None
    saves.changed()
    under_way = saves.begin()
    assert under_way is not None
    assert saves.ended(hung, "no answer") == 1, "the pod of version 2 still waits for its own write"
    assert saves.ended(under_way, "") == 2
    assert saves.is_saved()


def test_an_old_version_that_comes_late_is_written_over() -> None:
    saves = changed()
    hung = saves.begin()
    assert hung is not None
    saves.late(hung)
    saves.changed()
    newer = saves.begin()
    assert newer is not None
    saves.ended(newer, "")
    assert saves.is_saved()
    saves.ended(hung, "")
    assert not saves.is_saved()
    assert saves.begin() is not None


def test_no_pod_waits_for_a_disk_that_hangs_or_fails() -> None:
    saves = changed()
    hung = [saves.begin(), None]
    assert hung[0] is not None
    saves.late(hung[0])
    hung[1] = saves.begin()
    assert hung[1] is not None
    saves.late(hung[1])
    saves.changed()
    assert saves.begin() is None, "no more writes pile up"
    assert saves.ended(hung[0], "no answer") == 2
    full = changed(3)
    number = full.begin()
    assert number is not None
    assert full.ended(number, "no space left") == 3


@given(st.lists(st.sampled_from(["change", "late", "end", "fail", "end the first"]), max_size=60))
def test_the_last_write_decides_what_counts_as_saved(steps: list[str]) -> None:
    saves, under_way, late, on_disk = BookSaves(), dict[int, int](), set[int](), 0

    def begin() -> None:
        number = saves.begin()
        if number is not None:
            under_way[number] = saves.version

    for step in steps:
        if step == "change":
            saves.changed()
        elif under_way:
            number = min(under_way) if step == "end the first" else max(under_way)
            if step == "late":
                late.add(number)
                saves.late(number)
            else:
                version = under_way.pop(number)
                if step != "fail":
                    on_disk = version
                elif number in late:
                    on_disk = UNKNOWN
                saves.ended(number, "no" if step == "fail" else "")
        begin()
        assert len(under_way) <= AT_ONCE
        assert saves.saved == on_disk
    assert saves.is_saved() or under_way
