"""Rehearses the runs of a record: plays them, and collects what is decided otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actors.records.folder import RecordedRun
from actors.replays.player import RunPlayer
from actors.replays.rehearsal import Rehearsal


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How much was played."""

    runs: int
    steps: int
    left_out: int
    """Runs whose beginning is no longer in the record."""


def rehearse(runs: Sequence[RecordedRun], rehearsal: Rehearsal, go_on: Callable[[], bool] = lambda: True) -> Rehearsed:
    """Play all runs that can be played. Raises FormatError and NoRecordError."""
    steps = played = 0
    for number, run in enumerate(runs, 1):
        if not run.has_begin:
            continue
        rehearsal.begin(number)
        player = RunPlayer(run, rehearsal.differs)
        while go_on() and player.step() is not None:
            steps += 1
        played += 1
    return Rehearsed(played, steps, len(runs) - played)
