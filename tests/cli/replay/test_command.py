"""`actorlet replay`: from a failure of `actorlet simulate` to its step, and to any actor there."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
from pathlib import Path

import pytest

from cli.replay.command import main
from cli.replay.steps import Stepper
from cli.simulate.command import main as simulate
from cli.simulate.play_watch import Interrupt, interruptible
from simulation.play.saved_run import read_saved_run

IMPOSSIBLE = """\
about: a start that takes no time
pods: [{name: a, count: 12, arrives: [0s, 0s], startsWithin: 1ms}, {name: b, count: 9}]
faults: [{fault: api-calls, fail: 0.1}]
lasts: 5s
"""


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What `actorlet simulate` says of a failure, and the directory in which it was."""
    directory = tmp_path_factory.mktemp("failed")
    (directory / "impossible.yaml").write_text(IMPOSSIBLE)
    out = io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(out):
        assert simulate(["./impossible.yaml", "--seed", "3"]) == 1
    return out.getvalue(), directory


@pytest.fixture
def saved(failed: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of that failure, as the command names it, here."""
    out, directory = failed
    monkeypatch.chdir(tmp_path)
    name = shlex.split(next(line for line in out.splitlines() if "again: " in line))[-1]
    (tmp_path / name).write_bytes((directory / name).read_bytes())
    return name


def test_simulate_tells_where_it_failed_and_the_command_that_plays_it_again(failed: tuple[str, Path]):
    out, _ = failed
    assert "seed 3 broke starts-in-time at step" in out
    assert "to 1 pod, 1 node, no faults" in out
    assert "  again: actorlet replay impossible-seed-3.failed.yaml\n" in out


def test_it_fails_as_saved_and_shows_the_way_there(saved: str, capsys: pytest.CaptureFixture[str]):
    assert main([saved]) == 1
    out = capsys.readouterr().out
    assert "found in seed 3 of ./impossible.yaml with 21 pods on 1 node" in out
    assert "-- violated: starts-in-time" in out
    assert "as saved, message by message: starts-in-time is violated at step" in out
    assert "node-0/node/sync-loop" in out


def test_until_a_step_the_actor_shows_fields_and_mailbox(saved: str, capsys: pytest.CaptureFixture[str]):
    assert main([saved, "--until", "60", "--actor", "sync-loop", "--lines", "3"]) == 0
    out = capsys.readouterr().out
    assert "-- step 60, " in out
    assert "node-0/node/sync-loop: SyncLoopActor" in out
    assert "mailbox:" in out
    assert "\n  fields:\n    _" in out


def test_the_trace_is_written_for_people(saved: str, tmp_path: Path):
    assert main([saved, "--until", "205ms", "--trace", "trace.txt"]) == 0
    lines = (tmp_path / "trace.txt").read_text().splitlines()
    assert lines
    assert all(" s  " in line for line in lines)


def test_an_interactive_replay_goes_step_by_step(
    saved: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    words = "\nnext 9\nuntil 250ms\nactors lease\nactor no-such\nuntil soon\nnext x\nwhat\ntrace 2\ngo\nactor pleg\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(words))
    assert main([saved, "--step"]) == 1
    out = capsys.readouterr().out
    places = [line for line in out.splitlines() if line.startswith("-- step")]
    assert [line.split()[2] for line in places[:2]] == ["1,", "10,"]
    assert "0.250000000 s" in places[2]
    assert "  node-0/node/node-lease\n" in out
    assert "no actors are named 'no-such' now: `actors` in --step lists those that are; that of a pod ends" in out
    assert "'soon' is not a step or a time" in out
    assert "'x' is not a number" in out
    assert "until STEP|TIME" in out
    assert "node-0/node/pleg: PlegActor" in out
    assert "as saved" in out


def test_an_interrupt_ends_the_current_move_of_an_interactive_replay(saved: str):
    interrupt, told = Interrupt(), []

    def out(line: str) -> None:
        told.append(line)
        if line.startswith("-- step"):
            os.kill(os.getpid(), signal.SIGINT)

    with interruptible(interrupt):
        stepper = Stepper(read_saved_run(Path(saved).read_bytes()), interrupt, lines=1, out=out)
        stepper.converse(io.StringIO("next\nnext\nnext\n"))
    assert [line.split()[2] for line in told if line.startswith("-- step")] == ["1,", "2,", "3,"]


def test_a_replay_of_changed_code_is_reported(saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / saved
    text = file.read_text()
    kept = next(line for line in text.splitlines() if line.startswith("traceHash"))
    file.write_text(text.replace(kept, "traceHash: abcdefabcdefabcdefabcdefabcdefab"))
    assert main([saved]) == 1
    out = capsys.readouterr().out
    assert "no longer gives the saved hash abcdefabcdefabcdefabcdefabcdefab" in out
    assert "starts-in-time is violated at step" in out
    file.write_text(text.replace("startsWithin: 1ms", "startsWithin: 1h"))
    assert main([saved]) == 0
    assert "the failure is gone" in capsys.readouterr().out


def test_a_scenario_is_refused_in_one_line_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "scenario.yaml"
    file.write_text(IMPOSSIBLE)
    assert main([str(file)]) == 2
    error = capsys.readouterr().err
    assert error.endswith("it is a scenario, not a saved failure; play it with `actorlet simulate`\n")
    assert error.count("\n") == 1


def test_all_that_is_wrong_with_a_saved_run_is_told_each_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    broken = tmp_path / "broken.yaml"
    broken.write_text("format: actorlet.saved-run.v1\nseed: seven\n")
    missing = ("violated", "step", "traceHash", "actorlet", "foundIn", "scenario")
    told = {f"{broken}:1: $: has no field {name}; write it" for name in missing}
    assert main([str(broken)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert set(lines) == {
        f"actorlet replay: {each}"
        for each in told | {f"{broken}:2: $.seed: must be a whole number, not the text 'seven'"}
    }
    assert main(["/no/such/file"]) == 2
    assert capsys.readouterr().err == "actorlet replay: /no/such/file: No such file or directory\n"


def test_an_actor_that_is_not_there_is_no_success(saved: str, capsys: pytest.CaptureFixture[str]):
    assert main([saved, "--until", "60", "--actor", "nobody"]) == 2
    assert "no actors are named 'nobody' now" in capsys.readouterr().err
