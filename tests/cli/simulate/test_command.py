"""`actorlet simulate`: its report, its exit status, its complaints, and how it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

import pytest

from cli.simulate.command import main
from simulation.play.saved_run import read_saved_run
from simulation.scenarios.scenario import library, library_scenario
from simulation.world.world import World

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


def test_the_list_says_what_each_scenario_is_about(capsys: pytest.CaptureFixture[str]):
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(library())
    assert all(
        library_scenario(name).about.strip() and library_scenario(name).about in line
        for name, line in zip(library(), lines, strict=True)
    )


@pytest.fixture
def impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "impossible.yaml"
    file.write_text(IMPOSSIBLE)
    return file


def test_a_violation_is_told_saved_and_shown_again_by_one_command(impossible: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(impossible), "--seed", "3", "--failures", "."]) == 1
    out = capsys.readouterr().out
    assert "VIOLATION starts-in-time" in out
    assert "the last of what had happened then:" in out
    assert "again: actorlet replay impossible-seed-3.failed.yaml" in out
    assert read_saved_run(Path("impossible-seed-3.failed.yaml").read_bytes()).scenario.pod_count() == 1


TWO_RULES = """\
about: two promises that nobody can keep
pods:
  - {name: a, count: 9, arrives: [0s, 0s], lives: [2s, 3s], startsWithin: 1ms, endsWithin: 1ms}
