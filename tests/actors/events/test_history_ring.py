"""A bounded history keeps its beginning and its end, and counts what repeats itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.events.historian import FIRST, LAST, WINDOW, HistoryRing
from actors.messages.history import HistoryEntry, HistoryKind

EVENT = HistoryKind.EVENT


def entry(text: str, at: int = 0, kind: HistoryKind = EVENT, detail: str = "") -> HistoryEntry:
    return HistoryEntry(kind, text, detail, at, at)


def ring(*entries: HistoryEntry) -> HistoryRing:
    made = HistoryRing()
    made.add(entries)
    return made


def texts(made: HistoryRing) -> list[str]:
    return [each.text for each in made.entries()]


def test_a_repeated_entry_keeps_count_first_time_last_time_and_last_detail():
    made = ring(entry("started", 1, detail="1st"), entry("ended", 2), entry("started", 3, detail="2nd"))
    assert made.entries() == (entry("ended", 2), HistoryEntry(EVENT, "started", "2nd", 1, 3, 2))


def test_stages_are_never_counted_together():
    stage = HistoryKind.STAGE
    assert texts(ring(entry("syncing", 1, stage), entry("syncing", 2, stage))) == ["syncing", "syncing"]


def test_equal_texts_about_different_things_are_separate_entries():
    assert len(ring(entry("x", 1), entry("x", 2, HistoryKind.FAILURE)).entries()) == 2


def test_an_old_entry_is_not_merged_with_a_new_one():
    between = [entry(str(number), 1 + number) for number in range(WINDOW)]
    assert texts(ring(entry("old", 0), *between, entry("old", 99))).count("old") == 2


def test_the_middle_is_forgotten_and_counted():
    made = ring(*(entry(str(number), number) for number in range(FIRST + LAST + 7)))
    assert made.dropped == 7
    assert texts(made) == [*map(str, range(FIRST)), *map(str, range(FIRST + 7, FIRST + LAST + 7))]


def test_a_late_entry_is_placed_by_its_time():
    assert texts(ring(entry("now", 5), entry("ended before", 1))) == ["ended before", "now"]


@given(st.lists(st.tuples(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), st.integers(0, 1000)), max_size=300))
def test_the_history_ring_is_bounded_and_loses_no_count(happened: list[tuple[str, int]]):
    made = HistoryRing()
    for at, (text, _) in enumerate(happened):
        made.add((entry(text, at),))
    kept = made.entries()
    assert len(kept) <= FIRST + LAST
    assert made.dropped or sum(each.count for each in kept) == len(happened)
    assert [each.last_wall_ns for each in kept] == sorted(each.last_wall_ns for each in kept)
    assert not happened or kept[-1].text == happened[-1][0]


@given(st.lists(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=60), max_size=12))
def test_batching_does_not_change_which_entries_are_kept(portions: list[list[str]]):
    in_portions, one_by_one = HistoryRing(), HistoryRing()
    for at, portion in enumerate(portions):
        in_portions.add([entry(text, at) for text in portion])
        for text in portion:
            one_by_one.add((entry(text, at),))
            one_by_one.entries()  # whoever asks has all of it put in its place
    assert in_portions.entries() == one_by_one.entries()
    assert in_portions.dropped == one_by_one.dropped
