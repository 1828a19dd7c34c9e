"""`actorlet simulate --seeds A..B --jobs N`: each seed has a process of its own.

The output differs only in its times.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.simulate import seeds_side_by_side
from cli.simulate.command import main
from cli.simulate.seed_played import PartPlayed
from cli.simulate.side_process import NoProcessError, SideProcess
from simulation.play.play import Play

MEASURED = ("wall_seconds", "peak_rss_bytes")
IMPOSSIBLE = (
    "about: a start that takes no time\npods: [{name: a, count: 2, arrives: [0s, 0s], startsWithin: 1ms}]\nlasts: 5s\n"
)
UNLUCKY = """
about: two agents that die
nodes: 2
pods: [{name: a, count: 4, arrives: [0s, 9s]}]
faults: [{fault: agent-kills, times: 2}, {fault: runtime-calls, fail: 0.1}]
lasts: 10s
"""
ENDLESS = "about: more than anybody waits for\npods: [{name: a, count: 300, replacedHourly: 1}]\nlasts: 9000h\n"


@pytest.fixture
def impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "impossible.yaml"
    file.write_text(IMPOSSIBLE)
    return file


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before_it_plays(monkeypatch: pytest.MonkeyPatch, operation: Any) -> None:
    """`operation(seed)` is done in the process that plays the seed, before each piece of it."""
    advance = Play.advance

    def spied(play: Play, ns: int) -> None:
        operation(play.seed)
        advance(play, ns)

    monkeypatch.setattr(Play, "advance", spied)


def seeds_of(out: str) -> list[int]:
    return [json.loads(line)["seed"] for line in out.splitlines()]


def test_parallel_seeds_report_the_same_as_one_process_except_timings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "unlucky.yaml"
    file.write_text(UNLUCKY)
    told = []
    for jobs in ("1", "3"):
        assert main([str(file), "--seeds", "1..3", "--jobs", jobs, "--json"]) == 0
        reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert all(report.pop(name) > 0 for report in reports for name in MEASURED)
        told.append(reports)
    assert told[0] == told[1]
    assert [report["seed"] for report in told[0]] == [1, 2, 3]


def without_what_was_measured(out: str) -> list[str]:
    """Lines for people: the first of each seed ends with how long it took and with how much memory."""
    return [line.partition(" of virtual time in ")[0] for line in out.splitlines()]


def test_a_failure_is_shrunk_and_saved_once_as_by_one_process(impossible: Path, capsys: pytest.CaptureFixture[str]):
    told, files = [], []
    for jobs in ("1", "2"):
        assert main([str(impossible), "--seeds", "3..5", "--jobs", jobs]) == 1
        told.append(without_what_was_measured(capsys.readouterr().out))
        files.append({file.name: file.read_bytes() for file in Path().glob("*.failed.yaml")})
    assert told[0] == told[1]
    assert files[0] == files[1]
    assert [*files[0]] == ["impossible-seed-3.failed.yaml"]


@pytest.fixture
def bell() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_violation_of_a_later_seed_waits_for_the_earlier_reports(
    impossible: Path, bell: tuple[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The first seed plays on only when the second one, with its violation, is over."""
    heard, rung = bell
    waits = [True]

    def operation(seed: int) -> None:
        if seed == 3 and waits:
            os.read(heard, 1)
            waits.clear()

    before_it_plays(monkeypatch, operation)
    take, over = SideProcess.take, []

    def taken(process: SideProcess[Any]) -> Any:
        given = take(process)
        over.append(given.part.seed if isinstance(given, PartPlayed) else None)
        os.write(rung, b"!")
        return given

    monkeypatch.setattr(SideProcess, "take", taken)
    assert main([str(impossible), "--seeds", "3..4", "--jobs", "2", "--json"]) == 1
    assert over[:2] == [4, 3]
    said = capsys.readouterr()
    assert seeds_of(said.out) == [3, 4]
    assert said.err.index("seed 3 broke starts-in-time") < said.err.index("--seed 4 --trace")
    assert [file.name for file in Path().glob("*.failed.yaml")] == ["impossible-seed-3.failed.yaml"]


def test_a_process_that_dies_is_told_with_its_seed_and_hurts_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before_it_plays(monkeypatch, lambda seed: kill_this_process() if seed == 2 else None)
    assert main(["--pods", "1", "--nodes", "1", "--seeds", "1..4", "--jobs", "2", "--json"]) == 1
    said = capsys.readouterr()
    assert seeds_of(said.out) == [1, 3, 4]
    assert "seed 2 was not played to its end: its process was ended by SIGKILL, as the kernel does when" in said.err
    assert "again: actorlet simulate everyday --seed 2 --nodes 1 --pods 1 --trace trace.txt" in said.err


