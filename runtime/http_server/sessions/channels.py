"""The protocol `v5.channel.k8s.io` of websockets, translated to streams of SPDY (spec 11.3).

The first byte of each message names a channel, and channel 255 ends the one that its next byte names. Each channel is a
stream towards the runtime. What a client says of a channel that it does not write is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.http_server.sessions.sessions import Streams
from runtime.http_server.sessions.spdy import Opener, data

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PIECE_BYTES = 32 * 1024
_NAMES = {ERROR: "error", STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", RESIZE: "resize"}
_OF_CLIENT = (STDIN, RESIZE)


class Channels:
    """The channels of one session.

    `opening`: the frames that open its streams. `from_runtime`: stream -> channel, for the streams that the client
    reads.
    """

    def __init__(self, streams: Streams) -> None:
        wanted = {
            ERROR: True,
            STDIN: streams.stdin,
            STDOUT: streams.stdout,
            STDERR: streams.stderr,
            RESIZE: streams.tty,
        }
        opener = Opener()
        opened = {each: opener.open({"streamType": _NAMES[each]}) for each, is_wanted in wanted.items() if is_wanted}
        self.opening = b"".join(frame for _, frame in opened.values())
        self.from_runtime: Mapping[int, int] = {
            number: channel for channel, (number, _) in opened.items() if channel not in _OF_CLIENT
        }
        self._to_runtime = {channel: number for channel, (number, _) in opened.items() if channel in _OF_CLIENT}

    def heard(self, message: bytes) -> Iterator[bytes]:
        """The frames for the runtime that a message of the client becomes."""
        if message[:1] == bytes([CLOSE]):
            stream = self._to_runtime.pop(message[1], None) if len(message) > 1 else None
            if stream is not None:
                yield data(stream, b"", last=True)
        elif message and message[0] in self._to_runtime:
            for at in range(1, len(message), PIECE_BYTES):
                yield data(self._to_runtime[message[0]], message[at : at + PIECE_BYTES])
