"""`actorlet up` as a user runs it: a process, its output and its exit status; and its rules as values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from actors.kernel import SystemReport
from actors.messages.history import PodWait
from actors.messages.pods import SourceProblem
from cli.inspect.local_views import HEALTH
from cli.up.command import main
from cli.up.progress import ProgressSnapshot, Wanted, progress
from config.examples import TROUBLED
from runtime.http_server.local_endpoint import LocalEndpoint, Reply
from runtime.io.event_loop import LoopThread
from tests.config.pods_made import pod, waiting

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120
NOTHING = SystemReport((), (), (), 0)

FAILS = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  annotations:
    simulated.actorlet.dev/fail: CreateContainer
spec:
  containers: [{{name: main, image: busybox}}]
"""


def up(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actorlet", "up", *options]
    variables = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, env=variables)


def look(*pods: object, problems: tuple[SourceProblem, ...] = ()) -> ProgressSnapshot:
    return ProgressSnapshot(pods, (), problems, NOTHING, 0)  # type: ignore[arg-type]  # pods they are


def test_the_samples_all_arrive_on_the_simulated_runtime_and_leave_nothing_behind(tmp_path: Path) -> None:
    done = up("--once", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("all 4 pods have arrived\n")
    assert "pod default/web-demo: 2/2 Running" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_kubeconfig_of_its_api_server_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "fails.yaml").write_text(FAILS.format(name="fails"))
    options = ("--once", "--deadline", "1", "--manifests", str(tmp_path))
    kubeconfig = tmp_path / "a config"
    told = up(*options, "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    assert told[1] == f"export KUBECONFIG='{kubeconfig}'"
    assert not kubeconfig.exists()
    document = json.loads(up(*options, "--output", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert document["kubeconfig"] == str(kubeconfig)


def test_without_an_api_server_there_is_no_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "fails.yaml").write_text(FAILS.format(name="fails"))
    done = up("--once", "--deadline", "1", "--manifests", str(tmp_path), "--no-apiserver")
    assert done.returncode == 1
    assert "KUBECONFIG" not in done.stdout


def test_pods_that_do_not_arrive_are_told_with_their_reasons(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: []}\n")
    (tmp_path / "fails.yaml").write_text(FAILS.format(name="fails"))
    done = up("--once", "--deadline", "3", "--manifests", str(tmp_path))
    assert done.returncode == 1
    assert (
        "default/fails-demo: CreateContainerError: container main: it cannot be started: the pod's annotations"
        in done.stderr
    )
    assert f"{tmp_path}/bad.yaml:4: $.spec.containers" in done.stderr


def test_up_ends_at_once_when_only_refused_manifests_are_missing(tmp_path: Path) -> None:
    """The deadline is far beyond the patience of this test."""
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: busybox}]}\n"
    for name, text in (("a", good), ("b", good), ("broken", "kind: Pod\n")):
        (tmp_path / f"{name}.yaml").write_text(text)
    done = up("--once", "--deadline", "9999", "--manifests", str(tmp_path), "--no-apiserver")
    assert done.returncode == 1
    reasons = done.stderr.partition("not every pod has arrived:\n")[2].splitlines()
    twice = f"{tmp_path}/b.yaml: pod default/web is in {tmp_path}/a.yaml too, and runs from there; rename one of them"
    assert reasons == [
        f"  {tmp_path}/broken.yaml:1: $.apiVersion: is required; write apiVersion: v1",
        f"  {twice}",
    ]
    assert done.stdout.count(twice) == 1
    assert "pod default/web-demo: 1/1 Running" in done.stdout
    alone = up("--once", "--deadline", "9999", "--manifests", f"{tmp_path}/broken.yaml", "--no-apiserver")
    assert (alone.returncode, "describe no pod" in alone.stderr) == (1, False)
    assert f"{tmp_path}/broken.yaml:1: $.apiVersion: is required" in alone.stderr


def test_a_missing_runtime_is_reported_with_its_endpoint_and_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    missing = f"unix://{tmp_path}/no.sock"
    options = ("--once", "--deadline", "25", "--no-apiserver", "--root-dir", f"{tmp_path}/root", "--runtime", missing)
    done = up(*options, "--manifests", f"{tmp_path}/web.yaml")
    assert done.returncode == 1
    (reason,) = done.stderr.partition("not every pod has arrived:")[2].strip().splitlines()
    assert reason.startswith("default/web-")
    assert f"Pending: what the runtime runs is not known yet: Version: container runtime at {missing}" in reason
    assert "start the runtime, or correct the endpoint" in reason


