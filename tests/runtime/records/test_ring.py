"""The segments of a folder: bounded, private, of one writer; the oldest make room."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.records.ring import SIZE_AT_LEAST_BYTES, RingError, SegmentRing, segments_of

NOISE = random.Random(1).randbytes(40_000)
"""It cannot be compressed."""


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[SegmentRing]:
    ring = SegmentRing(str(tmp_path / "record"), SIZE_AT_LEAST_BYTES)
    ring.open()
    yield ring
    ring.close()


def write(ring: SegmentRing, payloads: int) -> None:
    for number in range(payloads):
        if ring.is_full():
            ring.begin(b"header")
        ring.add(number.to_bytes(4, "big") + NOISE)


def test_the_oldest_segments_make_room_within_the_size(ring: SegmentRing):
    write(ring, 100)
    paths = segments_of(ring.folder)
    assert sum(os.path.getsize(path) for path in paths) <= SIZE_AT_LEAST_BYTES
    assert ring.removed > 0
    assert os.path.basename(paths[0]) > "0000000001.segment"


def test_files_are_private(ring: SegmentRing):
    write(ring, 1)
    assert {os.stat(path).st_mode & 0o777 for path in segments_of(ring.folder)} == {0o600}
    assert os.stat(ring.folder).st_mode & 0o777 == 0o700


def test_the_next_writer_goes_on_with_higher_numbers_and_counts_the_old_ones(ring: SegmentRing):
    write(ring, 20)
    ring.close()
    after = SegmentRing(ring.folder, SIZE_AT_LEAST_BYTES)
    after.open()
    write(after, 100)
    after.close()
    assert sum(os.path.getsize(path) for path in segments_of(ring.folder)) <= SIZE_AT_LEAST_BYTES


def test_a_second_writer_of_a_folder_is_refused(ring: SegmentRing):
    with pytest.raises(RingError, match="another agent records into"):
        SegmentRing(ring.folder, SIZE_AT_LEAST_BYTES).open()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(RingError, match="cannot be used for a record"):
        SegmentRing(str(tmp_path / "file" / "record"), SIZE_AT_LEAST_BYTES).open()


class FullDisk:
    """`os.write` on a disk that takes `room` bytes beside what is removed."""

    def __init__(self, folder: str, room: int) -> None:
        self._folder = folder
        self._room = room
        self._write = os.write

    def __call__(self, descriptor: int, data: Any) -> int:
        used = sum(os.path.getsize(path) for path in segments_of(self._folder))
        left = self._room - used
        if left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(descriptor, data[:left])


def test_a_full_disk_takes_the_oldest_segments_first(ring: SegmentRing, monkeypatch: pytest.MonkeyPatch):
    write(ring, 8)
    monkeypatch.setattr(os, "write", FullDisk(ring.folder, 200_000))
    write(ring, 20)
    assert ring.removed > 0
    assert 0 < sum(os.path.getsize(path) for path in segments_of(ring.folder)) <= 200_000


def test_a_disk_that_takes_nothing_is_an_error_of_the_system(ring: SegmentRing, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "write", FullDisk(ring.folder, 0))
    with pytest.raises(OSError, match="No space left"):
        write(ring, 1)