lasts: 8s
"""


def test_failures_stand_by_their_rules_and_one_of_each_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("two.yaml").write_text(TWO_RULES)
    assert main(["./two.yaml", "--seeds", "5..6", "--jobs", "1", "--quiet"]) == 1
    out = capsys.readouterr().out
    first = out[: out.index("seed 6:")]
    rules = [line.split()[1] for line in first.splitlines() if line.startswith("  VIOLATION ")]
    assert rules == ["starts-in-time"] * 3 + ["ends-in-time"] * 3
    assert first.count("    and 6 more of this rule, the last at ") == 2
    saved = {name: read_saved_run(Path(name).read_bytes()) for name in sorted(map(str, Path().glob("*.failed.yaml")))}
    assert {name: run.violated.invariant for name, run in saved.items()} == {
        "two-seed-5.failed.yaml": "starts-in-time",
        "two-seed-5-ends-in-time.failed.yaml": "ends-in-time",
    }
    assert all(run.scenario.pod_count() == 1 for run in saved.values())
    assert "again: actorlet simulate ./two.yaml --seed 6 --trace trace.txt" in out, "seed 6 brings no new rule"


def test_for_a_program_failures_go_to_standard_error(impossible: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(impossible), "--seeds", "3..4", "--json"]) == 1
    said = capsys.readouterr()
    assert [json.loads(line)["seed"] for line in said.out.splitlines()] == [3, 4]
    assert "again: actorlet replay impossible-seed-3.failed.yaml" in said.err
    # The second fails alike, and is not shrunk once more.
    assert f"again: actorlet simulate {impossible} --seed 4 --trace trace.txt" in said.err
    assert len(list(Path().glob("*.failed.yaml"))) == 1


def test_a_failure_that_cannot_be_saved_here_is_saved_in_the_temporary_directory(
    impossible: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir("/proc")
    assert main([str(impossible), "--for", "3s"]) == 1
    out = capsys.readouterr().out
    assert "it could not be saved: ./impossible-seed-1.failed.yaml: No such file or directory" in out
    (found,) = tmp_path.glob("actorlet-failed-*/impossible-seed-1.failed.yaml")
    assert f"again: actorlet replay {found}" in out
    assert read_saved_run(found.read_bytes()).seed == 1


def test_where_nothing_can_be_saved_the_seed_is_told(
    impossible: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    monkeypatch.chdir("/proc")
    assert main([str(impossible), "--for", "3s"]) == 1
    out = capsys.readouterr().out
    assert "it could not be saved: ./impossible-seed-1.failed.yaml: No such file or directory" in out
    assert f"again: actorlet simulate {impossible} --seed 1 --for 3s --trace trace.txt" in out


def test_a_file_whose_name_begins_with_a_dot_or_a_dash_is_saved_so_that_it_can_be_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name, saved in ((".yaml", "scenario-seed-1.failed.yaml"), ("-x.yaml", "./-x-seed-1.failed.yaml")):
        Path(name).write_text(IMPOSSIBLE)
        assert main([f"./{name}"]) == 1
        assert f"again: actorlet replay {saved}\n" in capsys.readouterr().out
        assert Path(saved).exists()


def test_a_trace_that_does_not_fit_ends_and_the_play_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["everyday", "--pods", "5", "--for", "10s", "--trace", "/dev/full"]) == 0
    said = capsys.readouterr()
    assert "all became as desired" in said.out
    told = "actorlet simulate: --trace /dev/full: No space left on device: the trace ends before its end\n"
    assert said.err.count(told) == 1


def test_several_seeds_are_counted_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "short.yaml"
    file.write_text("about: one pod\npods: [{name: a, count: 1, lives: [5s, 5s]}]\nlasts: 10s\n")
    assert main([str(file), "--seeds", "1..3"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("3 seeds, all held; sometimes: ")
    assert "never: " in last
    assert "agent-killed" in last


def test_a_rare_state_that_no_seed_has_reached_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "never.yaml"
    file.write_text(NEVER)
    assert main([str(file), "--seeds", "1..2", "--json"]) == 1
    assert "no seed reached agent-killed" in capsys.readouterr().err


def test_the_trace_is_a_line_for_each_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "trace.txt"
    assert main(["--pods", "5", "--nodes", "2", "--json", "--trace", str(file)]) == 0
    told = [line for line in file.read_text().splitlines() if line.split()[1] != "world"]
    lines = [line for line in told if line.split()[1].partition("/")[2] not in ("runtime", "api")]
    assert len(lines) == json.loads(capsys.readouterr().out)["messages"]
    assert {line.split()[1].partition("/")[0] for line in lines} == {"node-0", "node-1"}


def test_the_trace_says_which_call_has_ended_for_which_pod_and_nothing_else_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    scenario, file = tmp_path / "calls.yaml", tmp_path / "trace.txt"
    scenario.write_text(
        "about: calls\npods: [{name: web, count: 1, lives: [20s, 20s], spec: {nodeName: node-0}}]\nlasts: 1m\n"
        "faults: [{fault: runtime-calls, verb: StopContainer, fail: 1}]\n"
    )
    main([str(scenario), "--seed", "1", "--json"])
    main([str(scenario), "--seed", "1", "--json", "--trace", str(file)])
    plain, traced = (json.loads(line)["trace_hash"] for line in capsys.readouterr().out.splitlines())
    assert plain == traced
    told = {line.partition(" ")[2] for line in file.read_text().splitlines()}
    assert {
        "node-0/runtime answered RunPodSandbox of default/web-0",
        "node-0/runtime answered CreateContainer of default/web-0/app",
        "node-0/runtime answered StartContainer of default/web-0/app",
        "node-0/api answered patch pods/status of default/web-0",
    } <= told
    assert any(line.startswith("node-0/runtime failed StopContainer of default/web-0/app: ") for line in told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no-such-one"], "there is no scenario 'no-such-one'; there are"),
        (["/no/such/file.yaml"], "simulate: /no/such/file.yaml: No such file or directory"),
        (
            ["one-hung-pod", "--pods", "1", "--trace", "/no/such/directory/trace"],
            "--trace: /no/such/directory/trace: No",
        ),
    ],
)
def test_an_unplayable_scenario_is_told_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("format: actorlet.saved-run.v1\nscenario: {}\n", "it is a saved failure, not a scenario; play it with"),
        ("apiVersion: v1\nkind: Pod\n", "it is a manifest, not a scenario; run it with `actorlet up --manifests`"),
    ],
)
def test_a_file_of_another_kind_is_refused_in_one_line_with_what_to_do(
    content: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "other.yaml"
    file.write_text(content)
    assert main([str(file)]) == 2
    error = capsys.readouterr().err
    assert (told in error, error.count("\n")) == (True, 1)


def test_every_fault_of_a_scenario_is_told_in_a_line_with_its_file_and_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "mine.yaml"
    file.write_text("about: x\npods: [{name: a, count: many}]\nfaults:\n- {fault: api-calls, fial: 1}\n")
    assert main([str(file)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"actorlet simulate: {file}:2: $.pods[0].count: must be a whole number from 0 to 1000000, not the text 'many'",
        f"actorlet simulate: {file}:4: $.faults[0].fial: unknown field; did you mean fail?",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "3..1"], "'3..1' is not a range A..B with A <= B"),
        (["--seeds", "3"], "'3' is not a range A..B with A <= B"),
        (["--seed", "3..9"], "'3..9' is not a whole number; several are --seeds 1..200"),
        (["--for", "soon"], "soon"),
        (["--nodes", "0"], "'0' is not a number from 1 to 1000"),
        (["--failures", "/no/such/directory"], "/no/such/directory: No such file or directory"),
        (["--sed=7"], "unrecognized arguments: --sed=7; did you mean --seed?"),
        (["--xyzzy"], "error: unrecognized arguments: --xyzzy\n"),
    ],
)
def test_a_wrong_option_is_refused(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert told in capsys.readouterr().err
    assert ended.value.code == 2


def test_an_interrupt_ends_it_soon_and_in_order():
    command = [sys.executable, "-m", "actorlet", "simulate", "--pods", "1", "--seeds", "1..100000", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["seed"] == 1
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert error.endswith("actorlet simulate: interrupted\n")
    assert all(json.loads(line)["seed"] >= 1 for line in out.splitlines())


def test_while_a_failure_is_shrunk_no_world_is_kept_that_is_over(impossible: Path, monkeypatch: pytest.MonkeyPatch):
    begin, alive, counts = World.__init__, weakref.WeakSet[World](), list[int]()

    def counted(world: World, *args: Any, **named: Any) -> None:
        alive.add(world)
        counts.append(len(alive))
        begin(world, *args, **named)

    monkeypatch.setattr(World, "__init__", counted)
    assert main([str(impossible), "--seed", "3", "--failures", "."]) == 1
    assert len(counts) > 5
    assert max(counts) == 1, "the one that is played"


def test_a_play_does_not_wait_for_what_speaks_http_or_grpc():
    program = (
        "import sys; from cli.main import main; main(['simulate', '--pods', '1', '--nodes', '1', '--quiet']); "
        "print(sorted({'aiohttp', 'grpc', 'asyncio', 'prometheus_client', 'ssl'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == "[]"
