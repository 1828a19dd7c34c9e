"""`actorlet simulate`: plays a scenario in a simulated world, once or for many seeds.

It reports whether all invariants held.

Exit status 0: all held. 1: a violation, or a rare state that no seed has reached. 2: the command line or the scenario
is wrong. 130: interrupted; the report then shows what was seen so far. A run that failed is saved, as small as it can
be made, for `actorlet replay`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from cli.argument_kinds import duration, number_from
from cli.command_parser import CommandParser
from cli.file_errors import unwritable, why
from cli.printing import complain, say, say_json
from cli.simulate.failed_runs import Played, Shrinking, shrunk_here, tell_failure
from cli.simulate.kill_everywhere import sweep, sweep_lines
from cli.simulate.play_watch import Interrupt, interruptible, watch
from cli.simulate.report import all_seeds_line, of, report_lines
from cli.simulate.seed_played import PartPlayed, SeedPlayed, name_of, part_played, peak_rss_bytes, seed_played
from cli.simulate.seeds_side_by_side import SeedLost, SeedsSideBySide
from cli.simulate.side_process import DiedError, NoProcessError
from cli.simulate.trace_file import TraceFile
from runtime.files.whole_file import write_whole
from runtime.io.rings import few_collections, leave_rings_at_exit
from simulation.chance.sometimes import KNOWN
from simulation.play.failure import Failure
from simulation.play.kill_sweep import killable, with_kills
from simulation.play.parts import parts_of
from simulation.play.play import Play
from simulation.play.promises import promises_of
from simulation.scenarios.scenario import (
    DEFAULT,
    Scenario,
    ScenarioError,
    lasting,
    library,
    library_scenario,
    nearest_scenarios,
    read_scenario,
    with_nodes,
    with_pods,
)

SEEDS_AT_MOST = 100_000


class Shown(msgspec.Struct, frozen=True):
    """The run for the page. `origin`: of which one it is the smallest, or empty."""

    scenario: Scenario
    seed: int
    origin: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if any(word.partition("=")[0] == "--kubeconfig" for word in words):
        from cli.simulate import hollow_nodes  # nobody else need wait for its HTTP client

        return hollow_nodes.main(words)
    parser = _parser()
    options = parser.parse_args(words)
    if options.trace and (options.jobs or 1) > 1:
        parser.error("--trace: one file takes the messages of one seed after the other: leave --jobs out")
    if options.kills_at_most is not None and not options.kill_everywhere:
        parser.error("--kills-at-most N: bounds --kill-everywhere; write that, too")
    if options.kill_everywhere and options.trace:
        parser.error("--kill-everywhere plays too often for one trace; write --kill-at N --trace FILE for one of them")
    if options.kill_everywhere and options.report:
        parser.error("--report shows one run; write --kill-at N --report FILE for one of those of --kill-everywhere")
    if options.list:
        say(*listed())
        return 0
    try:
        scenario = _scenario(options)
    except ScenarioError as error:
        complain(*(f"actorlet simulate: {fault}" for fault in error.faults))
        return 2
    except OSError as error:
        complain(f"actorlet simulate: {why(error)}")
        return 2
    interrupt = Interrupt()
    leave_rings_at_exit()
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruptible(interrupt))
        try:
            trace = stack.enter_context(TraceFile(options.trace, "simulate")) if options.trace else None
        except OSError as error:
            complain(f"actorlet simulate: --trace: {why(error)}")
            return 2
        try:
            if options.kill_everywhere:
                return _kill_everywhere(scenario, options, interrupt)
            shown: list[Shown] = []
            status = _run(scenario, options, trace, interrupt, shown)
            if options.report and shown and not interrupt.came:
                return max(status, _write_report(options, shown[0], interrupt))
            return status
        except (NoProcessError, DiedError) as error:
            complain(f"actorlet simulate: {error}")
            return 2


def _run(
    scenario: Scenario,
    options: argparse.Namespace,
    trace: TraceFile | None,
    interrupt: Interrupt,
    shown: list[Shown],
) -> int:
    """Play all seeds; the exit status.

    `shown` gets the first failure, as it was saved, or else the last seed.
    """
    plays = len(options.seeds) * len(parts_of(scenario, options.seeds[0]))
    jobs = min(options.jobs or len(os.sched_getaffinity(0)), plays)
    if jobs == 1 or trace is not None:
        shrinking = partial(shrunk_here, interrupt=interrupt, quiet=options.quiet)
        seeds = _one_after_the_other(scenario, options, trace, interrupt)
        return _told(scenario, options, seeds, shrinking, interrupt, shown)
    # What is here by now is no rubbish in any of the processes either: they need not look through it.
    with few_collections(), SeedsSideBySide(scenario, options.seeds, jobs, interrupt, quiet=options.quiet) as sides:
        return _told(scenario, options, sides.played(), sides.shrunk, interrupt, shown)


def _write_report(options: argparse.Namespace, shown: Shown, interrupt: Interrupt) -> int:
    """Play that once more for its page; the exit status. Of nodes that are apart, one is played."""
    from cli.simulate import report_page, run_story  # only for who wants a page

    what, seed = shown.scenario, shown.seed

    def to_end(begin: Callable[[], Play]) -> Play:
        return watch(f"report of seed {seed}", begin, interrupt, quiet=options.quiet)[0]

    story = run_story.played_story(what, seed, to_end)
    text = report_page.page(story, os.path.basename(options.scenario), shown.origin)
    try:
        write_whole(options.report, text.encode("utf-8", "replace"), mode=0o644, lasting=False)
    except OSError as error:
        complain(f"actorlet simulate: --report: {why(error)}")
        return 2
    complain(f"actorlet simulate: {options.report} shows seed {seed}")
    return 0


def _kill_everywhere(scenario: Scenario, options: argparse.Namespace, interrupt: Interrupt) -> int:
    """Play each seed with its agent killed at each moment in turn; the exit status."""
    jobs = options.jobs or len(os.sched_getaffinity(0))
    broken = 0
    for seed in options.seeds:
        found = sweep(
            killable(scenario), seed, options.kills_at_most, jobs=jobs, interrupt=interrupt, quiet=options.quiet
        )
        broken += len(found.broken)
        if options.json:
            say_json(json.dumps({"seed": seed, **msgspec.to_builtins(found)}))
        else:
            say(*sweep_lines(found, seed, _played_with(options, seed)))
        if interrupt.came:
            complain("actorlet simulate: interrupted")
            return 130
    return 1 if broken else 0


def _one_after_the_other(
    scenario: Scenario, options: argparse.Namespace, trace: TraceFile | None, interrupt: Interrupt
) -> Iterator[SeedPlayed]:
    sink = trace.write if trace is not None else None
    for seed in options.seeds:
        over: list[PartPlayed] = []
        wall_s = 0.0
        for part in parts_of(scenario, seed):
            if over:
                gc.collect()  # a world that is over is one ring: it goes before the next one comes
            begin = partial(Play, part.scenario, part.seed, sink=sink)
            play, took_s = watch(name_of(part, seed), begin, interrupt, quiet=options.quiet)
            over.append(part_played(part, play))
            wall_s += took_s
            del play
            if interrupt.came:
                break
        yield seed_played(scenario, seed, over, wall_s=wall_s, memory=peak_rss_bytes())
        if interrupt.came:
            return


def _told(
    scenario: Scenario,
    options: argparse.Namespace,
    seeds: Iterable[SeedPlayed | SeedLost],
    shrinking: Shrinking,
    interrupt: Interrupt,
    shown: list[Shown],
) -> int:
    """Show what each seed came to, and all of them together; the exit status. `shown`: see `_run`."""
    sometimes = dict.fromkeys(KNOWN, 0)
    known: set[str] = set()
    failed = lost = played = 0
    for each in seeds:
        if isinstance(each, SeedLost):
            lost += 1
            complain(f"actorlet simulate: seed {each.seed} was not played to its end: {each.how}")
            complain(f"  again: {_again(options, each.seed)}")
            continue
        found = _tell(scenario, each, options, known, None if interrupt.came else shrinking)
        if not failed:
            first = parts_of(scenario, each.seed)[0]
            shown[:] = [found or Shown(first.scenario, first.seed)]
        played += 1
        failed += bool(each.failures)
        for name, times in each.report["sometimes"].items():
            sometimes[name] += times
    if len(options.seeds) > 1 and not options.json:  # a program can add them up by itself
        say(all_seeds_line(played, failed, sometimes))
    if interrupt.came:
        complain("actorlet simulate: interrupted")
        return 130
    never = [name for name in scenario.reaches if not sometimes[name]]
    if never:
        complain(f"actorlet simulate: no seed reached {', '.join(never)}: this proves nothing of it")
    return 1 if failed or lost or never else 0


def _tell(
    scenario: Scenario, played: SeedPlayed, options: argparse.Namespace, known: set[str], shrinking: Shrinking | None
) -> Shown | None:
    """Show the outcome of a seed; its first failure as it was saved.

    `known`: the rules with a saved failure; those of this seed are added.
    """
    report = played.report
    if options.json:
        say_json(json.dumps(report))
    else:
        say(*report_lines(report, promises_of(scenario)))
    told = sys.stderr if options.json else sys.stdout
    again = _again(options, played.seed)
    # One file for each rule: a hundred seeds that fail alike are shrunk once.
    new = [each for each in played.failures if each.rule not in known]
    if played.failures and not new:
        say(f"  again: {again}", to=told)
    found: Shown | None = None
    for each in new:
        failure = each.failure
        if failure.seed != played.seed:
            say(f"  {each.within}, by itself:", to=told)
        where = Played(options.scenario, again, options.failures or ".")
        small = tell_failure(failure, each.turns, where, shrinking, told, rule_in_name=found is not None)
        found = found or Shown(small.scenario, small.seed, _origin(failure, small))
        known.add(each.rule)
    return found


def _origin(failure: Failure, small: Failure) -> str:
    """Where the run of a page comes from, if it is not the one that failed."""
    if small is failure:
        return ""
    pods, nodes = of(failure.scenario.pod_count(), "pod"), of(failure.scenario.nodes, "node")
    rule = failure.violated.invariant
    return f"the smallest run found that breaks {rule} as seed {failure.seed} did, with {pods} on {nodes}"


def _again(options: argparse.Namespace, seed: int) -> str:
    """The command that plays this seed once more, and writes what happened."""
    killed = f" --kill-at {','.join(map(str, options.kill_at))}" if options.kill_at else ""
    return f"{_played_with(options, seed)}{killed} --trace trace.txt"


def _played_with(options: argparse.Namespace, seed: int) -> str:
    parts = ["actorlet simulate", shlex.quote(options.scenario), f"--seed {seed}"]
    given = (("nodes", options.nodes), ("pods", options.pods), ("for", options.lasts))
    parts += [f"--{name} {value}" for name, value in given if value is not None]
    return " ".join(parts)


# --- the command line -------------------------------------------------------------------------------------------------


def _scenario(options: argparse.Namespace) -> Scenario:
    """The scenario that the arguments name, with the numbers of nodes and pods that they ask for."""
    named = options.scenario
    if named in library():
        scenario = library_scenario(named)
    elif "/" in named or named.endswith((".yaml", ".yml", ".json")):
        with open(named, "rb") as file:
            data = file.read()
        try:
            scenario = read_scenario(data)
        except ScenarioError as error:
            raise ScenarioError(*error.of_file(named)) from None
    else:
        raise ScenarioError(f"there is no scenario {named!r}; {nearest_scenarios(named)}")
    if options.nodes is not None:
        scenario = with_nodes(scenario, options.nodes)
    if options.lasts is not None:
        scenario = lasting(scenario, options.lasts)
    if options.pods is not None:
        scenario = with_pods(scenario, options.pods)
    return with_kills(killable(scenario), options.kill_at) if options.kill_at else scenario


def listed() -> list[str]:
    """A line for each scenario of the library: its name, and what it is about."""
    width = max(map(len, library()))
    return [f"{name:{width}}  {library_scenario(name).about}" for name in library()]


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet simulate",
        description="Play a scenario in a simulated world: whole agents in virtual time, with faults. See "
        "docs/reference/simulate.md.",
    )
    parser.add_argument(
        "scenario", nargs="?", default=DEFAULT, metavar="SCENARIO", help=f"a name ({', '.join(library())}) or a file"
    )
    parser.add_argument("--list", action="store_true", help="show the scenarios of the library and what they are about")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", dest="seeds", type=_one_seed, metavar="N", help="decides everything (default: 1)")
    seeds.add_argument("--seeds", dest="seeds", type=_seeds, metavar="A..B", help="several, B included")
    parser.add_argument(
        "--jobs", type=number_from(1, 1000), metavar="N", help="so many seeds at a time (default: the cores there are)"
    )
    parser.add_argument("--nodes", type=number_from(1, 1000), metavar="N", help="instead of what the scenario says")
    parser.add_argument("--pods", type=number_from(1, 1_000_000), metavar="N", help="instead of what the scenario says")
    parser.add_argument("--for", dest="lasts", type=duration, metavar="24h", help="how long things come, go, go wrong")
    killing = parser.add_mutually_exclusive_group()
    killing.add_argument(
        "--kill-everywhere",
        action="store_true",
        help="play it once for each moment at which its agent may die, and kill the agent there",
    )
    killing.add_argument(
        "--kill-at", type=_moments, metavar="N[,N]", help="kill the agent at these moments: one of those plays"
    )
    parser.add_argument(
        "--kills-at-most", type=number_from(1, 10**9), metavar="N", help="so many of those plays, of each kind some"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per seed and line")
    parser.add_argument("--trace", metavar="FILE", help="write every message, a line each")
    parser.add_argument(
        "--report",
        type=_file,
        metavar="FILE.html",
        help="write a page of the first failure, shrunk, or of the last seed",
    )
    parser.add_argument(
        "--failures", type=_directory, metavar="DIR", help="where runs that failed are saved (default: here)"
    )
    parser.add_argument("--quiet", action="store_true", help="no bar")
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="no scenario, but simulated nodes that join a real API server: see `--kubeconfig FILE --help`",
    )
    parser.set_defaults(seeds=range(1, 2))
    return parser


def _one_seed(text: str) -> range:
    try:
        seed = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; several are --seeds 1..200") from None
    return range(seed, seed + 1)


def _moments(text: str) -> tuple[int, ...]:
    try:
        found = tuple(int(number) for number in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of moments, such as 17 or 17,230")
    return found


def _directory(text: str) -> str:
    # Asked before anything is played: a failure may have taken an hour to find and to shrink.
    refusal = unwritable(text)
    if refusal is not None:
        raise argparse.ArgumentTypeError(refusal)
    return text


def _file(text: str) -> str:
    if os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is a directory; write the name of a file")
    _directory(os.path.dirname(text) or ".")
    return text


def _seeds(text: str) -> range:
    first, dots, last = text.partition("..")
    try:
        found = range(int(first), int(last) + 1)
    except ValueError:
        found = range(0)
    if not (dots and 0 < len(found) <= SEEDS_AT_MOST):
        raise argparse.ArgumentTypeError(f"{text!r} is not a range A..B with A <= B, such as 1..200")
    return found
