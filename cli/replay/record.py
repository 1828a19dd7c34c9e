"""`actorlet replay DIR`: plays a node's agents again, and compares what they do with the record.

Exit status 1: something differs. 0: all is as recorded, to the end or to where it was stopped. 2: the record cannot be
read. 130: interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from functools import partial

from actors.kernel.recorded.differences import Difference
from actors.records.folder import NoRecordError, RecordedRun, runs_in
from actors.records.format import FormatError
from actors.replays.record_replay import RecordReplay, brief
from cli.file_errors import why
from cli.moments import shown
from cli.printing import complain, say
from cli.recorded_runs import left_out, run_at, run_number
from cli.replay.steps import Stepper, UnknownActorError
from cli.silence import silence
from cli.simulate.play_watch import Interrupt, interruptible
from cli.simulate.report import of
from cli.simulate.trace_file import TraceFile
from cli.simulate.trace_lines import readable, seconds
from config.values.nearest import did_you_mean
from runtime.io.rings import few_collections

TEXT_AT_MOST = 600
PODS_SHOWN = 10


def replay_record(options: argparse.Namespace) -> int:
    """Play the record of that folder; the exit status."""
    interrupt = Interrupt()
    try:
        there = runs_in(options.file)
        runs = chosen(there, options)
        if options.run is None and (gone := left_out(there)):
            say(gone)
        if options.observe:
            # Here: other replays need no server.
            from cli.replay.observe import observe

            return observe(there)
        if options.scenario is not None:
            # Here: other replays need no simulated world.
            from cli.replay.scenario_file import write_scenario

            return write_scenario(runs, options.pod or "", options.scenario)
        with contextlib.ExitStack() as stack:
            trace = stack.enter_context(TraceFile(options.trace, "replay")) if options.trace else None
            for manager in (interruptible(interrupt), few_collections(), silence()):
                stack.enter_context(manager)
            if options.step or options.until is not None or options.actor is not None:
                return _step_through(runs[-1], options, interrupt, trace)
            statuses = [_play(run, options.pod, interrupt, trace) for run in runs]
    except (NoRecordError, FormatError, OSError) as error:
        complain(f"actorlet replay: {why(error)}")
        return 2
    return 130 if interrupt.came else max(statuses)


def chosen(runs: Sequence[RecordedRun], options: argparse.Namespace) -> Sequence[RecordedRun]:
    """The runs to play: that one, that of a moment, or all that can be played. Raises NoRecordError."""
    if options.run is not None:
        return [run_number(runs, options.run)]
    if options.until is not None and options.until.moment:
        return [run_at(runs, options.until.moment)[0]]
    return [run for run in runs if run.has_begin] or runs


def _play(run: RecordedRun, pod: str | None, interrupt: Interrupt, trace: TraceFile | None) -> int:
    """Play a run to its end, and say what came of it."""
    wanted: frozenset[str] | None = None
    is_found = False

    def told(line: str) -> None:
        nonlocal is_found
        if trace is not None:
            trace.write(f"{readable(line)}\n")
        if wanted is not None and any(word in line for word in wanted):
            say(readable(line))
            is_found = True

    replay = RecordReplay(run, told if trace is not None or pod is not None else None)
    say(*head(replay))
    if pod is not None:
        wanted = frozenset({pod, *replay.uids_of(pod)})
    while not replay.done and not interrupt.came:
        replay.next(100, go_on=lambda: not interrupt.came)
    if pod is not None and not is_found:
        say(f"  no line names {pod}; {near_pod(pod, tuple(replay.pods_of_run()))}")
    say(*verdict(replay))
    return 1 if replay.differences else 0


def near_pod(wanted: str, known: Sequence[str]) -> str:
    """Which pod was meant, or which there are. `known`: namespace/name of each."""
    if not known:
        return "this run has no pods"
    more = f" and {len(known) - PODS_SHOWN} more" if len(known) > PODS_SHOWN else ""
    names = (*known, *(each.partition("/")[2] for each in known))
    return did_you_mean(wanted, names, f"this run has {', '.join(known[:PODS_SHOWN])}{more}")


def head(replay: RecordReplay) -> Iterator[str]:
    """Which agent it is."""
    header = replay.run.header
    yield f"node {header.node}: the agent that began at {shown(header.began_wall_ns)}, by actorlet {header.actorlet}"


def verdict(replay: RecordReplay) -> Iterator[str]:
    """What came of it."""
    dispatcher, differences = replay.player.dispatcher, replay.differences
    size = f"{of(replay.step, 'step')} in {seconds(replay.now_ns)}"
    if differences:
        yield from difference_lines(differences[0])
        yield f"{of(len(differences), 'difference')} in {size}; each time it went on from what the record says"
    else:
        yield f"all is as recorded, to the last call and message: {size}"
    if dispatcher.lost:
        yield f"the record ends there: {dispatcher.lost}"
    elif replay.run.torn:
        yield f"the record ends there: {replay.run.torn}"
    elif replay.done and not dispatcher.is_complete:
        yield "the record ends there: the agent was killed, or is still running"


def difference_lines(difference: Difference) -> Iterator[str]:
    """A difference in full."""
    yield f"first difference: {shown(difference.wall_ns)}, {brief(difference)}"
    yield f"  recorded: {_cut(difference.expected) or 'nothing'}"
    yield f"  now:      {_cut(difference.got) or 'nothing'}"


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_AT_MOST else f"{text[:TEXT_AT_MOST]}..."


def _step_through(run: RecordedRun, options: argparse.Namespace, interrupt: Interrupt, trace: TraceFile | None) -> int:
    """Stop somewhere, and look around there or go on by hand."""
    stepper = Stepper(partial(RecordReplay, run), interrupt, lines=options.lines, out=say)
    if trace is not None:
        stepper.also_told = lambda line: trace.write(f"{readable(line)}\n")
    say(*head(stepper.replay))
    stepper.walk(options.until, by_hand=options.step)
    if interrupt.came:
        complain("actorlet replay: interrupted")
        return 130
    if options.pod is not None:
        stepper.pods(options.pod)
    if options.actor is not None:
        try:
            stepper.actor(options.actor)
        except UnknownActorError as error:
            complain(f"actorlet replay: {error}")
            return 2
    return 1 if stepper.replay.differences else 0
