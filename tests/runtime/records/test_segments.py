"""One file of a record: readable up to its last whole frame, wherever it was cut off."""

from __future__ import annotations

import io

import pytest

from runtime.records.segments import MAGIC, SegmentEncoder, SegmentError, SegmentReader

PAYLOADS = [b"first" * 100, b"", b"second", b"\0" * 5000]


def a_segment() -> bytes:
    encoder = SegmentEncoder()
    return encoder.begin(b"header") + b"".join(encoder.piece(payload) for payload in PAYLOADS)


def read(data: bytes) -> tuple[bytes, list[bytes], str]:
    """The header, the payloads, and how it ends."""
    segment = SegmentReader(io.BytesIO(data))
    header = segment.begin()
    return header, list(segment.payloads()), segment.torn


def test_what_was_written_is_read():
    assert read(a_segment()) == (b"header", PAYLOADS, "")


def test_a_segment_that_was_cut_off_anywhere_is_good_up_to_its_last_whole_frame():
    data = a_segment()
    beginning = len(SegmentEncoder().begin(b"header"))
    for length in range(beginning, len(data)):
        _, payloads, torn = read(data[:length])
        assert payloads == PAYLOADS[: len(payloads)]
        assert len(payloads) < len(PAYLOADS)
        assert torn in ("", "the last frame was cut off")


def test_every_flipped_byte_is_noticed():
    data = a_segment()
    for place in range(len(MAGIC) + 8, len(data), 3):
        damaged = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        try:
            header, payloads, torn = read(damaged)
        except SegmentError:
            continue
        assert torn
        assert (header, payloads) == (b"header", PAYLOADS[: len(payloads)])


@pytest.mark.parametrize("data", [b"", b"something else entirely", MAGIC, MAGIC + b"\0\0"])
def test_what_is_no_segment_is_refused(data: bytes):
    with pytest.raises(SegmentError):
        read(data)
