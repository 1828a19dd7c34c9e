"""Watches that share one observer.

Each hears its own events, and one that fails or ends leaves the others alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.events import FileCreatedEvent, FileSystemEvent

from runtime.files.watch import FileWatch

WAIT = 120


class Listener:
    """A watch for new files in a directory, and what it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._news = threading.Condition()
        self.watch = FileWatch(self._hear, kinds=(FileCreatedEvent,))

    def _hear(self, event: FileSystemEvent) -> None:
        with self._news:
            self.heard.append(Path(str(event.src_path)).name)
            self._news.notify_all()

    def waits_for(self, name: str) -> bool:
        with self._news:
            return self._news.wait_for(lambda: name in self.heard, WAIT)


@pytest.fixture
def two() -> Iterator[tuple[Listener, Listener]]:
    listeners = Listener(), Listener()
    yield listeners
    for each in listeners:
        each.watch.close()


def observers() -> list[str]:
    return [each.name for each in threading.enumerate() if "Observer" in type(each).__name__]


def test_two_watches_of_one_directory_hear_the_same_and_end_alone(
    tmp_path: Path, two: tuple[Listener, Listener]
) -> None:
    one, other = two
    for each in two:
        each.watch.move_to(str(tmp_path))
    (tmp_path / "first").touch()
    assert one.waits_for("first")
    assert other.waits_for("first")
    one.watch.close()
    (tmp_path / "second").touch()
    assert other.waits_for("second")
    assert one.heard == ["first"]


def test_a_replaced_directory_is_watched_by_all_when_one_has_moved_there(
    tmp_path: Path, two: tuple[Listener, Listener]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for each in two:
        each.watch.move_to(str(place))
    place.rename(tmp_path / "old")
    place.mkdir()
    two[0].watch.move_to(str(place))
    (place / "new").touch()
    assert two[0].waits_for("new")
    assert two[1].waits_for("new")


def test_a_listener_that_fails_is_told_the_next_change_too(tmp_path: Path, two: tuple[Listener, Listener]) -> None:
    calls: list[str] = []

    def fail(event: FileSystemEvent) -> None:
        calls.append(str(event.src_path))
        raise ValueError("a fault of the listener")

    failing = FileWatch(fail, kinds=(FileCreatedEvent,))
    failing.move_to(str(tmp_path))
    two[0].watch.move_to(str(tmp_path))
    for name in ("a", "b"):
        (tmp_path / name).touch()
        assert two[0].waits_for(name)
    failing.close()
    assert len(calls) == 2


def test_a_path_that_is_not_there_is_an_error_and_can_be_watched_later(
    tmp_path: Path, two: tuple[Listener, Listener]
) -> None:
    place = tmp_path / "later"
    with pytest.raises(FileNotFoundError):
        two[0].watch.move_to(str(place))
    place.mkdir()
    two[0].watch.move_to(str(place))
    (place / "new").touch()
    assert two[0].waits_for("new")


def test_one_observer_runs_while_there_are_watches(tmp_path: Path, two: tuple[Listener, Listener]) -> None:
    for ending in [each for each in threading.enumerate() if "Observer" in type(each).__name__]:
        ending.join(WAIT)  # that of an earlier test, on a busy machine
    for number, each in enumerate(two):
        place = tmp_path / str(number)
        place.mkdir()
        each.watch.move_to(str(place))
    assert len(observers()) == 1
    running = [each for each in threading.enumerate() if "Observer" in type(each).__name__]
    for each in two:
        each.watch.close()
    running[0].join(WAIT)
    assert observers() == []
