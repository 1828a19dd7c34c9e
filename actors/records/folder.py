"""The runs in the folder of a record. A run is the life of one agent, in one or more segments."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from actors.kernel.recorded.entries import Entry
from actors.records.format import EntryDecoder, FormatError, Header, read_header, times_ns
from actors.records.values import ValueReader
from runtime.records.ring import segments_of
from runtime.records.segments import SegmentError, SegmentReader


class NoRecordError(ValueError):
    """There is no record to read; the text says why and what to do."""


@dataclass(slots=True)
class RecordedRun:
    """One agent. `paths`: its segments that are there, in order.

    `torn`: how the last segment ends, if it does not end with a whole frame; known when all was read.
    """

    header: Header
    paths: list[str] = field(default_factory=list)
    torn: str = ""

    @property
    def has_begin(self) -> bool:
        """Whether its first segment is there. Without that it cannot be played."""
        return self.header.index == 0

    def entries(self, values: ValueReader) -> Iterator[Entry]:
        """All entries, up to where the record was cut off. Raises FormatError for one that is damaged before."""
        decoder = EntryDecoder(values)
        for number, path in enumerate(self.paths):
            # At once: a player may be forked meanwhile, and forks would read on in one place of one file.
            with open(path, "rb") as file:
                segment = SegmentReader(io.BytesIO(file.read()))
            index = read_header(segment.begin()).index
            if index != self.header.index + number:
                raise FormatError(f"{path}: segments before this one are missing")
            decoder.begin()
            for payload in segment.payloads():
                yield from decoder.entries(payload)
            self.torn = segment.torn
            if segment.torn and number + 1 < len(self.paths):
                raise FormatError(f"{path}: {segment.torn}")

    def ended_wall_ns(self) -> int:
        """When its last entry was recorded, in ns since 1970, by the clock of its beginning.

        Reads the last segment. Raises FormatError and OSError.
        """
        *_, last = (self.header.began_wall_ns, *self._times_ns(self.paths[-1]))
        first = next(self._times_ns(self.paths[0]), last)
        return self.header.began_wall_ns + last - first

    @staticmethod
    def _times_ns(path: str) -> Iterator[int]:
        with open(path, "rb") as file:
            segment = SegmentReader(file)
            segment.begin()
            yield from times_ns(segment.payloads())


def runs_in(folder: str) -> Sequence[RecordedRun]:
    """The runs, oldest first. Raises NoRecordError and OSError."""
    runs: list[RecordedRun] = []
    for path in segments_of(folder):
        with open(path, "rb") as file:
            try:
                header = read_header(SegmentReader(file).begin())
            except SegmentError:
                continue  # a process was killed as it began the file
            except FormatError as error:
                raise NoRecordError(f"{path}: {error}") from None
        if not runs or runs[-1].header.run != header.run:
            runs.append(RecordedRun(header))
        runs[-1].paths.append(path)
    if not runs:
        raise NoRecordError(f"{folder} has no record; `actorlet run --record {folder}` makes one")
    return runs
