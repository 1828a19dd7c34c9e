"""`actorlet check`: manifests validated without a node, with all that a person needs to mend them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.check.command import main

ROOT = Path(__file__).parents[3]
GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {0}}}\nspec:\n  containers: [{{name: c, image: busybox}}]\n"


def test_good_manifests_are_said_to_be_well(tmp_path: Path) -> None:
    for name in ("web", "db"):
        (tmp_path / f"{name}.yaml").write_text(GOOD.format(name))
    command = [sys.executable, "-m", "actorlet", "check", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 manifests, 2 pods to run: all is well\n", "")


def test_each_fault_is_a_line_with_its_place_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.format("twin"))
    (tmp_path / "b.yaml").write_text(GOOD.format("twin"))
    limits = "    resources: {limits: {memory: 12Q}}\n    volumeMount: []\n"
    (tmp_path / "c.yaml").write_text(
        GOOD.format("web").replace("[{name: c, image: busybox}]", "") + "  - name: c\n" + limits
    )
    (tmp_path / "d.yaml").write_text("metadata: {name: [")
    assert main([str(tmp_path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(";")[0] for line in told if "not YAML" not in line] == [
        f"error: {tmp_path}/b.yaml: pod default/twin is in {tmp_path}/a.yaml too, and runs from there",
        f"error: {tmp_path}/c.yaml:6: $.spec.containers[0].image: is required",
        f"error: {tmp_path}/c.yaml:7: $.spec.containers[0].resources.limits.memory: '12Q' is not a quantity: 'Q' is"
        " not a suffix",
        f"warning: {tmp_path}/c.yaml:8: $.spec.containers[0].volumeMount: this field is not known here",
        "4 manifests, 1 pod to run: 4 errors, 1 warning",
    ]
    assert told[3].endswith("did you mean volumeMounts?")
    assert told[4].startswith(f"error: {tmp_path}/d.yaml: $: it is not YAML at line 2")


def test_a_warning_alone_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.yaml").write_text(GOOD.format("web") + "  hostNetwrok: true\n")
    assert main([str(tmp_path / "web.yaml")]) == 0
    assert capsys.readouterr().out.endswith("1 manifest, 1 pod to run: 1 warning\n")


@pytest.mark.parametrize(("node", "pod"), [((), "default/web"), (("--hostname-override", "n"), "default/web-n")])
def test_programs_get_a_document(
    node: tuple[str, ...], pod: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web.yaml").write_text(GOOD.format("web"))
    (tmp_path / "bad.yaml").write_text(GOOD.format("bad").replace("v1", "v2"))
    assert main([str(tmp_path), "--output", "json", *node]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["valid"], document["pods"]) == (False, [pod])
    (problem,) = document["problems"]
    assert (problem["origin"], problem["path"]) == (f"{tmp_path}/bad.yaml:2", "$.kind")
    assert problem["pods"] == ["default/bad"]


def test_a_place_that_is_not_there_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["/no/such/place"])
    assert caught.value.code == 2
    assert "there is no /no/such/place" in capsys.readouterr().err
