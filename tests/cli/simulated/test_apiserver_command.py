"""`actorlet simulated-apiserver` as a process: it serves, and stops without a trace.

Also its error messages.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.simulated.apiserver import main
from runtime.api.access import read_access

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120


class Served:
    """The command as a process, with a place of its own for passing files."""

    def __init__(self, place: Path, *options: str) -> None:
        self.place = place
        environment = {**os.environ, "TMPDIR": str(place)}
        command = [sys.executable, "-m", "actorlet", "simulated-apiserver", *options]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline().strip()]
        while not self.lines[-1].startswith("export KUBECONFIG="):
            assert self.lines[-1], self.process.wait(PATIENCE_S)
            self.lines.append(self.process.stdout.readline().strip())

    @property
    def kubeconfig(self) -> Path:
        return Path(self.lines[-1].removeprefix("export KUBECONFIG="))

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode

    def get(self, path: str, kubeconfig: Path | None = None, token: str | None = None) -> Any:
        access = read_access(str(kubeconfig or self.kubeconfig))
        context = None
        if access.cluster.certificate_authority.data:
            context = ssl.create_default_context(cadata=access.cluster.certificate_authority.data)
        headers = {"Authorization": f"Bearer {access.user.token if token is None else token}"}
        request = urllib.request.Request(access.cluster.server + path, headers=headers)
        with urllib.request.urlopen(request, context=context, timeout=PATIENCE_S) as answer:
            return msgspec.json.decode(answer.read())


def test_only_the_holder_of_the_kubeconfig_is_served(tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        assert served.kubeconfig.stat().st_mode & 0o077 == 0
        names = {item["metadata"]["name"] for item in served.get("/api/v1/namespaces")["items"]}
        assert {"default", "kube-system"} <= names
        assert served.lines[0].startswith("simulated API server at https://127.0.0.1:")
        assert served.get("/version")["gitVersion"].startswith("v1.36.")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            served.get("/api/v1/namespaces", token="")
    finally:
        assert served.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_without_tls_nobody_has_to_say_who_he_is(tmp_path: Path) -> None:
    served = Served(tmp_path, "--no-tls")
    try:
        url = served.lines[0].removeprefix("simulated API server at ")
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}/api/v1/namespaces", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
    finally:
        assert served.end() == 0


def test_nodes_are_let_in_with_the_rights_of_nodes(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    place = tmp_path / "passing"
    place.mkdir()
    served = Served(place, "--node-authorizer", "--node", "n1", "--kubeconfig", str(kubeconfig))
    try:
        assert served.kubeconfig == kubeconfig
        of_node = Path(served.lines[1].removeprefix("kubeconfig of node n1: "))
        with pytest.raises(urllib.error.HTTPError, match="403"):
            served.get("/api/v1/secrets", of_node)
        assert served.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", of_node)["items"] == []
    finally:
        assert served.end() == 0
    assert not kubeconfig.exists()
    assert list(place.iterdir()) == []


def test_roles_are_enforced_when_asked_for(tmp_path: Path) -> None:
    served = Served(tmp_path, "--rbac", "--node", "n1")
    try:
        assert served.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/view")["rules"]
        of_node = Path(served.lines[1].removeprefix("kubeconfig of node n1: "))
        with pytest.raises(urllib.error.HTTPError, match="403"):
            served.get("/api/v1/secrets", of_node)
        assert served.get("/api", of_node)["versions"] == ["v1"]
    finally:
        assert served.end() == 0


def test_a_new_run_removes_the_leftovers_of_a_killed_one(tmp_path: Path) -> None:
    killed = Served(tmp_path)
    killed.process.kill()
    killed.process.communicate()
    assert killed.kubeconfig.exists()
    served = Served(tmp_path)
    try:
        assert not killed.kubeconfig.exists()
    finally:
        assert served.end() == 0


def test_a_port_that_is_taken_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--port", str(taken.getsockname()[1])]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot listen on 127.0.0.1:" in error
    assert "Address already in use; choose another --port" in error


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--port", "http", "is not a port"),
        ("--port", "65536", "is not a port"),
        ("--kubeconfig", "/nowhere/config", "there is no directory /nowhere"),
        ("--kubeconfig", "/tmp", "is a directory"),
        ("--node", "N 1", "is not the name of a node"),
    ],
)
def test_a_wrong_option_names_its_fault(
    option: str, value: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([option, value])
    assert reason in capsys.readouterr().err
