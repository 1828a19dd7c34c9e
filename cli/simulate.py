"""`actorlet simulate`: a scenario played in a simulated world, once or for many seeds, and what must have held.

Exit status: 0 when all held, 1 on a violation (or a rare state that no seed has reached), 2 when the command line or
the scenario is wrong, 130 when interrupted; then what was seen so far is shown. The bar goes to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import logging
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from simulation.cri.behaviour_values import duration_ns
from simulation.play import Outcome, Play, with_nodes
from simulation.scenario import DEFAULT, Scenario, ScenarioError, library, library_scenario, read_scenario, with_pods

SECOND_NS = 10**9
SLICE_NS = SECOND_NS // 2
"""Virtual time between two looks at the bar and at the signal."""
SHOWN_EVERY_S = 0.1
SEEDS_AT_MOST = 100_000
PERCENTILES = (50, 90, 99)


@dataclass(slots=True)
class _Interrupt:
    came: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    try:
        scenario = _scenario(options)
    except (ScenarioError, OSError) as error:
        print(f"actorlet simulate: {error}", file=sys.stderr)
        return 2
    interrupt = _Interrupt()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_interruptible(interrupt))
        try:
            trace = stack.enter_context(open(options.trace, "w", encoding="utf-8")) if options.trace else None
        except OSError as error:
            print(f"actorlet simulate: {error}", file=sys.stderr)
            return 2
        return _run(scenario, options, trace, interrupt)


def _run(scenario: Scenario, options: argparse.Namespace, trace: TextIO | None, interrupt: _Interrupt) -> int:
    reached = dict.fromkeys(scenario.reaches, 0)
    failed = False
    for seed in options.seeds:
        report = _play(scenario, seed, options, trace, interrupt)
        if interrupt.came:
            report["converged"] = False
        _show(report, options)
        failed = failed or bool(report["violations"])
        for name in reached:
            reached[name] += report["sometimes"][name]
        if interrupt.came:
            print("actorlet simulate: interrupted", file=sys.stderr)
            return 130
    never = [name for name, times in reached.items() if not times]
    if never:
        print(f"actorlet simulate: no seed reached {', '.join(never)}: this proves nothing of it", file=sys.stderr)
    return 1 if failed or never else 0


def _play(
    scenario: Scenario, seed: int, options: argparse.Namespace, trace: TextIO | None, interrupt: _Interrupt
) -> dict[str, Any]:
    """One seed, from its beginning to its report."""
    console = Console(stderr=True)
    began_s = console.get_time()
    with _few_collections(), _silence(), _bar(seed, console, options.quiet) as show:
        lasts_ns = None if options.lasts is None else duration_ns(options.lasts)
        play = Play(scenario, seed, lasts_ns=lasts_ns, sink=trace.write if trace is not None else None)
        while not play.done and not interrupt.came:
            play.advance(SLICE_NS)
            show(play)
    outcome = play.outcome()
    return _report(scenario, seed, outcome, console.get_time() - began_s)


def _report(scenario: Scenario, seed: int, outcome: Outcome, wall_s: float) -> dict[str, Any]:
    """As in `docs/simulate.md`."""
    return {
        "seed": seed,
        "pods": outcome.pods,
        "nodes": scenario.nodes,
        "virtual_seconds": round(outcome.virtual_ns / SECOND_NS, 3),
        "wall_seconds": round(wall_s, 3),
        "messages": outcome.messages,
        # Linux counts KiB.
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "trace_hash": outcome.trace_hash,
        "violations": list(outcome.violations),
        "sometimes": outcome.sometimes,
        "startup_seconds": {f"p{share}": _percentile(outcome.startups_ns, share) for share in PERCENTILES},
        "converged": outcome.converged,
    }


def _percentile(sorted_ns: Sequence[int], share: int) -> float | None:
    """Seconds; the smallest that `share` per cent do not exceed. None of nothing."""
    if not sorted_ns:
        return None
    return round(sorted_ns[max(0, -(-len(sorted_ns) * share // 100) - 1)] / SECOND_NS, 6)


# --- what is shown ----------------------------------------------------------------------------------------------------


def _show(report: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(report), flush=True)
        return
    startup = report["startup_seconds"]
    print(
        f"seed {report['seed']}: {report['pods']} pods on {report['nodes']} nodes, "
        f"{report['virtual_seconds']:g} s of virtual time in {report['wall_seconds']:g} s, "
        f"{report['messages']} messages, {report['peak_rss_bytes'] // 2**20} MiB"
    )
    print(f"  trace {report['trace_hash']}")
    print("  start of pods: " + ", ".join(f"{name} {value} s" for name, value in startup.items() if value is not None))
    happened = ", ".join(f"{name} {times}" for name, times in report["sometimes"].items() if times)
    print(f"  sometimes: {happened or 'nothing rare'}")
    print(f"  {'all became as desired' if report['converged'] else 'it did not come to what is desired'}")
    for violation in report["violations"]:
        print(f"  VIOLATION {violation['invariant']} at {violation['at_seconds']:g} s: {violation['what']}")
    if report["violations"]:
        print(f"  again: {_again(report['seed'], options)}", flush=True)


def _again(seed: int, options: argparse.Namespace) -> str:
    """The command that plays this seed once more, and writes what happened."""
    parts = ["actorlet simulate", options.scenario, f"--seed {seed}"]
    given = (("nodes", options.nodes), ("pods", options.pods), ("for", options.lasts))
    parts += [f"--{name} {value}" for name, value in given if value is not None]
    return " ".join([*parts, "--trace trace.txt"])


@contextlib.contextmanager
def _bar(seed: int, console: Console, quiet: bool) -> Iterator[Callable[[Play], None]]:
    """A bar on standard error, when somebody sees it."""
    columns = (
        TextColumn("seed {task.fields[seed]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[virtual]} virtual"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pods]} pods"),
    )
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, auto_refresh=False, disable=hidden) as progress:
        task = progress.add_task("", total=1.0, seed=seed, virtual="0 s", pods=0)
        shown_s = console.get_time()

        def show(play: Play) -> None:
            nonlocal shown_s
            if hidden or console.get_time() - shown_s < SHOWN_EVERY_S:
                return
            shown_s = console.get_time()
            virtual = f"{play.world.now_ns() // SECOND_NS} s"
            progress.update(task, completed=play.share(), virtual=virtual, pods=len(play.world.chronicle.pods))
            progress.refresh()

        yield show


@contextlib.contextmanager
def _interruptible(interrupt: _Interrupt) -> Iterator[None]:
    """The first SIGINT ends the play at the next look; a second one is Python's own."""

    def came(number: int, frame: object) -> None:
        interrupt.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, came)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What thousands of agents log is of no use here, and costs: the trace tells what they did."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Nearly all that a simulation lets go is freed by its counts; looking for rings seldom saves time."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


