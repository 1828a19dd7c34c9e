"""Handles a failed run of `actorlet simulate`.

It shrinks the run, saves it, and says how to play it again.

The file holds the whole shrunk scenario. An error here never hides the failure itself. A file that cannot be written to
its place goes to the directory for temporary files. If that fails too, the report names the command that plays the same
seed again.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shlex
from collections.abc import Callable, Iterator
from typing import TextIO

import msgspec

from cli.file_errors import why
from cli.printing import say
from cli.silence import silence
from cli.simulate.play_watch import Interrupt
from cli.simulate.report import of
from cli.simulate.side_process import DiedError
from cli.simulate.trace_lines import readable, seconds
from cli.version import VERSION
from runtime.files.whole_file import write_whole
from runtime.io.rings import few_collections
from simulation.play.failure import Failure, saved, shrunk_failure
from simulation.play.saved_run import FoundIn, written

LINES_SHOWN = 12


class Played(msgspec.Struct, frozen=True):
    """The scenario that is played, and the directory for its failures.

    `again`: the command that plays a seed of it again.
    """

    name: str
    again: str
    directory: str


Shrinking = Callable[[Failure, int], tuple[Failure, int]]
"""Shrinks a failure, given the turns of its run.

Returns the smallest failure that is like it, and the number of runs.
"""


def tell_failure(
    failure: Failure, turns: int, played: Played, shrinking: Shrinking | None, out: TextIO, *, rule_in_name: bool
) -> Failure:
    """Print what failed, and save it, shrunk unless there is no time for that; what was saved.

    `rule_in_name`: of the file: another failure of the seed has the plain name.
    """
    say(*(f"  {line}" for line in _failure_lines(failure)), to=out)
    small, runs = failure, 0
    if shrinking is not None:
        try:
            small, runs = shrinking(failure, turns)
            say(f"  shrunk in {runs} runs to {_size(small)}", to=out)
        except DiedError as died:
            say(f"  it could not be shrunk: {died}", to=out)
    scenario = failure.scenario
    found_in = FoundIn(
        scenario=played.name, seed=failure.seed, pods=scenario.pod_count(), nodes=scenario.nodes, runs=runs
    )
    rule = f"-{failure.violated.invariant}" if rule_in_name else ""
    name = f"{os.path.basename(played.name).partition('.')[0] or 'scenario'}-seed-{failure.seed}{rule}.failed.yaml"
    import tempfile  # slow to import, and seldom needed

    text = written(saved(small, actorlet=VERSION, found_in=found_in))
    # It may have taken an hour to come so far: what has no place where it was to be has one with the passing files.
    for directory in (played.directory, ""):
        try:
            path = os.path.join(directory or tempfile.mkdtemp(prefix="actorlet-failed-"), name)
            write_whole(path, text, mode=0o644, lasting=False)
        except OSError as error:
            say(f"  it could not be saved: {why(error)}", to=out)
            continue
        shown = os.path.normpath(path)
        say(f"  again: actorlet replay {shlex.quote(f'./{shown}' if shown[0] == '-' else shown)}", to=out)
        return small
    say(f"  again: {played.again}", to=out)
    return small


def shrunk_quietly(
    failure: Failure, turns: int, must_stop: Callable[[], bool], told: Callable[[int], object]
) -> tuple[Failure, int]:
    """`Shrinking` in this process. Before each run, `told` gets the number of runs so far."""
    with few_collections(), silence():
        return shrunk_failure(failure, turns, stop=must_stop, told=_between_runs(told))


def shrunk_here(failure: Failure, turns: int, interrupt: Interrupt, *, quiet: bool) -> tuple[Failure, int]:
    """`Shrinking` with its progress on standard error."""
    with _status(quiet) as told:
        return shrunk_quietly(failure, turns, lambda: interrupt.came, told)


def _between_runs(told: Callable[[int], object]) -> Callable[[int], object]:
    """Collect garbage before each run: a finished world is one reference cycle, and many fill the memory."""

    def tell(runs: int) -> None:
        gc.collect()
        told(runs)

    return tell


def _failure_lines(failure: Failure) -> Iterator[str]:
    violated, moment = failure.violated, failure.moment
    where = f"step {moment.step}, {seconds(violated.at_ns)}"
    yield f"seed {failure.seed} broke {violated.invariant} at {where}: {violated.what}"
    yield "the last of what had happened then:"
    for line in moment.last_lines[-LINES_SHOWN:]:
        yield f"  {readable(line)}"


def _size(failure: Failure) -> str:
    scenario = failure.scenario
    pods, nodes, faults = scenario.pod_count(), scenario.nodes, len(scenario.faults)
    return f"{of(pods, 'pod')}, {of(nodes, 'node')}, {of(faults, 'fault')}; step {failure.moment.step}"


@contextlib.contextmanager
def _status(quiet: bool) -> Iterator[Callable[[int], object]]:
    if quiet:
        yield lambda _: None
        return
    from rich.status import Status  # slow to import, and only for who has a failure

    from cli.styling import console

    terminal = console(stderr=True)
    if not terminal.is_terminal:
        yield lambda _: None
        return
    with Status("shrinking the failure", console=terminal) as status:
        yield lambda runs: status.update(f"shrinking the failure: run {runs}")