def test_json_once_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "fails.yaml").write_text(FAILS.format(name="fails"))
    done = up("--once", "--deadline", "3", "--manifests", str(tmp_path), "--output", "json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert document["arrived"] is False
    assert [(row["name"], row["status"]) for row in document["pods"]] == [("fails-demo", "CreateContainerError")]
    (reason,) = document["reasons"]
    assert reason.startswith("default/fails-demo: CreateContainerError: container main: it cannot be started: ")
    assert document["actors"] > 10


def test_an_interrupt_ends_it_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "actorlet", "up", "--manifests", str(TROUBLED), "--output", "json"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = ""
    while "crash-loop-demo" not in seen:
        seen = process.stdout.readline()
        assert seen
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--manifests", "/no/such/place"], "there is no /no/such/place"),
        (["--runtime", "unix://relative"], "needs an absolute path"),
        (["--deadline", "soon"], "'soon' is not a number of seconds"),
        (["--deadline", "0"], "'0' is out of range; write more than 0 and less than 1e9"),
        (["--output", "xml"], "invalid choice"),
        (["--port", "99999"], "'99999' is not a port"),
        (["--kubeconfig", "/no/such/place"], "there is no directory /no/such"),
    ],
)
def test_a_wrong_option_is_told(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(options)
    assert caught.value.code == 2
    assert reason in capsys.readouterr().err


def test_nothing_has_arrived_until_every_wanted_pod_was_seen() -> None:
    outcome = progress(look(pod({"phase": "Running"})), Wanted({"u": "default/web", "v": "default/other"}))
    assert (outcome.arrived, outcome.settled) == (False, False)
    assert outcome.reasons == ("default/other: not taken up yet",)


@pytest.mark.parametrize(
    ("phase", "arrived", "settled"),
    [("Pending", False, False), ("Running", True, True), ("Succeeded", True, True), ("Failed", False, True)],
)
def test_waiting_ends_when_nothing_more_can_come(phase: str, arrived: bool, settled: bool) -> None:
    outcome = progress(look(pod({"phase": phase})), Wanted({"u": "default/web"}))
    assert (outcome.arrived, outcome.settled) == (arrived, settled)


def test_a_pod_that_runs_and_is_not_ready_is_waited_for() -> None:
    unready = {"type": "Ready", "status": "False", "message": "containers with unready status: [c0]"}
    outcome = progress(look(pod({"phase": "Running", "conditions": [unready]})), Wanted({"u": "default/web"}))
    assert (outcome.arrived, outcome.settled) == (False, False)
    assert outcome.reasons == ("default/web: Running: containers with unready status: [c0]",)


def test_a_broken_manifest_keeps_up_from_being_done_and_a_warning_does_not() -> None:
    there = pod({"phase": "Running"})
    for fatal in (True, False):
        problem = SourceProblem("file", "/m/a.yaml:4", "$.spec", "is wrong", fatal)
        outcome = progress(look(there, problems=(problem,)), Wanted({"u": "default/web"}))
        assert outcome.arrived is not fatal
        assert outcome.reasons == (("/m/a.yaml:4: $.spec: is wrong",) if fatal else ())


def test_a_reason_tells_what_a_container_waits_for() -> None:
    status = {"phase": "Pending", "containerStatuses": [waiting("c0", "ErrImagePull", "no such host")]}
    (reason,) = progress(look(pod(status)), Wanted({"u": "default/web"})).reasons
    assert reason == (
        "default/web: ErrImagePull: container c0: its image i cannot be pulled: "
        "the registry docker.io cannot be reached (no such host)"
    )


@pytest.mark.parametrize(
    ("subject", "reason", "told"),
    [
        ("the pod", "", "Pending: the disk is full"),
        ("the pod", "DiskFull", "Pending: DiskFull: the disk is full"),
        ("its volumes", "", "Pending: its volumes: the disk is full"),
    ],
)
def test_a_pod_whose_status_says_nothing_is_told_with_what_it_waits_for(subject: str, reason: str, told: str) -> None:
    waits = {"u": (PodWait(subject, reason, "the disk is full", "it is tried again"),)}
    pending = replace(look(pod({"phase": "Pending"})), waits=waits)
    assert progress(pending, Wanted({"u": "default/web"})).reasons == (f"default/web: {told}",)
    refused = {"phase": "Pending", "containerStatuses": [waiting("c0", "ErrImagePull", "no such host")]}
    said = progress(replace(pending, pods=(pod(refused),)), Wanted({"u": "default/web"})).reasons
    assert len(said) == 1, "what the status says is enough"
    assert said[0].startswith("default/web: ErrImagePull: container c0: its image i cannot be pulled: ")
    assert said[0].endswith(" (no such host)")


def test_manifests_without_a_pod_are_told() -> None:
    assert progress(look(), Wanted({})).reasons == ("the manifests describe no pod",)


def test_a_directory_that_another_node_has_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(LoopThread("other")) as loop, closing(LocalEndpoint(str(tmp_path), {HEALTH: healthy}, loop)) as other:
        other.start()
        assert main(["--once", "--root-dir", str(tmp_path)]) == 1
        assert os.listdir(tmp_path) == [os.path.basename(other.path)]
    assert f"another node runs on {tmp_path}" in capsys.readouterr().err


def healthy() -> Reply:
    return Reply(b"{}", 200)
