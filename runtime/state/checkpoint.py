"""The checksum of a kubelet's checkpoint.

The file is a JSON object with `data`, which is JSON in a string, and `checksum`.

A kubelet refuses a file whose checksum does not fit. Whoever writes to a real disk adds it here: it costs time for each
byte, on a lane and not in an actor's turn.
"""

from __future__ import annotations

import msgspec

from config.values.go_dump import TEXT_BEGINS, hash_of_text

BLOCK_BYTES = 1024


class _Checkpoint(msgspec.Struct):
    data: str


_decode_checkpoint = msgspec.json.Decoder(_Checkpoint).decode


class Checksums:
    """Checksums of texts that mostly begin as the one before.

    Hashes only what follows their common beginning.

    Several threads may use it: they replace what it remembers as a whole.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, tuple[int, ...]] = (b"", ())
        """A text, and the hash of its beginning up to the end of each whole block."""

    def added(self, content: bytes) -> bytes:
        """The same JSON object with the member `checksum`. Raises msgspec.MsgspecError for what has no `data`."""
        data = _decode_checkpoint(content).data
        return content[: content.rindex(b"}")] + b',"checksum":%d}' % self.of(data.encode())

    def of(self, text: bytes) -> int:
        before, states = self._last
        same = 0
        while same < len(states) and text.startswith(
            before[same * BLOCK_BYTES : (same + 1) * BLOCK_BYTES], same * BLOCK_BYTES
        ):
            same += 1
        known = list(states[:same])
        state = known[-1] if known else TEXT_BEGINS
        for begin in range(same * BLOCK_BYTES, len(text), BLOCK_BYTES):
            block = text[begin : begin + BLOCK_BYTES]
            state = hash_of_text(block, state)
            if len(block) == BLOCK_BYTES:
                known.append(state)
        self._last = text, tuple(known)
        return state
