"""`actorlet sweep FILE`: finds an operator's bugs by crashes, old reads, missed states, failing nodes.

The operator is a program in any language, unchanged. A first run without a fault records what it asks; then each
promising moment gets a run with a fault. A run that ends otherwise than the first is a finding.

Exit status 0: nothing new was found. 1: a new finding. 2: the command line or the file is wrong, or the scenario does
not work without a fault. 130: interrupted.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence

import msgspec

from cli.argument_kinds import number_from, read_by
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.printing import complain, say, say_json
from cli.simulate.play_watch import Interrupt, interruptible
from cli.simulate.report import of
from cli.simulate.side_process import DiedError, NoProcessError
from cli.sweep.sweeping import Options, Swept, merged, play_once, sweep
from config.values.nearest import did_you_mean
from runtime.files.whole_file import write_whole
from runtime.io.rings import leave_rings_at_exit
from simulation.cluster.orders import OrderError
from simulation.cluster.sweep_file import SweepFile, read_sweep_file
from simulation.operators.faults import KINDS, read_fault
from simulation.sweep.findings import Finding, often, told
from simulation.sweep.known import known_text, read_known
from simulation.sweep.plan import RUNS_AT_MOST

JOBS_PER_CORE = 4
OUTPUT_SHOWN = 12
INDEX, COMPLETIONS = "JOB_COMPLETION_INDEX", "SWEEP_SHARDS"
"""Variables of a pod of an Indexed Job: its number, and of how many (set by the manifest)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    if options.kinds_listed:
        say(*(f"{name:<16}{about.did.format(at='...')}" for name, about in KINDS.items()))
        return 0
    if not options.file:
        complain("actorlet sweep: write the FILE of the scenario; docs/how-to/sweep-an-operator.md has its form")
        return 2
    if options.accept and not options.known:
        complain("actorlet sweep: --accept writes to the file of --known; add --known FILE")
        return 2
    leave_rings_at_exit()
    interrupt = Interrupt()
    try:
        known_before = _read_text(options.known) if options.known else ""
        if options.known and not options.accept and not os.path.exists(options.known):
            complain(f"actorlet sweep: there is no {options.known}: each finding counts as new; --accept writes it")
        with interruptible(interrupt):
            if options.merge:
                swept = merged([_read_swept(path) for path in (options.file, *options.merge)])
            else:
                swept = _swept(_file(options.file), options, interrupt)
    except (OrderError, DiedError, NoProcessError) as error:
        complain(*(f"actorlet sweep: {line}" for line in str(error).splitlines()))
        return 2
    except OSError as error:
        complain(f"actorlet sweep: {why(error)}")
        return 2
    return _told(swept, options, known_before, interrupt)


def _swept(file: SweepFile, options: argparse.Namespace, interrupt: Interrupt) -> Swept:
    """Raises OrderError, `DiedError` and `NoProcessError`."""
    shard = options.shard or _shard_of_job()
    how = Options(
        jobs=options.jobs or JOBS_PER_CORE * len(os.sched_getaffinity(0)),
        kinds=options.kinds,
        runs_at_most=options.runs,
        again=options.again,
        shard=shard,
        quiet=options.quiet,
    )
    if options.play is None:
        return sweep(file, how, interrupt)
    found = play_once(file, options.play, options.again + 1, how, interrupt)
    return Swept(findings=tuple(found), runs=options.again + 3)


def _told(swept: Swept, options: argparse.Namespace, known_before: str, interrupt: Interrupt) -> int:
    """Show and write what was found; the exit status."""
    known = read_known(known_before)
    new = [one for one in swept.findings if one.name not in known]
    if options.json:
        say_json(msgspec.json.encode(swept))
    else:
        for number, one in enumerate(swept.findings, start=1):
            say(*_lines(number, one, one.name in known, options))
        say(*_summary(swept, len(new)))
    try:
        if options.results:
            write_whole(options.results, msgspec.json.encode(swept), mode=0o644, lasting=False)
        if options.report:
            from cli.sweep.page import page  # only for who wants one

            text = page(swept, os.path.basename(options.file), known, _again(options))
            write_whole(options.report, text.encode("utf-8", "replace"), mode=0o644, lasting=False)
        if options.accept and options.known:
            write_whole(options.known, known_text(new, known_before).encode(), mode=0o644, lasting=False)
    except OSError as error:
        complain(f"actorlet sweep: {why(error)}")
        return 2
    if interrupt.came:
        complain("actorlet sweep: interrupted")
        return 130
    return 1 if new and not options.accept else 0


