"""Plays many runs on all cores: each process has a cluster, and takes its share of the runs.

Runs mostly wait for the operator, so there are more processes than cores. Runs are dealt like cards, so that all
processes end together. A process that dies takes its share with it, and the sweep says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from cli.silence import silence
from cli.simulate.play_bars import PlayBars
from cli.simulate.play_watch import Interrupt
from cli.simulate.side_process import Side, SideProcess, first_over
from cli.sweep.player import player
from runtime.io.rings import few_collections
from simulation.cluster.sweep_file import SweepFile
from simulation.operators.faults import Fault
from simulation.operators.records import Record

LOOKED_EVERY_S = 0.1


class Run(msgspec.Struct, frozen=True):
    """One run to play. `patience`: see `Player.play`."""

    fault: Fault | None
    patience: int = 1


def play_all(
    file: SweepFile, runs: Sequence[Run], *, jobs: int, interrupt: Interrupt, quiet: bool, what: str
) -> list[Record | None]:
    """The record of each run, in their order; None for one that an interrupt has left out.

    Raises OrderError, `DiedError` and `NoProcessError`.
    """
    jobs = min(jobs, len(runs))
    sides: list[SideProcess[list[Record | None]]] = []
    records: list[Record | None] = [None] * len(runs)
    bars = PlayBars(quiet=quiet)
    bar = bars.add(what)
    try:
        sides += [SideProcess(partial(_play_share, file, runs[first::jobs])) for first in range(jobs)]
        left = list(sides)
        with bars:
            while left:
                if interrupt.came:
                    for side in left:
                        side.let_end()
                for side in first_over(left, LOOKED_EVERY_S):
                    left.remove(side)
                    records[sides.index(side) :: jobs] = side.take()
                played = sum(side.stand.count for side in sides)
                bars.stand(bar, played / max(1, len(runs)), counted=f"{played} of {len(runs)}")
                bars.refresh()
    finally:
        for side in sides:
            side.kill()
    return records


def _play_share(file: SweepFile, share: Sequence[Run], side: Side) -> list[Record | None]:
    records: list[Record | None] = []
    with few_collections(), silence(), player(file) as playing:
        for run in share:
            if side.must_stop():
                records.append(None)
                continue
            records.append(playing.play(run.fault, run.patience))
            side.stand.count = len(records)
    return records
