"""What a worker tells of its pod for `explain`: few and short words, whatever the size of the pod."""

from __future__ import annotations

from typing import Any

from actors.events.history_words import DETAIL_LIMIT
from actors.messages.history import WAITING_FIRST, WAITING_LAST, HistoryKind, NoteHistory, PodWait
from actors.pod.history import WAITS_AT_MOST, PodHistory


class Both:
    """The worker, which knows the time, and the historian, which is told."""

    def __init__(self) -> None:
        self.told: list[NoteHistory] = []

    def wall_ns(self) -> int:
        return 1

    def tell(self, message: NoteHistory) -> None:
        self.told.append(message)


def history() -> tuple[PodHistory, Both]:
    both: Any = Both()
    return PodHistory(both, "uid", both), both


def test_of_thousands_of_waits_the_first_are_told_and_that_there_are_more() -> None:
    pod, both = history()
    pod.waits(tuple(PodWait(f"container c{number}", "", "it is pulled", "") for number in range(3_000)))
    pod.tell()
    waits = both.told[0].waits or ()
    assert [each.subject for each in waits[:2]] == ["container c0", "container c1"]
    assert len(waits) == WAITS_AT_MOST + 1
    assert waits[-1].text == "it waits for more than is told here"


def test_of_thousands_of_entries_the_first_and_the_last_are_told() -> None:
    pod, both = history()
    for number in range(3_000):
        pod.note(HistoryKind.EVENT, f"{number}")
    pod.tell()
    texts = [entry.text for entry in both.told[0].entries]
    assert (texts[0], texts[-1], len(texts)) == ("0", "2999", WAITING_FIRST + WAITING_LAST)


def test_a_wait_for_an_image_with_a_name_of_a_megabyte_is_told_in_short() -> None:
    pod, both = history()
    pod.waits((PodWait("container app", "", f"its image {'x' * 10**6} is being pulled", ""),))
    pod.tell()
    (wait,) = both.told[0].waits or ()
    assert wait.text.startswith("its image xxx")
    assert len(wait.text) <= DETAIL_LIMIT