def test_a_failure_whose_shrinking_dies_is_saved_as_it_is(
    impossible: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(seeds_side_by_side, "shrunk_quietly", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert main([str(impossible), "--seeds", "3..4", "--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "it could not be shrunk: its process was ended by SIGKILL" in out
    assert "again: actorlet replay impossible-seed-3.failed.yaml" in out


def test_an_exception_in_a_play_is_raised_with_its_traceback(monkeypatch: pytest.MonkeyPatch):
    def fails(seed: int) -> None:
        raise ZeroDivisionError("as the test wants it")

    before_it_plays(monkeypatch, fails)
    with pytest.raises(ZeroDivisionError, match="as the test wants it") as raised:
        main(["--pods", "1", "--seeds", "1..2", "--jobs", "2", "--json"])
    assert "in fails\n" in raised.value.__notes__[0]


class UnsendableError(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


def test_an_error_that_cannot_be_sent_is_told_in_words(monkeypatch: pytest.MonkeyPatch):
    def fails(seed: int) -> None:
        raise UnsendableError("this", "that")

    before_it_plays(monkeypatch, fails)
    with pytest.raises(RuntimeError, match="UnsendableError: this and that"):
        main(["--pods", "1", "--seeds", "1..2", "--jobs", "2", "--json"])


def test_where_the_machine_gives_fewer_processes_there_are_fewer_at_a_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    begin, alive, most = SideProcess.__init__, [0], [0]
    take = SideProcess.take

    def begun(process: SideProcess[Any], operation: Any) -> None:
        if alive[0] == 2:
            raise NoProcessError("no process could be begun")
        begin(process, operation)
        alive[0] += 1
        most[0] = max(most[0], alive[0])

    def taken(process: SideProcess[Any]) -> Any:
        alive[0] -= 1
        return take(process)

    monkeypatch.setattr(SideProcess, "__init__", begun)
    monkeypatch.setattr(SideProcess, "take", taken)
    assert main(["--pods", "1", "--seeds", "1..4", "--jobs", "3", "--json"]) == 0
    assert seeds_of(capsys.readouterr().out) == [1, 2, 3, 4]
    assert most == [2]


def test_where_the_machine_gives_no_process_it_is_told_what_needs_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    assert main(["--pods", "1", "--seeds", "1..2", "--jobs", "2", "--json"]) == 2
    error = capsys.readouterr().err
    assert "no process could be begun: Resource temporarily unavailable; `--jobs 1` needs none" in error


def test_a_trace_is_of_one_seed_after_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = str(tmp_path / "trace")
    with pytest.raises(SystemExit):
        main(["--pods", "1", "--seeds", "1..2", "--jobs", "2", "--trace", trace])
    assert "--trace: one file takes the messages of one seed after the other" in capsys.readouterr().err


APART = """
about: nodes that have nothing to do with each other
nodes: 3
apart: true
pods: [{name: a, count: 5, arrives: [0s, 0s], lives: [5s, 5s], startsWithin: 1ms}]
"""


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apart.yaml").write_text(APART)
    return "./apart.yaml"


def test_nodes_that_are_apart_are_told_as_one_seed_however_many_are_played_at_a_time(
    apart: str, capsys: pytest.CaptureFixture[str]
):
    told = []
    for jobs in ("1", "2", "9"):
        assert main([apart, "--seed", "7", "--jobs", jobs]) == 1
        told.append(without_what_was_measured(capsys.readouterr().out))
    assert told[0] == told[1] == told[2]
    text = "\n".join(told[0])
    assert text.startswith("seed 7: 5 pods on 3 nodes, ")
    assert "starts-in-time at 0.304 s: node-1: a-" in text
    assert "  seed 7, node-0, by itself:\n  seed 7063 broke starts-in-time" in text
    assert "again: actorlet replay apart-seed-7063.failed.yaml" in text


def test_the_trace_of_nodes_that_are_apart_is_that_of_one_after_the_other(
    apart: str, capsys: pytest.CaptureFixture[str]
):
    main([apart, "--seed", "7", "--json", "--trace", "trace.txt"])
    report = json.loads(capsys.readouterr().out)
    lines = [line.split()[:2] for line in Path("trace.txt").read_text().splitlines()]
    who_answered = ("runtime", "api")  # rows that explain the messages, and are none
    actors = [who.partition("/") for _, who in lines if who != "world"]
    nodes = [node for node, _, actor in actors if actor not in who_answered]
    assert len(nodes) == report["messages"]
    assert [node for node, _ in itertools.groupby(nodes)] == ["node-0", "node-1", "node-2"]


def test_a_node_whose_process_dies_is_told_with_its_seed(
    apart: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    before_it_plays(monkeypatch, lambda seed: kill_this_process() if seed == 1 * 1009 + 2 else None)
    assert main([apart, "--seeds", "1..2", "--jobs", "2", "--json"]) == 1
    said = capsys.readouterr()
    assert seeds_of(said.out) == [2]
    assert "seed 1 was not played to its end: node-2: its process was ended by SIGKILL" in said.err


def test_an_interrupt_shows_the_nodes_that_had_begun(
    apart: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    take, interrupts = SideProcess.take, [signal.SIGINT]

    def taken(process: SideProcess[Any]) -> Any:
        while interrupts:
            os.kill(os.getpid(), interrupts.pop())
        return take(process)

    monkeypatch.setattr(SideProcess, "take", taken)
    assert main([apart, "--seed", "7", "--jobs", "2", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["pods"] == 4  # of the first two


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Plays two seeds, side by side, for ever."""
    file = tmp_path / "endless.yaml"
    file.write_text(ENDLESS)
    words = ["simulate", str(file), "--seeds", "1..9", "--jobs", "2", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "actorlet", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(children.read_text().split()) < 2:
            os.sched_yield()
        yield process
        process.kill()


def test_an_interrupt_ends_all_of_them_with_what_was_seen_so_far(endless: subprocess.Popen[str]):
    endless.send_signal(signal.SIGINT)
    out, error = endless.communicate(timeout=60)
    assert endless.returncode == 130, error
    assert error == "actorlet simulate: interrupted\n"
    assert seeds_of(out) == [1, 2]


def test_worker_processes_end_when_their_caller_is_killed(endless: subprocess.Popen[str]):
    endless.kill()
    out, error = endless.communicate(timeout=60)  # that is, when nobody is left who could write
    assert (out, error) == ("", "")
