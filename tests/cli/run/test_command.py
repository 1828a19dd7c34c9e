"""`actorlet run`, `pods` and `actors` as processes.

The agent on a simulated runtime is asked, stopped, and started again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.main import COMMANDS, main, version_text
from tests.ports import free_ports

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120
MANIFEST = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: busybox}]
"""


def actorlet(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "actorlet", *arguments]


def flags(directory: Path, *more: str) -> list[str]:
    return [
        f"--root-dir={directory}/root",
        f"--pod-manifest-path={directory}/manifests",
        f"--pod-logs-dir={directory}/logs",
        f"--container-runtime-endpoint=unix://{directory}/cri.sock",
        "--hostname-override=n",
        "--fail-cgroupv1=false",
        "--fail-swap-on=false",
        "--healthz-port=0",
        "--enable-server=false",
        # Pods of a simulated runtime have no processes here.
        "--cgroups-per-qos=false",
        "--enforce-node-allocatable=none",
        "--make-iptables-util-chains=false",
        *more,
    ]


class Agent:
    """A process that has said READY=1, with its log in a file."""

    def __init__(self, directory: Path, *more: str) -> None:
        self.log = directory / "log"
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._told.settimeout(PATIENCE_S)
        address = directory / "notify.sock"
        address.unlink(missing_ok=True)
        self._told.bind(str(address))
        environment = {**os.environ, "NOTIFY_SOCKET": str(address)}
        with open(self.log, "ab") as log:
            command = actorlet("run", *flags(directory, *more))
            self.process = subprocess.Popen(command, cwd=ROOT, stderr=log, env=environment)
        assert self.told() == "READY=1"

    def told(self) -> str:
        return self._told.recv(100).decode()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE_S)
        self._told.close()
        return status


