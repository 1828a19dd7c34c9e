"""`actorlet simulate --kill-everywhere`: kills the agent at each moment of a scenario in turn.

It uses all cores.

`simulation.play.kill_sweep` says what a moment is and what must hold. Each process plays a share of the kills, one
after the other, and tells those that broke something. Kills are dealt like cards, so that all processes end together.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from functools import partial

import msgspec

from cli.silence import silence
from cli.simulate.play_bars import PlayBars
from cli.simulate.play_watch import Interrupt
from cli.simulate.side_process import Side, SideProcess, first_over
from runtime.io.rings import few_collections
from simulation.play.kill_sweep import Kill, KillOutcome, kills, kind_of, moments_of, play_kill
from simulation.scenarios.scenario import Scenario

LOOKED_EVERY_S = 0.1
COLLECTED_AFTER = 8
"""Worlds that are over are rings: looked for after so many plays."""


class Sweep(msgspec.Struct, frozen=True):
    """The outcome of all kills.

    `kinds`: how many kinds of moments had a kill; `plays`: the number of plays.
    """

    moments: int
    kinds: int
    plays: int
    broken: tuple[KillOutcome, ...]


class _Share(msgspec.Struct, frozen=True):
    """The results of one process."""

    plays: int
    broken: tuple[KillOutcome, ...]


def sweep(scenario: Scenario, seed: int, at_most: int | None, *, jobs: int, interrupt: Interrupt, quiet: bool) -> Sweep:
    """Play the scenario, as `kill_sweep.killable` made it, with each kill, or a sample `at_most` so large.

    Raises `DiedError` when a process dies, and `NoProcessError`.
    """
    with few_collections(), silence():
        moments = moments_of(scenario, seed)
    chosen = kills(moments, seed, at_most)
    shares = [chosen[first::jobs] for first in range(min(jobs, len(chosen)))]
    bars = PlayBars(quiet=quiet)
    bar = bars.add(f"kills of seed {seed}")
    sides: list[SideProcess[_Share]] = []
    over: list[_Share] = []
    try:
        sides += [SideProcess(partial(_play_share, scenario, seed, share)) for share in shares]
        left = list(sides)
        with bars:
            while left:
                if interrupt.came:
                    for side in left:
                        side.let_end()
                for side in first_over(left, LOOKED_EVERY_S):
                    left.remove(side)
                    over.append(side.take())
                played = sum(side.stand.count for side in sides)
                bars.stand(bar, played / max(1, len(chosen)), counted=f"{played} of {len(chosen)}")
                bars.refresh()
    finally:
        for side in sides:
            side.kill()
    broken = sorted((each for share in over for each in share.broken), key=lambda each: each.kill.moments)
    kinds = len({kind_of(each.what) for each in chosen})
    return Sweep(len(moments), kinds, sum(share.plays for share in over), tuple(broken))


def sweep_lines(found: Sweep, seed: int, again: str) -> list[str]:
    """The sweep for people; `again`: the command that plays the seed, without the kill."""
    held = found.plays - len(found.broken)
    lines = [
        f"seed {seed}: {found.moments} moments; agents killed in {found.plays} plays, at {found.kinds} kinds of "
        f"moments: {held} held, {len(found.broken)} broke something"
    ]
    for each in found.broken:
        numbers = ",".join(map(str, each.kill.moments))
        lines.append(f"  killed {each.kill.what}: {each.broken[0]}")
        lines.append(f"    again: {again} --kill-at {numbers} --trace trace.txt")
    return lines


def _play_share(scenario: Scenario, seed: int, share: Sequence[Kill], side: Side) -> _Share:
    broken: list[KillOutcome] = []
    plays = 0
    with few_collections(), silence():
        for kill in share:
            if side.must_stop():
                break
            outcome = play_kill(scenario, seed, kill)
            broken += [outcome] if outcome.broken else []
            plays += 1
            side.stand.count = plays
            if plays % COLLECTED_AFTER == 0:
                gc.collect()
    return _Share(plays, tuple(broken))