# --- the command line -------------------------------------------------------------------------------------------------


def _scenario(options: argparse.Namespace) -> Scenario:
    """The one that is asked for, with as many nodes and pods as are asked for."""
    named = options.scenario
    if named in library():
        scenario = library_scenario(named)
    elif "/" in named or named.endswith((".yaml", ".yml", ".json")):
        with open(named, "rb") as file:
            scenario = read_scenario(file.read())
    else:
        raise ScenarioError(f"there is no scenario {named!r}; there are {', '.join(library())}, or give a YAML file")
    if options.nodes is not None:
        scenario = with_nodes(scenario, options.nodes)
    return scenario if options.pods is None else with_pods(scenario, options.pods)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actorlet simulate",
        description="Play a scenario in a simulated world: whole agents in virtual time, with faults. See "
        "docs/simulate.md.",
    )
    parser.add_argument(
        "scenario", nargs="?", default=DEFAULT, metavar="SCENARIO", help=f"a name ({', '.join(library())}) or a file"
    )
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", dest="seeds", type=_one_seed, metavar="N", help="decides everything (default: 1)")
    seeds.add_argument("--seeds", dest="seeds", type=_seeds, metavar="A..B", help="one after the other, B included")
    parser.add_argument("--nodes", type=_count(1000), metavar="N", help="instead of what the scenario says")
    parser.add_argument("--pods", type=_count(1_000_000), metavar="N", help="instead of what the scenario says")
    parser.add_argument("--for", dest="lasts", type=_duration, metavar="24h", help="how long things come, go, go wrong")
    parser.add_argument("--json", action="store_true", help="one JSON object per seed and line")
    parser.add_argument("--trace", metavar="FILE", help="write every message, a line each")
    parser.add_argument("--quiet", action="store_true", help="no bar")
    parser.set_defaults(seeds=range(1, 2))
    return parser


def _one_seed(text: str) -> range:
    seed = int(text)
    return range(seed, seed + 1)


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    try:
        found = range(int(first), int(last) + 1)
    except ValueError:
        found = range(0)
    if not (dots and 0 < len(found) <= SEEDS_AT_MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is no A..B with A <= B, such as 1..200")
    return found


def _count(at_most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isdecimal() and 0 < int(text) <= at_most):
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {at_most}")
        return int(text)

    return read


def _duration(text: str) -> str:
    try:
        duration_ns(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


if __name__ == "__main__":
    sys.exit(main())
