"""The entries of a record as bytes, and back.

`docs/reference/records.md` is the page for other readers.

A payload is a MessagePack array of entries. An entry is an array: a letter, then its fields. Steps have the time since
the entry before that has one, in ns. Values are bytes (`values`), what actors did is MessagePack (`written`). Long ones
that come again are the number of the first in the segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.kernel.recorded.entries import (
    Began,
    Called,
    CalledBack,
    ClockSet,
    Closed,
    EffectDone,
    Ended,
    EndedAtOnce,
    Entry,
    Lost,
    MessageCame,
    Sent,
    StopCame,
    TimersFired,
    Turn,
)
from actors.model.observing import SECRET_DIGEST
from actors.records.secrets import SecretKeeper
from actors.records.values import UnreadableValueError, ValueReader, ValueWriter
from actors.records.written import checksum, label, packed, words

FORMAT = 1
REPEATED_AT_LEAST_BYTES = 64
"""A shorter value is written again."""
_SEPARATOR = b"\0"
_SECRET_DIGEST = f"observed {SECRET_DIGEST}"
_ENDED = {Ended.VALUE: 0, Ended.RAISED: 1, Ended.PENDING: 2, Ended.HANDLE: 3}
_ENDED_BY = {number: ended for ended, number in _ENDED.items()}


class FormatError(ValueError):
    """The record is of another format, or damaged."""


class Header(msgspec.Struct, frozen=True):
    """The beginning of each segment. `run` counts agents, `index` the segments of one from 0.

    `actorlet`, `python`: versions. `node`: its name. `began_wall_ns`: when the agent began. `plan`: what it was made
    from, as a value. `capabilities`: the fields of `NodeCapabilities` that it had.
    """

    format: int
    run: str
    index: int
    actorlet: str
    python: str
    node: str
    began_wall_ns: int
    plan: bytes
    capabilities: tuple[str, ...]


class Packed(msgspec.Struct, frozen=True):
    """Something that an actor did, as the record has it: its words, and the checksum of its bytes.

    `data`: the bytes themselves, empty for a message.
    """

    label: str
    checksum: int
    data: bytes = b""


# --- writing ----------------------------------------------------------------------------------------------------------


class EntryEncoder:
    """Encodes the entries of one agent. `secrets` learns from what is written, and cleans it."""

    def __init__(self, header: Header, secrets: SecretKeeper) -> None:
        self._header = header
        self._index = -1
        self._secrets = secrets
        self._values = ValueWriter(secrets.seen)
        self._last_ns = 0
        self._numbers: dict[bytes, int] = {}

    def header(self) -> bytes:
        """See `RecordEncoder`."""
        self._index += 1
        self._last_ns = 0
        self._numbers.clear()
        plan = self._secrets.scrubbed(self._header.plan)
        return msgspec.msgpack.encode(msgspec.structs.replace(self._header, index=self._index, plan=plan))

    def lost(self, why: str) -> Lost:
        """See `RecordEncoder`."""
        return Lost(why)

    def payload(self, entries: list[Entry]) -> bytes:
        """See `RecordEncoder`."""
        blobs: list[bytes] = []
        rows = [self._row(entry, blobs) for entry in entries]
        clean = self._clean(blobs)
        for row in rows:
            self._put_blobs(row, clean)
        return msgspec.msgpack.encode(rows)

    def _clean(self, blobs: list[bytes]) -> list[bytes]:
        """The same bytes without secrets. All in one go: a search costs most when it begins."""
        whole = self._secrets.scrubbed(_SEPARATOR.join(blobs))
        clean, at = [], 0
        for blob in blobs:
            clean.append(whole[at : at + len(blob)])
            at += len(blob) + 1
        return clean

    def _put_blobs(self, row: list[Any], clean: list[bytes]) -> None:
        """Replace the places of bytes in the row by the bytes, their number or their checksum."""
        for place, field in enumerate(row):
            if type(field) is _Blob:
                data = clean[field.place]
                row[place] = checksum(data) if field.only_checksum else self._once(data)

    def _once(self, data: bytes) -> bytes | int:
        if len(data) < REPEATED_AT_LEAST_BYTES:
            return data
        number = self._numbers.get(data)
        if number is None:
            self._numbers[data] = len(self._numbers)
            return data
        return number

    def _row(self, entry: Entry, blobs: list[bytes]) -> list[Any]:
        def value(of: Any) -> _Blob:
            blobs.append(self._values.write(of))
            return _Blob(len(blobs) - 1)

        def deed(of: Any, only_checksum: bool = False) -> _Blob:
            blobs.append(packed(of))
            return _Blob(len(blobs) - 1, only_checksum)

        match entry:
            case Sent():
                return ["s", entry.path, label(entry.message), deed(entry.message, only_checksum=True)]
            case Turn():
                return ["T", self._since(entry.now_ns), entry.path, entry.turns]
            case Called():
                if entry.site == _SECRET_DIGEST and isinstance(entry.value, str | bytes):
                    value_of = entry.value
                    self._secrets.learn(value_of if isinstance(value_of, bytes) else value_of.encode())
                done = deed((entry.arguments, entry.named) if entry.named else entry.arguments)
                ended = _ENDED[entry.ended]
                is_value = entry.ended in (Ended.VALUE, Ended.RAISED)
                result: Any = value(entry.value) if is_value and entry.value is not None else entry.value
                return ["c", entry.site, done, bool(entry.named), ended, result, entry.first_callback]
            case EffectDone():
                return ["D", self._since(entry.now_ns), entry.number, entry.failed, value(entry.value)]
            case TimersFired():
                return ["F", self._since(entry.now_ns)]
            case MessageCame():
                came = value(entry.message)
                return ["M", self._since(entry.now_ns), entry.path, label(entry.message), came, entry.asked]
            case CalledBack():
                return ["B", self._since(entry.now_ns), entry.number, value(entry.arguments)]
            case EndedAtOnce():
                return ["e", entry.number, entry.failed, value(entry.value)]
            case StopCame():
                return ["X", self._since(entry.now_ns), entry.path]
            case ClockSet():
                return ["k", entry.offset_ns]
            case Began():
                return ["A", self._since(entry.now_ns), entry.wall_ns, str(entry.seed)]
            case Lost():
                return ["L", entry.why]
            case Closed():
                return ["Z", self._since(entry.now_ns)]

    def _since(self, now_ns: int) -> int:
        since_ns, self._last_ns = now_ns - self._last_ns, now_ns
        return since_ns


@dataclass(slots=True)
class _Blob:
    place: int
    only_checksum: bool = False


# --- reading ----------------------------------------------------------------------------------------------------------


def read_header(data: bytes) -> Header:
    """The header. Raises FormatError."""
    try:
        header = msgspec.msgpack.decode(data, type=Header)
    except msgspec.MsgspecError as failure:
        raise FormatError(f"the header of the record cannot be read: {failure}") from None
    if header.format != FORMAT:
        raise FormatError(f"the record is of format {header.format}, and this version reads {FORMAT}")
    return header


class EntryDecoder:
    """Decodes the entries of one segment after another. `begin` each with its header."""

    def __init__(self, values: ValueReader) -> None:
        self._values = values
        self._last_ns = 0
        self._known: list[bytes] = []

    def begin(self) -> None:
        """A segment begins."""
        self._last_ns = 0
        self._known.clear()

    def entries(self, payload: bytes) -> Iterator[Entry]:
        """The entries of a payload. Raises FormatError."""
        try:
            rows = msgspec.msgpack.decode(payload)
            for row in rows:
                yield self._entry(row)
        except UnreadableValueError as failure:
            raise FormatError(f"this version cannot read the record; use that which wrote it: {failure}") from failure
        except (msgspec.MsgspecError, IndexError, TypeError, KeyError) as failure:
            raise FormatError(f"the record is damaged: {failure}") from failure

    def _entry(self, row: list[Any]) -> Entry:
        kind = row[0]
        if kind == "s":
            return Sent(row[1], Packed(row[2], row[3]))
        if kind == "T":
            return Turn(self._at(row[1]), row[2], row[3])
        if kind == "c":
            return self._called(row)
        if kind == "D":
            return EffectDone(self._at(row[1]), row[2], row[3], self._value(row[4]))
        if kind == "F":
            return TimersFired(self._at(row[1]))
        if kind == "M":
            return MessageCame(self._at(row[1]), row[2], self._value(row[4]), row[5])
        if kind == "B":
            return CalledBack(self._at(row[1]), row[2], self._value(row[3]))
        if kind == "e":
            return EndedAtOnce(row[1], row[2], self._value(row[3]))
        if kind == "X":
            return StopCame(self._at(row[1]), row[2])
        if kind == "k":
            return ClockSet(row[1])
        if kind == "A":
            return Began(self._at(row[1]), row[2], int(row[3]))
        if kind == "L":
            return Lost(row[1])
        if kind == "Z":
            return Closed(self._at(row[1]))
        raise FormatError(f"the record has an entry of an unknown kind {kind!r}")

    def _called(self, row: list[Any]) -> Called:
        _, site, done, _, ended, result, first = row
        data = self._bytes(done)
        how = _ENDED_BY[ended]
        is_value = how in (Ended.VALUE, Ended.RAISED) and result is not None
        told = Packed(site, checksum(data), data)
        return Called(site, (told,), {}, how, self._value(result) if is_value else result, first)

    def _at(self, since_ns: int) -> int:
        self._last_ns += since_ns
        return self._last_ns

    def _bytes(self, field: bytes | int) -> bytes:
        if isinstance(field, int):
            return self._known[field]
        if len(field) >= REPEATED_AT_LEAST_BYTES:
            self._known.append(field)
        return field

    def _value(self, field: bytes | int) -> Any:
        return self._values.read(self._bytes(field))


_TIMED = frozenset("ATFDBMXZ")
"""The entries whose first field is a time."""


def times_ns(payloads: Iterable[bytes]) -> Iterator[int]:
    """The times of the entries of one segment, without their values. Raises FormatError."""
    now_ns = 0
    for payload in payloads:
        try:
            for row in msgspec.msgpack.decode(payload):
                if row[0] in _TIMED:
                    now_ns += row[1]
                    yield now_ns
        except (msgspec.MsgspecError, IndexError, TypeError, KeyError) as failure:
            raise FormatError(f"the record is damaged: {failure}") from failure


# --- comparing --------------------------------------------------------------------------------------------------------


class PackedComparison:
    """Compares what actors do with what was packed. See `actors.kernel.recorded.replayer.Comparison`."""

    def same_call(self, recorded: Called, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
        told: Packed = recorded.arguments[0]
        return checksum(packed((arguments, named) if named else arguments)) == told.checksum

    def same_message(self, recorded: Sent, path: str, message: Any) -> bool:
        told: Packed = recorded.message
        return recorded.path == path and told.label == label(message) and told.checksum == checksum(packed(message))

    def told_call(self, recorded: Called) -> str:
        told: Packed = recorded.arguments[0]
        return words(told.data)

    def told_message(self, recorded: Sent) -> str:
        told: Packed = recorded.message
        return told.label

    def told(self, what: Any) -> str:
        if isinstance(what, tuple) and len(what) == 2 and isinstance(what[1], dict):  # arguments of a call
            return words(packed(what if what[1] else what[0]))
        return f"{label(what)} {words(packed(what))}"
