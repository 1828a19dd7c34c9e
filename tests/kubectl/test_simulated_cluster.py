"""kubectl on a cluster that a test has started: without TLS, with time that goes by itself."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from actorlet.testing import Cluster, cluster
from tests.kubectl.cluster import PATIENCE_S, POD, missing

SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}


def kubectl(found: Cluster, home: Path, *arguments: str, stdin: str = "", code: int = 0, **more: str) -> str:
    """What it prints, errors last; it must exit with this code."""
    complaint = missing()
    if complaint is not None:
        pytest.fail(complaint)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": found.kubeconfig, **more}
    ran = subprocess.run(
        ["kubectl", *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("time", ["x60", "auto"])
def test_kubectl_applies_waits_and_describes(tmp_path: Path, time: str) -> None:
    with cluster(nodes=2, time=time) as found:
        ask = partial(kubectl, found, tmp_path)
        assert ask("get", "nodes", "-o", "name").split() == ["node/node-0", "node/node-1"]
        found.behave("web", run_for="30s,forever", exit_code=4)
        assert ask("apply", "-f", "-", stdin=POD) == "pod/web created\n"
        assert ask("wait", "--for=condition=Ready", "pod/web") == "pod/web condition met\n"
        ask("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/web")
        assert "Exit Code:    4" in ask("describe", "pod", "web")
        ask("delete", "pod", "web", "--wait")
        assert ask("get", "pods", "-o", "name") == ""


def test_kubectl_logs_reads_what_containers_write(tmp_path: Path) -> None:
    with cluster() as found:
        ask = partial(kubectl, found, tmp_path)
        found.behave("web", output="one\ntwo")
        ask("apply", "-f", "-", stdin=POD)
        found.step("5s")
        assert ask("logs", "web") == "one\ntwo\n"
        assert ask("logs", "web", "--tail=1", "--prefix") == "[pod/web/main] two\n"
        assert ask("logs", "-l", "app=web", "--all-containers") == "one\ntwo\n"
        told = 'Error from server (BadRequest): previous terminated container "main" in pod "web" not found\n'
        assert ask("logs", "web", "--previous", code=1) == told
        found.exit("web", 1)
        found.step("30s")
        found.say("web", "once more")
        assert ask("logs", "web", "--previous") == "one\ntwo\n"
        assert ask("logs", "web", "--since=20s") == "once more\n"


@pytest.mark.parametrize("spoken", [{}, SPDY])
def test_time_moves_by_itself_while_kubectl_exec_waits(tmp_path: Path, spoken: dict[str, str]) -> None:
    with cluster(time="auto") as found:
        found.behave("web", exec_output="hello\n", exec_delay="2m")
        kubectl(found, tmp_path, "apply", "-f", "-", stdin=POD)
        found.step("5s")
        before = found.now
        assert kubectl(found, tmp_path, "exec", "web", "--", "ls", code=0, stdin="", **spoken) == "hello\n"
        assert found.now >= before + 120


@pytest.mark.parametrize("spoken", [{}, SPDY])
def test_kubectl_exec_gets_what_the_test_said_and_port_forward_a_refusal(
    tmp_path: Path, spoken: dict[str, str]
) -> None:
    with cluster() as found:

        def ask(*arguments: str, stdin: str = "", code: int = 0) -> str:
            return kubectl(found, tmp_path, *arguments, stdin=stdin, code=code, **spoken)

        found.behave("web", exec_output="hello\n", exec_exit_code="0,3")
        ask("apply", "-f", "-", stdin=POD)
        found.step("5s")
        assert ask("exec", "web", "--", "ls") == "hello\n"
        assert ask("exec", "-i", "web", "--", "cat", stdin="words", code=3) == (
            "hello\ncommand terminated with exit code 3\n"
        )
        assert "simulated containers listen on no ports" in ask("port-forward", "web", "18080:80", code=1)
        found.exit("web")
        assert 'container "main" in pod "web" is not running' in ask("exec", "web", "--", "ls", code=1)
