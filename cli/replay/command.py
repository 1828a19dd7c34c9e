"""`actorlet replay FILE`: plays a saved failure again, to where it failed or to any step.

Any actor can be looked at there. `actorlet replay DIR` plays the record of an agent (`record.py`).

Exit status 1: the failure came again, in whatever way. 0: it is gone, or the run was stopped before it. 2: the file
cannot be read, or there is no such actor. 130: interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial

from cli.argument_kinds import read_by
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.printing import complain, say
from cli.replay.record import replay_record
from cli.replay.steps import Stepper, UnknownActorError, parse_until
from cli.silence import silence
from cli.simulate.play_watch import Interrupt, interruptible
from cli.simulate.report import of
from cli.simulate.trace_file import TraceFile
from cli.simulate.trace_lines import readable, seconds
from cli.version import VERSION
from runtime.io.rings import few_collections
from simulation.play.replay import Finding, Replay
from simulation.play.saved_run import SavedRun, read_saved_run
from simulation.scenarios.scenario import ScenarioError

LINES = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    if os.path.isdir(options.file):
        return replay_record(options)
    if options.observe:
        complain("actorlet replay: --observe needs a record; a saved failure is looked at by --step")
        return 2
    if options.scenario is not None:
        complain("actorlet replay: --scenario needs a record; a saved failure has its scenario in the file")
        return 2
    interrupt = Interrupt()
    with contextlib.ExitStack() as stack:
        try:
            with open(options.file, "rb") as file:
                saved = read_saved_run(file.read())
            trace = stack.enter_context(TraceFile(options.trace, "replay")) if options.trace else None
        except ScenarioError as error:
            for fault in error.of_file(options.file):
                complain(f"actorlet replay: {fault}")
            return 2
        except OSError as error:
            complain(f"actorlet replay: {why(error)}")
            return 2
        for manager in (interruptible(interrupt), few_collections(), silence()):
            stack.enter_context(manager)
        stepper = Stepper(partial(Replay, saved), interrupt, lines=options.lines, out=say)
        if trace is not None:
            stepper.also_told = lambda line: trace.write(f"{readable(line)}\n")
        return _replay(saved, stepper, options, interrupt)


def _replay(saved: SavedRun, stepper: Stepper[Replay], options: argparse.Namespace, interrupt: Interrupt) -> int:
    say(*_head(saved))
    stepper.walk(options.until, by_hand=options.step)
    if interrupt.came:
        complain("actorlet replay: interrupted")
        return 130
    if options.actor is not None:
        try:
            stepper.actor(options.actor)
        except UnknownActorError as error:
            complain(f"actorlet replay: {error}")
            return 2
    say(*_verdict(saved, stepper.replay))
    return 1 if stepper.replay.finding() in (Finding.SAME, Finding.OTHERWISE) else 0


def _head(saved: SavedRun) -> Iterator[str]:
    scenario, violated = saved.scenario, saved.violated
    size = f"{of(scenario.pod_count(), 'pod')} on {of(scenario.nodes, 'node')}, {of(len(scenario.faults), 'fault')}"
    yield f"seed {saved.seed}, {size}: {violated.invariant} at step {saved.step}, {seconds(violated.at_ns)}"
    yield f"  {violated.what}"
    found = saved.found_in
    where = f"seed {found.seed} of {found.scenario} with {of(found.pods, 'pod')} on {of(found.nodes, 'node')}"
    yield f"found in {where}, by actorlet {saved.actorlet}"


def _verdict(saved: SavedRun, replay: Replay) -> Iterator[str]:
    finding, name = replay.finding(), saved.violated.invariant
    if finding is Finding.SAME:
        yield f"as saved, message by message: {name} is violated at step {saved.step}"
        return
    if finding is Finding.NOT_YET:
        if replay.step > saved.step:
            yield f"{_other_code(saved)}: {name} held at step {saved.step}"
        return
    yield _other_code(saved)
    if finding is Finding.GONE:
        yield f"{name} held to the end: the failure is gone, or no longer where it was"
        return
    moment = replay.play.world.broken_at[name]
    yield f"{name} is violated at step {moment.step}, {seconds(moment.at_ns)}; the hash is {moment.trace_hash}"


def _other_code(saved: SavedRun) -> str:
    return f"this code (actorlet {VERSION}) no longer gives the saved hash {saved.trace_hash}"


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet replay",
        description="Play a failure again that `actorlet simulate` has saved: to where it failed, or to any step. Or "
        "play the record of an agent, and compare what it does with what it did. See docs/reference/simulate.md and "
        "docs/reference/records.md.",
    )
    parser.add_argument(
        "file", metavar="FILE|DIR", help="as `actorlet simulate` has written it, or as `actorlet run --record` has"
    )
    parser.add_argument("--pod", metavar="NAME", help="of a record: show what is about pods with that in their names")
    parser.add_argument("--run", type=int, metavar="N", help="of a record: this agent, 1 is the oldest (default: all)")
    parser.add_argument("--step", action="store_true", help="go on by hand, from the start or from --until; ? helps")
    parser.add_argument(
        "--until",
        type=read_by(parse_until),
        metavar="STEP|TIME|LINE",
        help="stop there: a number of turns of actors, a time as 1m30s or 03:00, 'pod web-1' or 'message Relist'",
    )
    parser.add_argument("--actor", metavar="NAME", help="show this actor there: fields, mailbox, what it awaits")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help=f"of the trace (default: {LINES})")
    parser.add_argument(
        "--scenario", metavar="FILE", help="of a record: write the smallest scenario that fails alike (also: --pod)"
    )
    parser.add_argument("--observe", action="store_true", help="of a record: serve a page that shows any moment of it")
    parser.add_argument("--trace", metavar="FILE", help="write every message, a line each")
    return parser
