"""`actorlet replay`: from a failure of `actorlet simulate` to its step, and to any actor there."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
from functools import partial
from pathlib import Path

import pytest

from cli.replay.command import main
from cli.replay.steps import Stepper, _is_message
from cli.simulate.command import main as simulate
from cli.simulate.play_watch import Interrupt, interruptible
from simulation.play.replay import Replay
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


def test_until_takes_a_pod_as_well(saved: str, capsys: pytest.CaptureFixture[str]):
    assert main([saved, "--until", "pod a-", "--lines", "1"]) == 0
    assert "  world  creates a-" in capsys.readouterr().out


def test_the_trace_is_written_for_people(saved: str, tmp_path: Path):
    assert main([saved, "--until", "205ms", "--trace", "trace.txt"]) == 0
    lines = (tmp_path / "trace.txt").read_text().splitlines()
    assert lines
    assert all(" s  " in line for line in lines)


def test_an_interactive_replay_goes_step_by_step(
    saved: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    words = "\nnext 9\nuntil 250ms\nactors lease\nactor no-such\nuntil soon\nnext x\nwhat\n?\ntrace 2\ngo\nactor pleg\n"
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
    assert "unknown word 'what'; try ?, which lists the words" in out
    assert "until STEP|TIME" in out
    assert "node-0/node/pleg: PlegActor" in out
    assert "as saved" in out


def conversed(saved: str, words: str) -> tuple[Stepper, list[str]]:
    """The stepper after these words, and what it printed."""
    told: list[str] = []
    stepper = Stepper(partial(Replay, read_saved_run(Path(saved).read_bytes())), Interrupt(), lines=3, out=told.append)
    stepper.converse(io.StringIO(words))
    return stepper, told


def test_every_turn_shows_its_message(saved: str):
    _, told = conversed(saved, "next\n" * 120)
    turns = [told[number - 1] for number, each in enumerate(told) if each.startswith("-- step")]
    assert len(turns) == 120
    assert all("  node-0" in each and "  node-0/runtime" not in each for each in turns), turns
    assert any(each.endswith("  begins") for each in turns)
    assert any("goes on when it has" in each for each in turns)


def test_going_back_shows_the_same_once_more(saved: str):
    stepper, told = conversed(saved, "until 50\nnext 5\nback 5\nnext 5\nuntil 20\nuntil 100ms\nuntil 50ms\nback 9999\n")
    places = [each for each in told if each.startswith("-- step")]
    assert [each.split()[2].rstrip(",") for each in places[:5]] == ["50", "55", "50", "55", "20"]
    assert told[: told.index(places[1])][-3:] == told[: told.index(places[1], told.index(places[2]))][-3:]
    assert "0.100000000 s" in places[5]
    assert "0.050000000 s" in places[6]
    assert stepper.replay.step == 0


def test_a_trace_has_each_line_once_although_it_was_played_twice(saved: str):
    lines: list[str] = []
    stepper = Stepper(
        partial(Replay, read_saved_run(Path(saved).read_bytes())), Interrupt(), lines=3, out=lambda _: None
    )
    stepper.also_told = lines.append
    stepper.converse(io.StringIO("until 60\nback 30\nuntil 80\n"))
    straight: list[str] = []
    other = Stepper(partial(Replay, read_saved_run(Path(saved).read_bytes())), Interrupt(), lines=3, out=lambda _: None)
    other.also_told = straight.append
    other.converse(io.StringIO("until 80\n"))
    assert lines == straight != []


def test_it_stops_at_a_pod_and_at_a_message_and_lists_pods(saved: str):
    stepper, told = conversed(
        saved, "pods\nuntil pod a-\npods\nuntil message podworkerended\nuntil message Relist\npods zzz\nuntil pod\n"
    )
    assert told[0] == "  no pods"
    stop = next(number for number, each in enumerate(told) if each.startswith("-- step"))
    assert "creates default/a-" in told[stop - 1] or "creates a-" in told[stop - 1], told[stop - 1]
    assert told[stop + 1].startswith("  default/a-"), "the pods of the API"
    assert told[stop + 1].endswith(": Pending, no node, no restarts")
    back = next(each for each in told if each.startswith("-- no message"))
    assert "-- no message 'podworkerended' until the end; back to step" in back
    assert any("  Relist" in each for each in told)
    assert "  no pod has 'zzz' in its name now" in told
    assert "which pod? write a name, such as: until pod web-1" in told
    assert stepper.replay.step > 0


@pytest.mark.parametrize(
    ("line", "name", "is_it"),
    [
        ("12.000000000 s /node/pleg Relist", "relist", True),
        ("12.000000000 s /node/pleg PodStatusChanged(('f5d3', 302000000))", "PodStatusChanged", True),
        ("629.440294658 s  /node/sync-loop/1/probes  sends ProbesJudged to /node/sync-loop/1", "ProbesJudged", True),
        ("629.440294658 s  /node/sync-loop/1/probes  sends ProbesJudged to /node/sync-loop/1", "ProbesTold", False),
        ("720.000000000 s    turn", "Relist", False),
        ("", "Relist", False),
    ],
)
def test_a_message_is_found_by_its_name_in_each_kind_of_trace(line: str, name: str, is_it: bool):
    assert _is_message(name)(line) is is_it


def test_a_mistyped_word_is_told_the_nearest_one(saved: str):
    _, told = conversed(saved, "untill 5\nfly\nactor\n")
    assert told == [
        "unknown word 'untill'; did you mean until?",
        "unknown word 'fly'; try ?, which lists the words",
        "which actor? `actors` lists them",
    ]


def test_an_interrupt_ends_the_current_move_of_an_interactive_replay(saved: str):
    interrupt, told = Interrupt(), []

    def out(line: str) -> None:
        told.append(line)
        if line.startswith("-- step"):
            os.kill(os.getpid(), signal.SIGINT)

    with interruptible(interrupt):
        stepper = Stepper(partial(Replay, read_saved_run(Path(saved).read_bytes())), interrupt, lines=1, out=out)
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
