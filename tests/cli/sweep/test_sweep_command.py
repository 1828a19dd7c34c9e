"""The command `sweep` beside its runs: its file, its shards, its results and its page."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from cli.sweep.command import main
from cli.sweep.page import page
from cli.sweep.sweeping import Swept, merged, near_moment
from simulation.cluster.orders import OrderError
from simulation.cluster.sweep_file import read_sweep_file
from simulation.operators.faults import KINDS, read_fault
from simulation.sweep.findings import Finding

ROOT = Path(__file__).parents[3]
FAULT = read_fault("kill-after create pods default/web #1")
FOUND = Finding("requests: <b>pods</b> is missing", (FAULT,), ("<b>pods</b> is missing",))


def test_it_lists_its_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("command: [a]\nstep: []\n", "step"),
        ("command: []\nsteps: [{apply: a}]\n", "command"),
        ("command: [a]\nsteps: [{apply: a, delete: b}]\n", "a step is one of apply, delete, patch and run"),
        ("command: [a]\nsteps: [{apply: a}]\nstill: soon\n", "soon"),
        ("a: 1\n---\nb: 2\n", "it has 2 documents"),
    ],
)
def test_a_wrong_file_is_told(text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.yaml").write_text(text)
    assert main([str(tmp_path / "sweep.yaml")]) == 2
    assert told in capsys.readouterr().err


def test_paths_of_a_file_are_relative_to_it() -> None:
    read = read_sweep_file(
        b"command: [./op]\nbefore: [crd.yaml]\nsteps: [{apply: a.yaml}, {run: [kubectl]}]\n", "/home/me"
    )
    assert (read.before, read.directory) == (("/home/me/crd.yaml",), "/home/me")
    assert [step.about for step in read.steps] == ["apply /home/me/a.yaml", "kubectl"]
    with pytest.raises(OrderError):
        read_sweep_file(b"[]", "/")


def test_results_of_shards_come_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = msgspec.structs.replace(FOUND, faults=(read_fault("kill-after create pods default/db #1"),), tried=3)
    parts = [Swept(findings=(FOUND,), runs=10), Swept(findings=(other,), runs=7, unsure=(FOUND.name, "x"))]
    whole = merged(parts)
    assert [(len(one.faults), one.came, one.tried) for one in whole.findings] == [(2, 2, 4)]
    assert (whole.runs, whole.unsure) == (17, ("x",))
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.json").write_bytes(msgspec.json.encode(part))
    assert main([str(tmp_path / "0.json"), "--merge", str(tmp_path / "1.json")]) == 1
    assert "17 runs" in capsys.readouterr().out


def test_a_known_finding_ends_with_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "0.json").write_bytes(msgspec.json.encode(Swept(findings=(FOUND,))))
    words = [str(tmp_path / "0.json"), "--merge", str(tmp_path / "0.json"), "--known", str(tmp_path / "known.txt")]
    assert main(words) == 1
    assert main([*words, "--accept"]) == 0
    assert main([*words, "--report", str(tmp_path / "page.html")]) == 0
    assert "1 finding, 1 of them known" in capsys.readouterr().out
    assert "<b>pods" not in (tmp_path / "page.html").read_text()


def test_accepting_into_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "0.json").write_bytes(msgspec.json.encode(Swept(findings=(FOUND,))))
    assert main([str(tmp_path / "0.json"), "--merge", str(tmp_path / "0.json"), "--accept"]) == 2
    assert "add --known FILE" in capsys.readouterr().err


def test_a_mistyped_file_of_known_findings_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "0.json").write_bytes(msgspec.json.encode(Swept(findings=(FOUND,))))
    words = [str(tmp_path / "0.json"), "--merge", str(tmp_path / "0.json"), "--known", "nowhere.txt"]
    assert main(words) == 1
    assert "there is no nowhere.txt" in capsys.readouterr().err


def test_a_finding_of_merged_results_is_played_again_with_the_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "0.json").write_bytes(msgspec.json.encode(Swept(findings=(FOUND,))))
    main([str(tmp_path / "0.json"), "--merge", str(tmp_path / "0.json")])
    assert "actorlet sweep FILE --play 'kill-after create" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("moments", "told"),
    [
        (["create pods default/web #1", "create services default/web #1"], "did you mean create pods default/web #1?"),
        (["delete leases a/b #1"], "this fault strikes at: delete leases a/b #1"),
        ([], "this fault strikes at: none"),
    ],
)
def test_a_mistyped_moment_gets_the_nearest(moments: list[str], told: str) -> None:
    assert near_moment("create pods default/wbe #1", moments) == told


def test_the_page_has_every_finding_with_its_command_and_is_harmless() -> None:
    text = page(Swept(findings=(FOUND,), runs=3), "sweep.yaml", frozenset(), "actorlet sweep sweep.yaml")
    assert "<b>" not in text
    assert "actorlet sweep sweep.yaml --play &#x27;kill-after create pods default/web #1&#x27;" in text
    assert 'id="result" class="bad">1 finding, 1 of them new.' in text


def test_the_job_gives_each_pod_a_shard_that_the_command_reads() -> None:
    (job,) = yaml.safe_load_all((ROOT / "deploy" / "sweep-job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    shards = {one["name"]: one["value"] for one in container["env"]}["SWEEP_SHARDS"]
    assert job["spec"]["completionMode"] == "Indexed"
    assert int(shards) == job["spec"]["completions"]


def test_a_shard_of_a_job_that_is_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweep.yaml").write_text("command: [a]\nsteps: [{apply: a}]\n")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "8")
    monkeypatch.setenv("SWEEP_SHARDS", "8")
    assert main([str(tmp_path / "sweep.yaml")]) == 2
    assert "'9/8' is no shard" in capsys.readouterr().err
