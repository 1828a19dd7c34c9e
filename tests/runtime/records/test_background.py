"""Nobody who records waits for a disk: what the queue does not take is a gap, and says so."""

from __future__ import annotations

import random
import threading
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.records.background import WHY_GAP, BackgroundRecording
from runtime.records.ring import SIZE_AT_LEAST_BYTES, SegmentRing, segments_of
from runtime.records.segments import SegmentReader
from tests.real.waiting import until

WAIT_S = 20.0


class Plain:
    """Entries are whole numbers and texts."""

    def header(self) -> bytes:
        return b"header"

    def payload(self, entries: list[Any]) -> bytes:
        return msgspec.msgpack.encode(entries)

    def lost(self, why: str) -> Any:
        return why


class HangingRing(SegmentRing):
    """Its disk hangs until `let_go`."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, SIZE_AT_LEAST_BYTES)
        self.let_go = threading.Event()
        self.hangs = threading.Event()

    def add(self, payload: bytes) -> int:
        self.hangs.set()
        assert self.let_go.wait(WAIT_S)
        return super().add(payload)


class BrokenRing(SegmentRing):
    def add(self, payload: bytes) -> int:
        raise OSError(5, "Input/output error")


def entries_in(folder: Path) -> list[Any]:
    found: list[Any] = []
    for path in segments_of(str(folder)):
        with open(path, "rb") as file:
            segment = SegmentReader(file)
            segment.begin()
            for payload in segment.payloads():
                found += msgspec.msgpack.decode(payload)
    return found


def test_all_entries_are_written_in_order(tmp_path: Path):
    ring = SegmentRing(str(tmp_path), SIZE_AT_LEAST_BYTES)
    ring.open()
    recording = BackgroundRecording(ring, Plain())
    recording.start()
    for number in range(1000):
        recording.note(number)
    recording.close()
    assert entries_in(tmp_path) == list(range(1000))


def test_a_disk_that_hangs_holds_nobody_up_and_the_record_ends_with_the_reason(tmp_path: Path):
    ring = HangingRing(str(tmp_path))
    ring.open()
    recording = BackgroundRecording(ring, Plain(), entries_at_most=100)
    recording.start()
    recording.note(0)
    assert ring.hangs.wait(WAIT_S)
    for number in range(1, 1000):
        recording.note(number)
    ring.let_go.set()
    recording.close()
    assert entries_in(tmp_path) == [*range(101), "more was to be recorded than the disk took"]


def test_a_broken_disk_ends_the_record_and_lets_the_folder_go(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    ring = BrokenRing(str(tmp_path), SIZE_AT_LEAST_BYTES)
    ring.open()
    recording = BackgroundRecording(ring, Plain())
    recording.start()
    recording.note(0)
    recording.close()
    recording.note(1)
    assert "nothing is recorded any more: [Errno 5] Input/output error" in caplog.text
    SegmentRing(str(tmp_path), SIZE_AT_LEAST_BYTES).open()


class Named(Plain):
    """The entries of a run that says its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def header(self) -> bytes:
        return self.name.encode()


def headers_in(folder: Path) -> list[str]:
    found = []
    for path in segments_of(str(folder)):
        with open(path, "rb") as file:
            found.append(SegmentReader(file).begin().decode())
    return found


def test_another_run_has_segments_of_its_own(tmp_path: Path):
    ring = SegmentRing(str(tmp_path), SIZE_AT_LEAST_BYTES)
    ring.open()
    recording = BackgroundRecording(ring, Named("one"))
    recording.start()
    recording.note(1)
    recording.begin(Named("two"))
    recording.note(2)
    recording.note(3)
    recording.close()
    assert headers_in(tmp_path) == ["one", "two"]
    assert entries_in(tmp_path) == [1, 2, 3]


def test_another_run_can_begin_after_a_gap(tmp_path: Path):
    ring = HangingRing(str(tmp_path))
    ring.open()
    recording = BackgroundRecording(ring, Named("one"), entries_at_most=2)
    recording.start()
    recording.note(0)
    assert ring.hangs.wait(WAIT_S)
    for number in range(1, 10):
        recording.note(number)
    assert not recording.has_gap(), "what has come is not written yet"
    ring.let_go.set()
    until(recording.has_gap, WAIT_S, "the gap is not written")
    recording.begin(Named("two"))
    recording.note(10)
    recording.close()
    assert headers_in(tmp_path) == ["one", "two"]
    assert entries_in(tmp_path) == [0, 1, 2, WHY_GAP, 10]


def grew(recording: BackgroundRecording, before: int) -> bool:
    return recording.written_bytes > before


def test_a_run_whose_beginning_made_room_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    ring = SegmentRing(str(tmp_path), SIZE_AT_LEAST_BYTES)
    ring.open()
    recording = BackgroundRecording(ring, Named("one"))
    recording.start()
    chance = random.Random(1)
    for _ in range(40):
        before = recording.written_bytes
        recording.note(chance.randbytes(SIZE_AT_LEAST_BYTES // 20))
        until(partial(grew, recording, before), WAIT_S, "it is not written")
    recording.close()
    assert ring.removed
    assert caplog.text.count("made room for what came later") == 1
    assert recording.run_bytes > SIZE_AT_LEAST_BYTES
