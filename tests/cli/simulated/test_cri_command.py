"""`actorlet simulated-cri` as a process: served, used by the real client, stopped; and its complaints."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.simulated.cri import main
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.client import GrpcCri
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.readiness import troubles, version_fault

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120


def serve(socket: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "actorlet", "simulated-cri", "--socket", str(socket), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == f"simulated container runtime at unix://{socket}\n"
    return process


def end(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    return process.returncode


def test_any_client_can_run_a_pod_on_it(tmp_path: Path) -> None:
    process = serve(tmp_path / "cri.sock", "--image", "busybox", "--fault", "StopPodSandbox:fail=1")
    try:
        with GrpcCri(f"unix://{tmp_path}/cri.sock") as cri:
            version = cri.call(v.VERSION, m.VersionRequest()).result(PATIENCE_S)
            assert (version.runtime_name, version_fault(version)) == ("simulated", "")
            assert troubles(cri.call(v.STATUS, m.StatusRequest()).result(PATIENCE_S)) == ("", "")
            config = m.PodSandboxConfig(
                metadata=m.PodSandboxMetadata(name="pod", uid="uid", namespace="default"),
                annotations={"simulated.actorlet.dev/output": "hello"},
                log_directory=str(tmp_path / "logs"),
            )
            run = cri.call(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config))
            sandbox = run.result(PATIENCE_S).pod_sandbox_id
            container_config = m.ContainerConfig(
                metadata=m.ContainerMetadata(name="app"), image=m.ImageSpec(image="busybox"), log_path="app.log"
            )
            create = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=container_config, sandbox_config=config)
            container = cri.call(v.CREATE_CONTAINER, create).result(PATIENCE_S).container_id
            start = m.StartContainerRequest(container_id=container)
            cri.call(v.START_CONTAINER, start).result(PATIENCE_S)
            assert (tmp_path / "logs/app.log").read_text().endswith(" stdout F hello\n")
            error = cri.call(v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=sandbox)).exception(PATIENCE_S)
            assert isinstance(error, CriError)
            assert error.code != StatusCode.OK
    finally:
        assert end(process) == 0


def test_a_socket_that_cannot_be_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--socket", str(tmp_path / "missing/cri.sock")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "there is no directory" in error


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--fault", "Start:fail=1", "names no verb"),
        ("--fault", "StartContianer:fail=1", "names no verb; did you mean StartContainer?"),
        ("--fault", "StartContainer:explode=1", "is not a fault; there are fail, lose, hang, slow, late"),
        ("--fault", "StartContainer:hangs=1", "is not a fault; did you mean hang?"),
        ("--fault", "StartContainer:fail=2", "must lie from 0 to 1"),
        ("--image-size", "big", "is not a quantity"),
        ("--pull-rate", "0", "moves nothing"),
        ("--pod-cidr", "10.0.0.0/99", "is not an IPv4 network"),
        ("--image", "UPPER", "is not an image name"),
        ("--socket", "unix://relative", "needs an absolute path"),
    ],
)
def test_a_wrong_option_stops_the_start_and_says_why(
    option: str, value: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--socket", "/tmp/unused.sock", option, value])
    assert caught.value.code == 2
    assert reason in capsys.readouterr().err