@contextmanager
def simulated_runtime(directory: Path, *options: str) -> Iterator[None]:
    """At `cri.sock` in the directory."""
    command = actorlet("simulated-cri", "--socket", str(directory / "cri.sock"), *options)
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    yield
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """With a simulated runtime at cri.sock and one manifest."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/web.yaml").write_text(MANIFEST)
    with simulated_runtime(tmp_path, "--no-logs"):
        yield tmp_path


def ask(command: str, directory: Path, *more: str) -> subprocess.CompletedProcess[str]:
    arguments = actorlet(command, f"--root-dir={directory}/root", *more)
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)


def pod_when_it_runs(directory: Path) -> dict[str, object]:
    """The only pod; each question takes a process, so that a few hundred of them are patience enough."""
    for _ in range(200):
        document = json.loads(ask("pods", directory, "--output", "json").stdout)
        for pod in document["items"]:
            if pod["status"].get("phase") == "Running":
                return dict(pod)
    raise AssertionError("the pod does not run")


def test_an_agent_runs_its_manifests_and_tells_what_it_does(directory: Path) -> None:
    agent = Agent(directory)
    try:
        pod = pod_when_it_runs(directory)
        assert pod["metadata"]["name"] == "web-n"  # type: ignore[index]  # JSON
        rows = [line.split() for line in ask("pods", directory).stdout.splitlines()]
        assert rows[1][:4] == ["default", "web-n", "1/1", "Running"]
        actors = ask("actors", directory)
        assert "default/web-n" in actors.stdout
        assert "dead letters" in actors.stdout
        assert json.loads(ask("actors", directory, "--output", "json").stdout)["actors"]
    finally:
        assert agent.end() == 0
    assert "containers run on" in agent.log.read_text()
    assert not (directory / "root/actorlet.sock").exists()


def test_an_agent_logs_json_where_the_format_says_so(directory: Path) -> None:
    agent = Agent(directory, "--logging-format=json")
    assert agent.end() == 0
    lines = [json.loads(line) for line in agent.log.read_text().splitlines()]
    assert any("the agent ends" in line["msg"] for line in lines)
    assert all({"ts", "caller", "msg"} <= line.keys() for line in lines)


def test_the_next_agent_finds_the_containers_of_one_that_was_killed(directory: Path) -> None:
    first = Agent(directory)
    before = pod_when_it_runs(directory)
    first.process.kill()
    first.process.wait(PATIENCE_S)
    second = Agent(directory)
    try:
        after = pod_when_it_runs(directory)
        assert container_of(after) == container_of(before)
    finally:
        assert second.end() == 0


def container_of(pod: dict[str, object]) -> tuple[str, int]:
    (status,) = pod["status"]["containerStatuses"]  # type: ignore[index]  # JSON
    return status["containerID"], status["restartCount"]


def test_a_second_agent_on_one_root_directory_is_refused(directory: Path) -> None:
    agent = Agent(directory)
    try:
        arguments = actorlet("run", *flags(directory))
        second = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
        assert second.returncode == 1
        assert f"another agent runs on {directory}/root" in second.stderr
    finally:
        assert agent.end() == 0


# (spec 12.3.3)
def test_an_agent_makes_way_for_the_next_one_that_wants_the_lock_file(directory: Path) -> None:
    lock = directory / "lock"
    agent = Agent(directory, f"--lock-file={lock}", "--exit-on-lock-contention=true")
    with open(lock, "ab"):
        assert agent.process.wait(PATIENCE_S) == 0


def test_a_missing_runtime_is_waited_for_and_said_once(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    agent = Agent(tmp_path)
    try:
        for _ in range(200):
            if "waiting for the runtime" in agent.log.read_text():
                break
            ask("actors", tmp_path)
    finally:
        assert agent.end() == 0
    assert agent.log.read_text().count("waiting for the runtime") == 1


# (spec 2.2.1)
def test_every_fault_of_the_start_is_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPodz: 5\n")
    assert main(["run", f"--config={config}", "--max-pods=many", "--no-such-flag"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("actorlet run: ") for line in lines)
    for word in ("--max-pods", "--no-such-flag", "maxPodz"):
        assert any(word in line for line in lines)


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ("0: kubelet 65536 7208960", ""),
        ("0: kubelet 100000 7208960", "the first subordinate id 100000 must be a multiple of 65536"),
        ("0: kubelet 65536 65536", "65536 subordinate ids are enough for 1 pods"),
        ("", "one range of subordinate ids is needed"),
    ],
)
# (spec 17.6.2)
def test_subordinate_ids_that_pods_cannot_use_stop_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], says: str, fault: str
) -> None:
    tool = tmp_path / "getsubids"
    tool.write_text(f"#!/bin/sh\necho '{says}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("pwd.getpwnam", lambda _: None)
    # Another fault, so that it does not start in any case: nobody says who may use its server.
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    assert main(["run", *flags(tmp_path, "--enable-server=true", f"--config={config}")]) == 1
    told = capsys.readouterr().err
    assert ("$.userNamespaces.idsPerPod: " in told) is bool(fault)
    assert fault in told


def fetched(url: str) -> bytes:
    whatever = ssl.create_default_context()
    whatever.check_hostname = False
    whatever.verify_mode = ssl.CERT_NONE
    context = whatever if url.startswith("https") else None
    with urllib.request.urlopen(url, timeout=120, context=context) as answer:
        body: bytes = answer.read()
        return body


def test_it_serves_over_https_and_says_when_everybody_may_do_everything(directory: Path) -> None:
    port, read_only, health = free_ports(3)
    own = ["--enable-server=true", f"--cert-dir={directory}/pki", f"--port={port}", f"--read-only-port={read_only}"]
    agent = Agent(directory, *own, f"--healthz-port={health}", "--address=127.0.0.1")
    assert json.loads(fetched(f"https://127.0.0.1:{port}/pods"))["kind"] == "PodList"
    assert fetched(f"http://127.0.0.1:{read_only}/healthz") == fetched(f"http://127.0.0.1:{health}/readyz") == b"ok"
    assert f"whoever reaches port {port} may run commands in every container" in agent.log.read_text()
    second = subprocess.run(
        actorlet("run", *flags(directory, *own, f"--root-dir={directory}/second", "--address=127.0.0.1")),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert second.returncode == 1
    who = f"`ss -ltnp 'sport = :{port}'` names who has it"
    assert f"$.port: 127.0.0.1:{port} cannot be served: Address already in use; {who}\n" in second.stderr
    assert agent.end() == 0


# (spec 12.3.2, 17.1.2)
def test_a_node_on_its_own_has_to_say_whom_it_lets_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n")
    assert main(["run", f"--config={config}", f"--root-dir={tmp_path}/root", "--fail-cgroupv1=false"]) == 1
    told = capsys.readouterr().err
    assert "$.authorization.mode: Webhook asks an API server; use AlwaysAllow" in told
    assert "$.authentication.webhook.enabled: it asks an API server; set it to false" in told


def test_no_agent_is_told_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("pods", "actors"):
        assert main([command, f"--root-dir={tmp_path}"]) == 1
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert f"no agent runs on {tmp_path}" in error
        assert "--root-dir" in error


def test_help_and_version_are_told_by_the_program_and_by_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name} " in told for name in COMMANDS)
    assert main(["--version"]) == main(["run", "--version"]) == 0
    assert capsys.readouterr().out == f"{version_text()}\n" * 2
    assert main(["run", "--help"]) == 0
    assert "--config" in capsys.readouterr().out


# (spec 12.1.6)
def test_an_unknown_command_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runn"]) == 2
    assert "there is no command 'runn'; did you mean run?" in capsys.readouterr().err
    assert main(["bananas"]) == 2
    assert "there is no command 'bananas'; there are up, run," in capsys.readouterr().err


# (spec 6.3.9)
def test_credential_programs_that_cannot_be_run_stop_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "providers.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders: [{name: p}]\n")
    own = [f"--image-credential-provider-config={config}", f"--image-credential-provider-bin-dir={tmp_path}"]
    assert main(["run", *flags(tmp_path, *own)]) == 1
    assert f"actorlet run: {config}: $.providers[0].matchImages: is required" in capsys.readouterr().err
