"""Every scenario of the library, tiny, with its agent killed at each moment in turn.

    python -m tests.simulation.crashes [--kills-at-most 100] [torn-down ...]

Prints a line for each scenario, and each kill that broke something. `--kills-at-most` bounds each scenario; names of
scenarios after it choose some. Exit status 1 when something broke. `tox -e crashes` plays all of it.
"""

from __future__ import annotations

import argparse
import os
import sys

from cli.simulate.kill_everywhere import Sweep, sweep
from cli.simulate.play_watch import Interrupt, interruptible
from runtime.io.rings import leave_rings_at_exit
from simulation.play.kill_sweep import killable
from simulation.scenarios.scenario import library
from tests.simulation.sizes import tiny

SEED = 1


def swept(name: str, at_most: int | None, seed: int = SEED, *, jobs: int = 1) -> Sweep:
    """What came of the kills in that scenario."""
    return sweep(killable(tiny(name)), seed, at_most, jobs=jobs, interrupt=Interrupt(), quiet=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills-at-most", type=int, help="for each scenario (default: all)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("names", nargs="*", default=library(), metavar="SCENARIO")
    options = parser.parse_args()
    leave_rings_at_exit()
    plays = broken = 0
    interrupt = Interrupt()
    print(f"{'scenario':20} {'moments':>8} {'kinds':>6} {'plays':>7} {'broken':>7}", flush=True)
    with interruptible(interrupt):
        for name in options.names:
            scenario = killable(tiny(name))
            found = sweep(
                scenario, options.seed, options.kills_at_most, jobs=options.jobs, interrupt=interrupt, quiet=True
            )
            plays, broken = plays + found.plays, broken + len(found.broken)
            print(f"{name:20} {found.moments:8} {found.kinds:6} {found.plays:7} {len(found.broken):7}", flush=True)
            for each in found.broken:
                print(f"    at {each.kill.moments}, {each.kill.what}: {'; '.join(each.broken[:2])}", flush=True)
            if interrupt.came:
                return 130
    print(f"{plays} kills, {broken} broke something")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