def _lines(number: int, one: Finding, is_known: bool, options: argparse.Namespace) -> list[str]:
    lines = [f"{number}. {one.name}  ({often(one)}{', known' if is_known else ''})"]
    lines += [f"   {line}" for line in told(one)]
    lines.append(f"   again:  {_again(options)} --play {shlex.quote(str(one.fault))}")
    if options.play is not None:
        lines += [f"   | {line}" for line in one.output[-OUTPUT_SHOWN:]]
    return lines


def _again(options: argparse.Namespace) -> str:
    """The command, to which `--play` is added. Results do not say which scenario they are of."""
    return "actorlet sweep FILE" if options.merge else f"actorlet sweep {shlex.quote(options.file)}"


def _summary(swept: Swept, new: int) -> list[str]:
    count = len(swept.findings)
    known = f", {count - new} of them known" if count > new else ""
    asked = f", {of(swept.asked, 'request')} in the first" if swept.asked else ""
    lines = [f"{of(swept.runs, 'run')}{asked}: {of(count, 'finding')}{known}"]
    if swept.unsure:
        lines.append(f"seen once and not again: {len(swept.unsure)}: {'; '.join(swept.unsure[:3])}")
    if swept.unmet:
        lines.append(f"{of(len(swept.unmet), 'fault')} had no moment to strike, such as {swept.unmet[0]}")
    if swept.left_out:
        lines.append(f"left out: {of(swept.left_out, 'fault')}; --runs N takes more")
    return lines


def _file(path: str) -> SweepFile:
    """Raises OrderError, OSError."""
    with open(path, "rb") as file:
        text = file.read()
    try:
        return read_sweep_file(text, os.path.dirname(path))
    except OrderError as error:
        raise OrderError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def _read_text(path: str) -> str:
    """The text of a file; empty if there is none yet. Raises OSError."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _read_swept(path: str) -> Swept:
    """Raises OrderError, OSError."""
    with open(path, "rb") as file:
        try:
            return msgspec.json.decode(file.read(), type=Swept)
        except msgspec.MsgspecError as error:
            raise OrderError(f"{path} is no result of a sweep (`--results`): {error}") from None


def _shard_of_job() -> tuple[int, int]:
    """The shard of a pod of an Indexed Job; all of it elsewhere. Raises OrderError."""
    number, of = os.environ.get(INDEX, ""), os.environ.get(COMPLETIONS, "")
    if not number or not of:
        return 0, 1
    try:
        return _shard(f"{int(number) + 1}/{of}")
    except ValueError as error:
        raise OrderError(f"{INDEX}={number}, {COMPLETIONS}={of}: {error}") from None


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 1000):
        raise ValueError(f"{text!r} is no shard; the second of eight is 2/8")
    return int(number) - 1, int(of)


def _kinds(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in KINDS:
            raise ValueError(did_you_mean(name, KINDS, f"there is no fault {name!r}; --list tells all"))
    return names


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet sweep",
        description="Find the bugs of an operator in any language: kill it between two writes, serve it old reads, let "
        "it miss states, fail its requests and its nodes, and compare each end with that of a run without a fault. "
        "docs/how-to/sweep-an-operator.md has the form of FILE.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="the scenario; with --merge, the results of a shard")
    parser.add_argument("--list", dest="kinds_listed", action="store_true", help="tell the kinds of faults, and end")
    parser.add_argument("--kinds", type=read_by(_kinds), default=(), metavar="A,B", help="try these faults only")
    parser.add_argument(
        "--play", type=read_by(read_fault), metavar="FAULT", help="play one fault, as a finding tells it, and show more"
    )
    parser.add_argument(
        "--again", type=number_from(0, 100), default=2, metavar="N", help="play each finding N times more (default: 2)"
    )
    parser.add_argument(
        "--runs", type=number_from(1, 100_000), default=RUNS_AT_MOST, metavar="N", help="at most (default: 300)"
    )
    parser.add_argument("--jobs", type=number_from(1, 256), metavar="N", help="runs at a time (default: four a core)")
    parser.add_argument("--known", metavar="FILE", help="known findings, one a line: they do not count")
    parser.add_argument("--accept", action="store_true", help="add new findings to the file of --known; status 0")
    parser.add_argument("--results", metavar="FILE", help="write what was found as JSON, for --merge")
    parser.add_argument("--report", metavar="FILE", help="write a page in HTML")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    parser.add_argument(
        "--shard", type=read_by(_shard), metavar="I/N", help="every N-th fault; in an Indexed Job its own"
    )
    parser.add_argument("--merge", nargs="+", metavar="FILE", help="put results of more shards together with FILE")
    parser.add_argument("-q", "--quiet", action="store_true", help="no bars, and no word of what is played")
    return parser
