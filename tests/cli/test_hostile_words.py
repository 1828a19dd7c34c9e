"""No command lets words from outside act on a terminal, a log or a reader.

An agent on a simulated runtime has hostile words wherever somebody may write some.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.check.command import main as check
from cli.inspect.local_views import PODS as PODS_VIEW
from cli.replay.command import main as replay
from cli.simulate.command import main as simulate
from runtime.http_server.local_endpoint import LocalEndpointError
from runtime.http_server.local_endpoint import ask as ask_endpoint
from tests.attacks.words import SHOWN, TITLE, WORDS, forged_lines, raw_characters
from tests.cli.run.test_command import Agent, actorlet, ask, simulated_runtime
from tests.cli.up.test_command import up
from tests.real.terminals import on_terminal
from tests.real.waiting import until

KNOB = "simulated.actorlet.dev/"


def pod(name: str, behaviour: Mapping[str, str] | None = None, **container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {f"{KNOB}{knob}": text for knob, text in (behaviour or {}).items()}},
        "spec": {"containers": [{"name": "main", "image": "busybox", **container}]},
    }


def with_volume(document: dict[str, Any], path: str) -> dict[str, Any]:
    document["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": path, "type": "Directory"}}]
    document["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    return document


SAID_IN_STATUS = {
    "speaks": pod("speaks", {"run-for": "50ms", "exit-code": "3", "termination-message": WORDS}),
    "refused": pod("refused", {"fail": "CreateContainer", "fail-text": WORDS}),
    "unpulled": pod("unpulled", {"fail": "PullImage", "fail-text": WORDS}, image="example/app"),
    "pictured": pod("pictured", image=f"busybox{WORDS}"),
}
TAKEN = {
    **SAID_IN_STATUS,
    "odd": pod("odd", {"run-for": WORDS}),
    "mounts": with_volume(pod("mounts"), f"/no{WORDS}"),
    "probed": pod("probed", {"exec-exit-code": "1", "exec-output": WORDS}, readinessProbe={"exec": {"command": ["x"]}}),
    "unknown": {**pod("unknown"), WORDS: WORDS},
}
"""Pods by the name of their file."""
UNTAKEN = {
    "named": pod(WORDS),
    "kind": {**pod("kind"), "kind": WORDS},
    # A file may have any name but one with a slash.
    f"file{TITLE}\n": {},
}
LINE_OF_LOG = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.py:\d+\] |  ")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
DRAWING = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*[mAK])")
"""Colours, and what draws a live table: the cursor is hidden and goes up, and lines are erased."""
SIZES = ("COLUMNS", "LINES")
ON_SCREEN = {name: text for name, text in os.environ.items() if name not in SIZES} | {"TERM": "xterm-256color"}
"""The terminal says its size; the variables would say that of the terminal on which the tests run."""


def write(place: Path) -> None:
    for name, document in {**TAKEN, **UNTAKEN}.items():
        (place / f"{name}.json").write_text(json.dumps(document))


def assert_harmless(*texts: str) -> None:
    for text in texts:
        assert not raw_characters(text), text
        assert not forged_lines(text), text


def texts_in(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        return {text for each in (value.values() if isinstance(value, dict) else value) for text in texts_in(each)}
    return {value} if isinstance(value, str) else set()


@contextlib.contextmanager
def attacked(directory: Path) -> Iterator[Agent]:
    """The agent, once the statuses of its pods have the words."""
    (directory / "manifests").mkdir()
    write(directory / "manifests")
    agent = Agent(directory)

    def heard() -> bool:
        with contextlib.suppress(LocalEndpointError):
            pods = json.loads(ask_endpoint(f"{directory}/root", PODS_VIEW).body).get("items", ())
            said = {each["metadata"]["name"]: json.dumps(each.get("status")) for each in pods}
            return all("owned" in said.get(f"{name}-n", "") for name in SAID_IN_STATUS)
        return False

    try:
        until(heard, 30, "the statuses do not have the words")
        yield agent
    finally:
        assert agent.end() == 0


def test_no_command_and_no_line_of_the_log_lets_the_words_of_pods_act(tmp_path: Path) -> None:
    with simulated_runtime(tmp_path), attacked(tmp_path) as agent:
        for command in (["pods"], ["actors"], *(["explain", name] for name in (*TAKEN, *UNTAKEN))):
            done = ask(command[0], tmp_path, *command[1:])
            assert_harmless(done.stdout, done.stderr)
            assert (done.returncode == 0) or command[-1] in UNTAKEN
            assert SHOWN in done.stdout or command[-1] not in SAID_IN_STATUS
        for command in (["pods"], ["actors"], ["explain", "speaks"]):
            done = ask(command[0], tmp_path, *command[1:], "--output", "json")
            assert_harmless(done.stdout)
            assert command != ["pods"] or WORDS in texts_in(json.loads(done.stdout)), "the status has the true text"
        command = actorlet("explain", f"--root-dir={tmp_path}/root", "speaks")
        with on_terminal(command, ON_SCREEN) as terminal:
            assert terminal.end() == 0
            assert_harmless(STYLE.sub("", terminal.shown).replace("\r\n", "\n"))
    log = agent.log.read_text()
    assert_harmless(log)
    assert SHOWN in log
    assert [line for line in log.splitlines() if line and not LINE_OF_LOG.match(line)] == []


def test_the_live_table_of_up_sets_no_title_and_no_clipboard(tmp_path: Path) -> None:
    write(tmp_path)
    with on_terminal(actorlet("up", "--manifests", str(tmp_path), "--no-apiserver"), ON_SCREEN) as terminal:
        terminal.resize((100, 200))
        terminal.until("CrashLoopBackOff")
        terminal.until(SHOWN)
        terminal.interrupt()
        assert terminal.end() == 0
    assert_harmless(DRAWING.sub("", terminal.shown).replace("\r", ""))


@pytest.mark.parametrize("output", ["table", "json"])
def test_up_without_a_terminal_writes_no_raw_word(tmp_path: Path, output: str) -> None:
    write(tmp_path)
    done = up("--once", "--deadline", "5", "--manifests", str(tmp_path), "--no-apiserver", "--output", output)
    assert done.returncode == 1
    assert_harmless(done.stdout, done.stderr)
    assert SHOWN in done.stderr
    if output == "json":
        assert any(WORDS in reason for reason in json.loads(done.stdout)["reasons"])


def test_check_tells_each_fault_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path)
    assert check([str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert_harmless(told)
    assert {line.partition(" ")[0] for line in told.splitlines()[:-1]} <= {"error:", "warning:"}
    assert check([str(tmp_path), "--output", "json"]) == 1
    told = capsys.readouterr().out
    assert_harmless(told)
    assert json.loads(told)["problems"]


def test_an_unknown_option_is_repeated_without_its_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check([".", f"--{TITLE}"])
    told = capsys.readouterr().err
    assert_harmless(told)
    assert r"unrecognized arguments: --\x1b]0;owned\x07" in told


def test_a_scenario_and_a_failure_from_elsewhere_are_told_without_their_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = {
        "about": WORDS,
        "pods": [{"name": "a", "count": 2, "arrives": ["0s", "0s"], "startsWithin": "1ms"}],
        "lasts": "5s",
    }
    Path("shop.yaml").write_text(json.dumps({**scenario, WORDS: WORDS}))
    assert simulate(["./shop.yaml"]) == 2
    Path("shop.yaml").write_text(json.dumps(scenario))
    assert simulate(["./shop.yaml", "--quiet", "--trace", "trace.txt", "--report", "run.html"]) == 1
    saved = yaml.safe_load(Path("shop-seed-1.failed.yaml").read_text())
    saved["foundIn"]["scenario"] = saved["actorlet"] = saved["violated"]["what"] = WORDS
    Path("evil.yaml").write_text(json.dumps(saved))
    assert replay(["evil.yaml", "--trace", "again.txt"]) == 1
    told = capsys.readouterr()
    assert_harmless(told.out, told.err)
    assert told.out.count(SHOWN) >= 3
    assert_harmless(*(Path(name).read_text() for name in ("trace.txt", "again.txt", "run.html")))
