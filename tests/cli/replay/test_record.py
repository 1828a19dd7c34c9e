"""The record of a real process: replayed, explained and rehearsed, also when it was killed or cut off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import zlib
from pathlib import Path

import pytest

from actorlet._process import command
from actors.records.folder import RecordedRun, runs_in
from actors.records.format import PackedComparison
from actors.records.values import UnreadableValueError, ValueReader
from cli.inspect.explain import main as explain
from cli.moments import shown
from cli.rehearse.command import main as rehearse
from cli.replay.command import main as replay
from cli.simulate.command import main as simulate
from runtime.records.ring import segments_of
from tests.real.waiting import until

READ = ValueReader.read
REPOSITORY = Path(__file__).parents[3]
LIMIT_S = 60.0
AS_RECORDED = "all is as recorded, to the last call and message"


def up(folder: Path, *more: str) -> list[str]:
    """The command line of a recorded node."""
    return command("cli.main", "up", "--no-apiserver", "--record", str(folder), *more)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a node that ended in order."""
    folder = tmp_path_factory.mktemp("record")
    subprocess.run(up(folder, "--once", "--output", "json"), check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def record(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it, to spoil."""
    return Path(shutil.copytree(recorded, tmp_path / "record"))


def test_a_node_on_threads_is_replayed_to_its_last_message(recorded: Path, capsys: pytest.CaptureFixture[str]):
    assert replay([str(recorded)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("node demo: the agent that began at ")
    assert AS_RECORDED in out
    assert "the record ends there" not in out


def test_a_killed_node_is_replayed_up_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    record = tmp_path / "record"
    with subprocess.Popen(up(record), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        until(lambda: "Running" in process.stdout.readline(), LIMIT_S, "no pod runs")  # type: ignore[union-attr]
        until(lambda: sum(os.path.getsize(path) for path in segments_of(str(record))) > 10_000, LIMIT_S, "no record")
        process.send_signal(signal.SIGKILL)
        process.stdout.close()
    assert replay([str(record)]) == 0
    out = capsys.readouterr().out
    assert AS_RECORDED in out
    assert "the agent was killed, or is still running" in out


def test_a_segment_that_was_cut_off_is_replayed_as_far_as_it_goes(record: Path, capsys: pytest.CaptureFixture[str]):
    (path,) = segments_of(str(record))
    os.truncate(path, os.path.getsize(path) - 7)
    assert replay([str(record)]) == 0
    out = capsys.readouterr().out
    assert AS_RECORDED in out
    assert "the record ends there: the last frame was cut off" in out


def test_a_record_that_lost_its_beginning_says_so(record: Path, capsys: pytest.CaptureFixture[str]):
    (path,) = segments_of(str(record))
    lose_beginning(Path(path))
    assert replay([str(record)]) == 2
    told = capsys.readouterr()
    assert "begins in the middle" in told.err
    assert "nothing of the record can be played" in told.out


def lose_beginning(path: Path) -> None:
    """Make this the fourth segment of its run."""
    data = bytearray(path.read_bytes())
    place = data.index(b"index") + len(b"index")
    assert data[place] == 0
    data[place] = 3
    length = int.from_bytes(data[17:21], "big")
    data[21:25] = zlib.crc32(bytes(data[25 : 25 + length])).to_bytes(4, "big")
    path.write_bytes(bytes(data))


@pytest.fixture(scope="module")
def two_runs(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of two agents, one after the other."""
    folder = Path(shutil.copytree(recorded, tmp_path_factory.mktemp("two") / "record"))
    subprocess.run(up(folder, "--once", "--output", "json"), check=True, stdout=subprocess.DEVNULL)
    return folder


def begin_of(run: RecordedRun) -> str:
    """The first second of the run, as a moment."""
    return shown(run.header.began_wall_ns + 10**9).removesuffix(" UTC")


def test_the_agent_of_a_moment_is_played(two_runs: Path, capsys: pytest.CaptureFixture[str]):
    first, second = runs_in(str(two_runs))
    for run in (first, second):
        assert replay([str(two_runs), "--until", begin_of(run), "--lines", "1"]) == 0
        assert shown(run.header.began_wall_ns) in capsys.readouterr().out
        assert explain(["web-demo", "--from", str(two_runs), "--at", begin_of(run)]) == 0


def test_what_is_left_after_a_beginning_was_dropped_is_played(
    two_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    record = Path(shutil.copytree(two_runs, tmp_path / "record"))
    first, second = runs_in(str(record))
    lose_beginning(Path(first.paths[0]))
    assert replay([str(record)]) == 0
    out = capsys.readouterr().out
    since = f"the record can be played from {shown(second.header.began_wall_ns)} on"
    assert f"the beginning of run 1 made room for newer segments: {since}" in out
    assert out.count(AS_RECORDED) == 1
    assert explain(["web-demo", "--from", str(record), "--at", begin_of(second)]) == 0
    capsys.readouterr()
    for played in (["--until", begin_of(first)], ["--run", "1"]):
        assert replay([str(record), *played]) == 2
    assert explain(["web-demo", "--from", str(record), "--at", begin_of(first)]) == 2
    assert since in capsys.readouterr().err
    assert rehearse([str(record)]) == 0
    assert "1 agent left out" in capsys.readouterr().out


@pytest.mark.parametrize("spoiled", ["empty", "nothing", "text"])
def test_what_is_no_record_is_refused(spoiled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if spoiled == "empty":
        (tmp_path / "0000000001.segment").touch()
    elif spoiled == "text":
        (tmp_path / "0000000001.segment").write_text("no record")
    assert replay([str(tmp_path)]) == 2
    assert "has no record; `actorlet run --record" in capsys.readouterr().err


def test_a_second_node_is_refused_the_folder(tmp_path: Path):
    with subprocess.Popen(up(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        second = subprocess.run(up(tmp_path, "--once"), capture_output=True, text=True, check=False)
        process.send_signal(signal.SIGINT)
        process.stdout.close()
    assert second.returncode == 1
    assert f"another agent records into {tmp_path}" in second.stderr


def test_the_lines_of_a_pod_tell_what_was_done_about_it(recorded: Path, capsys: pytest.CaptureFixture[str]):
    assert replay([str(recorded), "--pod", "web-demo"]) == 0
    out = capsys.readouterr().out
    assert "calls cri.call RunPodSandbox" in out
    assert "report-demo" not in out


def test_a_mistyped_pod_gets_the_pods_of_the_run(recorded: Path, capsys: pytest.CaptureFixture[str]):
    assert replay([str(recorded), "--pod", "web-dmo"]) == 0
    assert "no line names web-dmo; did you mean web-demo?" in capsys.readouterr().out
    assert replay([str(recorded), "--pod", "cart"]) == 0
    assert "no line names cart; this run has default/" in capsys.readouterr().out


def test_an_actor_is_looked_at_at_a_time(recorded: Path, capsys: pytest.CaptureFixture[str]):
    assert replay([str(recorded), "--until", "1s", "--actor", "status-manager", "--lines", "1"]) == 0
    out = capsys.readouterr().out
    assert "/node/status-manager: StatusManagerActor" in out
    assert "messages handled" in out


def test_a_pod_is_explained_as_it_was_then(recorded: Path, capsys: pytest.CaptureFixture[str]):
    (run,) = runs_in(str(recorded))
    assert explain(["web-demo", "--from", str(recorded)]) == 0
    assert "default/web-demo  Running" in capsys.readouterr().out
    at = shown(run.header.began_wall_ns + 10**9).removesuffix(" UTC")
    assert explain(["web-demo", "--from", str(recorded), "--at", at]) == 0
    assert "default/web-demo  Running" not in capsys.readouterr().out


def test_a_moment_before_the_record_is_refused(recorded: Path, capsys: pytest.CaptureFixture[str]):
    assert explain(["web-demo", "--from", str(recorded), "--at", "2001-01-01T00:00:00Z"]) == 2
    assert "the record begins only at" in capsys.readouterr().err


def test_the_same_version_decides_nothing_otherwise(recorded: Path, capfd: pytest.CaptureFixture[str]):
    assert rehearse([str(recorded)]) == 0
    assert "decides all as recorded" in capfd.readouterr().out
    assert rehearse([str(recorded), "--with", str(REPOSITORY)]) == 0
    assert "decides all as recorded" in capfd.readouterr().out


def test_a_record_with_values_of_a_newer_version_is_refused_with_a_sentence(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def newer(*_: object) -> None:
        raise UnreadableValueError("Unexpected keyword argument 'mood'")

    monkeypatch.setattr(ValueReader, "read", lambda self, data: newer() if len(data) < 200 else READ(self, data))
    for played in (replay, rehearse):
        assert played([str(recorded)]) == 2
        assert "this version cannot read the record; use that which wrote it" in capsys.readouterr().err


def test_another_version_must_be_one(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert rehearse([str(recorded), "--with", str(tmp_path)]) == 2
    assert "is no wheel and no clone of actorlet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "status"),
    [
        ('- {what: "*", why: all of it}', 0),
        ("- {what: something else}", 1),
        ("- {nothing: x}", 2),
        ("a text", 2),
    ],
)
def test_a_table_says_which_differences_are_expected(
    table: str, status: int, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(PackedComparison, "same_message", lambda *_: False)
    (tmp_path / "table.yaml").write_text(table)
    assert rehearse([str(recorded), "--expected", str(tmp_path / "table.yaml")]) == status


def test_a_scenario_of_a_record_can_be_played(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "night.yaml"
    assert replay([str(recorded), "--scenario", str(file), "--pod", "web-demo"]) == 0
    assert "1 pod and no faults; it breaks no rule" in capsys.readouterr().out
    assert simulate([str(file), "--seed", "1", "--quiet"]) == 0


def test_a_scenario_of_no_pod_is_refused(recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert replay([str(recorded), "--scenario", str(tmp_path / "x"), "--pod", "nothing"]) == 2
    assert "no pod of the record has 'nothing' in its name" in capsys.readouterr().err
