"""Which agent of a record to play: by its number, or by a moment.

A record can be played from the beginning of an agent on. Of an agent whose beginning made room for newer segments
nothing can be played.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.records.folder import NoRecordError, RecordedRun
from cli.moments import shown, wall_ns_of


def run_number(runs: Sequence[RecordedRun], number: int) -> RecordedRun:
    """That one; 1 is the oldest. Raises NoRecordError."""
    if not 1 <= number <= len(runs):
        raise NoRecordError(f"there is no run {number}: the record has {len(runs)}")
    return runs[number - 1]


def run_at(runs: Sequence[RecordedRun], moment: str) -> tuple[RecordedRun, int]:
    """The last agent that had begun by then, and the moment in ns since 1970.

    Raises NoRecordError, also when that one cannot be played, and ValueError for what is no moment.
    """
    wall_ns = wall_ns_of(moment, runs[0].header.began_wall_ns)
    begun = [run for run in runs if run.header.began_wall_ns <= wall_ns]
    if not begun:
        raise NoRecordError(f"the record begins only at {shown(runs[0].header.began_wall_ns)}")
    if not begun[-1].has_begin:
        raise NoRecordError(f"{shown(wall_ns)} is in a run whose beginning made room for newer segments; {rest(runs)}")
    return begun[-1], wall_ns


def run_before(runs: Sequence[RecordedRun], wall_ns: int) -> RecordedRun:
    """The last agent that had begun by then; the first one if none had."""
    begun = [run for run in runs if run.header.began_wall_ns <= wall_ns]
    return begun[-1] if begun else runs[0]


def rest(runs: Sequence[RecordedRun]) -> str:
    """From when on the record can be played."""
    first = next((run for run in runs if run.has_begin), None)
    if first is None:
        return "nothing of the record can be played: a larger --record-size keeps more"
    return f"the record can be played from {shown(first.header.began_wall_ns)} on"


def left_out(runs: Sequence[RecordedRun]) -> str:
    """Says that runs cannot be played any more; empty when all can."""
    without = sum(not run.has_begin for run in runs)
    return f"the beginning of run {without} made room for newer segments: {rest(runs)}" if without else ""
