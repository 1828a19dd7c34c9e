"""`actorlet replay DIR --scenario FILE`: the smallest scenario that fails as the record did.

The record is played for its pods and their runtime, and `simulation.relived` makes a scenario of that. The scenario is
played. If it breaks a rule, it is shrunk while it breaks that rule. Exit status 0: the file is written, whether or not
a rule is broken. 2: the record cannot be read, or has no such pod. 130: interrupted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from actors.kernel import Dispatcher
from actors.kernel.recorded.entries import Called, CalledBack, EffectDone, Ended, EndedAtOnce
from actors.kernel.recorded.replayer import Taken
from actors.records.folder import RecordedRun
from actors.replays.player import RunPlayer
from cli.printing import complain, say
from cli.silence import silence
from cli.simulate.failed_runs import shrunk_here
from cli.simulate.play_watch import Interrupt, interruptible
from cli.simulate.report import of
from cli.simulate.trace_lines import seconds
from runtime.files.whole_file import write_whole
from runtime.io.rings import few_collections
from simulation.play.failure import Failure, failures_of
from simulation.play.play import Play
from simulation.play.saved_run import scenario_text
from simulation.relived.scenario import scenario_of
from simulation.relived.seen import Night
from simulation.scenarios.scenario import Scenario, ScenarioError, check_scenario

SEED = 1
SECOND_NS = 1_000_000_000


def write_scenario(runs: Sequence[RecordedRun], pod: str, path: str) -> int:
    """Write it; the exit status. Raises NoRecordError, FormatError and OSError."""
    interrupt = Interrupt()
    with contextlib.ExitStack() as stack:
        for manager in (interruptible(interrupt), few_collections(), silence()):
            stack.enter_context(manager)
        scenario = scenario_of(night_of(runs, interrupt), runs[0].header.node, pod)
        if scenario is None:
            complain(f"actorlet replay: no pod of the record has {pod!r} in its name" if pod else "no pod is recorded")
            return 2
        try:
            check_scenario(scenario)
        except ScenarioError as error:
            complain(*(f"actorlet replay: the scenario cannot be played: {fault}" for fault in error.faults))
            return 2
        play = Play(scenario, SEED)
        while not play.done and not interrupt.came:
            play.advance(SECOND_NS)
        failures = failures_of(play)
    if interrupt.came:
        complain("actorlet replay: interrupted")
        return 130
    if failures:
        failure, runs_made = shrunk_here(failures[0], play.world.dispatcher.steps, interrupt, quiet=False)
        _write(path, failure.scenario)
        say(*_lines(path, scenario, failure, runs_made))
    else:
        _write(path, scenario)
        say(f"{path}: {_size(scenario)}; it breaks no rule, so it is as it came from the record")
    return 0


def night_of(runs: Sequence[RecordedRun], interrupt: Interrupt) -> Night:
    """Play the runs: what pods and runtime did."""
    night = Night()
    first_ns = runs[0].header.began_wall_ns
    for run in runs:
        player = RunPlayer(run, lambda _: None)
        dispatcher = player.dispatcher
        offset_ns = run.header.began_wall_ns - first_ns - dispatcher.began.now_ns
        night.begin_agent(offset_ns + dispatcher.began.now_ns)
        dispatcher.on_call = partial(_called, night, dispatcher, offset_ns)
        dispatcher.on_message = partial(_told, night, dispatcher, offset_ns)
        while not interrupt.came and not dispatcher.stops_next() and (taken := player.step()) is not None:
            _feed(night, taken, offset_ns)
    return night


def _called(night: Night, dispatcher: Dispatcher, offset_ns: int, call: Called, arguments: tuple[Any, ...]) -> None:
    if call.ended is Ended.PENDING:
        night.called(call.site, arguments, call.value, dispatcher.now_ns() + offset_ns)


def _told(night: Night, dispatcher: Dispatcher, offset_ns: int, message: Any) -> None:
    night.told(message, dispatcher.now_ns() + offset_ns)


def _feed(night: Night, taken: Taken, offset_ns: int) -> None:
    step = taken.step
    now_ns = step.now_ns + offset_ns
    if isinstance(step, EffectDone):
        night.ended(step.number, step.value, now_ns)
    elif isinstance(step, CalledBack):
        night.happened(step.arguments)
    for deed in taken.deeds:
        if isinstance(deed, EndedAtOnce):
            night.ended(deed.number, deed.value, now_ns)


def _write(path: str, scenario: Scenario) -> None:
    write_whole(path, scenario_text(scenario).encode(), mode=0o644, lasting=False)


def _lines(path: str, whole: Scenario, failure: Failure, runs: int) -> Sequence[str]:
    small, violated = failure.scenario, failure.violated
    return (
        f"{path}: {_size(small)}, of {_size(whole)} in the record ({of(runs, 'run')} to shrink it)",
        f"it breaks {violated.invariant} at {seconds(violated.at_ns)}: {violated.what}",
        f"again: actorlet simulate {path} --seed {failure.seed}",
    )


def _size(scenario: Scenario) -> str:
    return f"{of(scenario.pod_count(), 'pod')} and {of(len(scenario.faults), 'fault')}"
