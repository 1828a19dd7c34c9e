"""`actorlet explain` of a real agent on a simulated runtime.

In words, as JSON, and of pods that do not exist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.inspect import explain
from tests.cli.run.test_command import MANIFEST, Agent, ask, directory

__all__ = ["directory"]

CRASHES = """\
apiVersion: v1
kind: Pod
metadata:
  name: crashes
  annotations: {simulated.actorlet.dev/run-for: 100ms, simulated.actorlet.dev/exit-code: "7"}
spec:
  containers: [{name: main, image: busybox}]
"""


def explained(directory: Path, wanted: str, holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """What is told of a pod, as soon as that holds.

    Each question starts a process, so a bounded number of questions waits long enough.
    """
    document: dict[str, Any] = {}
    for _ in range(100):
        done = ask("explain", directory, wanted, "--output", "json")
        if done.returncode == 0:
            document = json.loads(done.stdout)
            if holds(document):
                return document
    raise AssertionError(document)


def in_words(directory: Path, wanted: str, phrase: str) -> str:
    """The explanation in words, once it contains the phrase.

    A pod that crashes runs for a moment now and then.
    """
    text = ""
    for _ in range(100):
        text = ask("explain", directory, wanted).stdout
        if phrase in text:
            return text
    raise AssertionError(text)


def is_backed_off(told: dict[str, Any]) -> bool:
    """Whether its status and its worker say so. The status may say it a moment earlier."""
    return told["status"] == "CrashLoopBackOff" and "CrashLoopBackOff" in [wait["reason"] for wait in told["waits"]]


def test_a_pod_in_trouble_is_explained_in_words_and_as_json(directory: Path) -> None:
    (directory / "manifests/crashes.yaml").write_text(CRASHES)
    agent = Agent(directory)
    try:
        document = explained(directory, "crashes", is_backed_off)
        assert (document["namespace"], document["name"], document["stage"]) == ("default", "crashes-n", "syncing")
        assert [wait["reason"] for wait in document["waits"]] == ["CrashLoopBackOff"]
        assert document["waits"][0]["until"] > document["asked"]
        text = in_words(directory, "default/crashes-n", "; it is started again in ")
        assert ask("explain", directory, document["uid"]).stdout.startswith("default/crashes-n  ")
        assert text.startswith("default/crashes-n  CrashLoopBackOff, syncing since ")
        assert "container main ended with exit code 7 (Error)" in text
        lasted = r"within (a second|two seconds)[^\n]*"
        why = rf"  container main: it ended with exit code 7 {lasted}; it is started again in [\d.]+ s\n"
        assert re.search(rf"Why it is not Running now\n{why}    what to do: mend what its log tells\n", text)
        (verdict,) = document["verdicts"]
        assert (verdict["cause"], verdict["subject"]) == ("Crash", "container main")
        assert verdict["advice"]
        assert document["uid"] not in document["why"][0]
        assert "What comes next\n  container main: it is started again in " in text
        well = explained(directory, "web", lambda told: told["status"] == "Running" and not told["waits"])
        assert well["why"] == []
        words = ask("explain", directory, "web").stdout
        assert "Why it is not Running" not in words
        (directory / "manifests/crashes.yaml").unlink()
        gone = explained(directory, document["uid"], lambda told: told["gone"])
        assert gone["status"] == "Gone"
        missing = ask("explain", directory, "wbe-n")
        assert (missing.returncode, missing.stderr) == (
            1,
            "actorlet: there is no pod wbe-n; did you mean default/web-n?\n",
        )
    finally:
        assert agent.end() == 0


def test_a_refused_manifest_is_explained_by_the_name_of_its_pod_or_of_its_file(directory: Path) -> None:
    (directory / "manifests/refused.yaml").write_text(
        CRASHES.replace("name: crashes", "name: limited") + "  dnsPolicy: Mine\n"
    )
    (directory / "manifests/torn.yaml").write_text("metadata: {name: [")
    (directory / "manifests/zz.yaml").write_text(MANIFEST)
    agent = Agent(directory)
    try:
        document = explained(directory, "limited", lambda told: told["status"] == "Refused")
        assert (document["namespace"], document["name"], document["uid"]) == ("default", "limited", "")
        (reason,) = document["refused"]
        assert reason.startswith(f"{directory}/manifests/refused.yaml:8: $.spec.dnsPolicy: 'Mine' is not supported")
        words = ask("explain", directory, "limited-n").stdout
        assert "Why it is not Running now\n  its manifest is refused\n" in words
        assert f"What is wrong with its manifest\n  {reason}" in words
        assert "What comes next\n  its manifest is read again when the file changes" in words
        assert "it is not YAML" in ask("explain", directory, "torn").stdout
        missing = ask("explain", directory, "nobody")
        assert missing.returncode == 1
        assert f"; which pods {directory}/manifests/torn.yaml describes cannot be read" in missing.stderr
        twice = explained(directory, "web", lambda told: told["status"] == "Running" and told["refused"])
        assert twice["refused"] == [
            f"{directory}/manifests/zz.yaml: pod default/web is in {directory}/manifests/web.yaml too, and runs from"
            " there; rename one of them"
        ]
    finally:
        assert agent.end() == 0


def test_where_no_agent_runs_the_command_says_so(tmp_path: Path) -> None:
    done = ask("explain", tmp_path, "web")
    assert done.returncode == 1
    assert "no agent runs on" in done.stderr


def test_without_a_pod_it_says_where_the_names_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        explain.main([])
    assert ended.value.code == 2
    assert "`actorlet pods` lists them" in capsys.readouterr().err
