"""Plays many runs on all cores: each process has a cluster, and takes one run after the other.

Runs mostly wait for the operator, so there are more processes than cores. A process that dies takes its runs with it,
and the sweep says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from cli.silence import silence
from cli.simulate.play_bars import PlayBars
from cli.simulate.play_watch import Interrupt
from cli.simulate.side_process import Side, SideProcess, Turns, first_over
from cli.sweep.player import begin_of, player
from runtime.io.rings import few_collections
from simulation.cluster.applied import apply
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.orders import OrderError
from simulation.cluster.running_cluster import NODES_READY_WITHIN_NS
from simulation.cluster.sweep_file import SweepFile
from simulation.operators.faults import Fault
from simulation.operators.records import Record

LOOKED_EVERY_S = 0.1
REHEARSED_NS = 20 * 10**9


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
    records: list[Record | None] = [None] * len(runs)
    sides: list[SideProcess[dict[int, Record]]] = []
    bars = PlayBars(quiet=quiet)
    bar = bars.add(what)
    turns = Turns()
    try:
        sides += [SideProcess(partial(_play, file, runs, turns)) for _ in range(min(jobs, len(runs)))]
        left = list(sides)
        with bars:
            while left:
                if interrupt.came:
                    for side in left:
                        side.let_end()
                for side in first_over(left, LOOKED_EVERY_S):
                    left.remove(side)
                    for number, record in side.take().items():
                        records[number] = record
                played = sum(side.stand.count for side in sides)
                bars.stand(bar, played / max(1, len(runs)), counted=f"{played} of {len(runs)}")
                bars.refresh()
    finally:
        for side in sides:
            side.kill()
    return records


def _play(file: SweepFile, runs: Sequence[Run], turns: Turns, side: Side) -> dict[int, Record]:
    """Number of each run that this process took -> its record."""
    records: dict[int, Record] = {}
    with few_collections(), silence(), player(file) as playing:
        while not side.must_stop() and (number := turns.take()) < len(runs):
            records[number] = playing.play(runs[number].fault, runs[number].patience)
            side.stand.count = len(records)
    return records


def rehearse(file: SweepFile) -> None:
    """Play the scenario without an operator and a network: what is loaded on the way, forks have.

    What is wrong with its manifests, the first run tells.
    """
    with few_collections(), silence():
        world = ClusterWorld(begin_of(1))
        for node in world.nodes.values():
            node.start()
        world.scheduler.start()
        world.resource_claims.start()
        world.dispatcher.run_until(lambda: world.ready_nodes() > 0, NODES_READY_WITHIN_NS)
        for path in (*file.before, *(step.apply for step in file.steps if step.apply)):
            try:
                apply(world.server, path, "default")
            except OrderError:
                return
        world.dispatcher.run_for(REHEARSED_NS)
