"""`actorlet simulate`: its report, its exit status, its complaints, and how it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.simulate import main

FIELDS = {
    "seed": int,
    "pods": int,
    "nodes": int,
    "virtual_seconds": float,
    "wall_seconds": float,
    "messages": int,
    "peak_rss_bytes": int,
    "trace_hash": str,
    "violations": list,
    "sometimes": dict,
    "startup_seconds": dict,
    "converged": bool,
}
IMPOSSIBLE = (
    "about: a start that takes no time\npods: [{name: a, count: 2, arrives: [0s, 0s], startsWithin: 1ms}]\nlasts: 5s\n"
)
NEVER = "about: nobody is killed\npods: [{name: a, count: 1}]\nlasts: 20s\nreaches: [agent-killed]\n"


def test_the_report_has_every_field_and_twice_the_same_trace(capsys: pytest.CaptureFixture[str]):
    assert main(["--pods", "10", "--seeds", "7..8", "--json"]) == 0
    assert main(["--pods", "10", "--seed", "7", "--json"]) == 0
    first, other, again = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert {name: type(value) for name, value in first.items()} == FIELDS
    assert (first["seed"], first["pods"], first["nodes"], first["converged"]) == (7, 10, 10, True)
    assert first["violations"] == []
    assert set(first["startup_seconds"]) == {"p50", "p90", "p99"}
    assert first["trace_hash"] == again["trace_hash"] != other["trace_hash"]


def test_a_violation_is_told_with_the_command_that_shows_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "impossible.yaml"
    file.write_text(IMPOSSIBLE)
    assert main([str(file), "--seed", "3"]) == 1
    out = capsys.readouterr().out
    assert "VIOLATION starts-in-time" in out
    assert f"actorlet simulate {file} --seed 3 --trace trace.txt" in out


def test_a_rare_state_that_no_seed_has_reached_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "never.yaml"
    file.write_text(NEVER)
    assert main([str(file), "--seeds", "1..2", "--json"]) == 1
    assert "no seed reached agent-killed" in capsys.readouterr().err


def test_the_trace_is_a_line_for_each_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "trace.txt"
    assert main(["--pods", "5", "--nodes", "2", "--json", "--trace", str(file)]) == 0
    lines = [line for line in file.read_text().splitlines() if line.split()[1] != "world"]
    assert len(lines) == json.loads(capsys.readouterr().out)["messages"]
    assert {line.split()[1].partition("/")[0] for line in lines} == {"node-0", "node-1"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such-one"], "there is no scenario 'no-such-one'; there are"),
        (["/no/such/file.yaml"], "No such file"),
        (["one-hung-pod", "--pods", "1", "--trace", "/no/such/directory/trace"], "No such file"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--seeds", "3..1"], ["--seeds", "3"], ["--for", "soon"], ["--nodes", "0"]])
def test_a_wrong_option_is_refused(arguments: list[str]):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_an_interrupt_ends_it_soon_and_in_order():
    command = [sys.executable, "-m", "cli.main", "simulate", "--pods", "1", "--seeds", "1..100000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["seed"] == 1
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert error.endswith("actorlet simulate: interrupted\n")
    assert all(json.loads(line)["seed"] >= 1 for line in out.splitlines())
