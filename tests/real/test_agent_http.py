"""kubectl on a node on containerd, through the embedded API server.

Logs, exec, attach, cp and port-forward.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.real.agent import NODE, Agent
from tests.real.kubectl import PATIENCE_S, SPDY, WEBSOCKETS, Kubectl, following, kubectl_on, port_of
from tests.real.pods import STAY, container, pod
from tests.real.waiting import until

CHATTY = "i=0; while :; do i=$((i+1)); echo line $i; test $((i % 20)) -eq 0 && sleep 0.1; done"
CRASHES = "echo attempt of $(cat /count/n 2>/dev/null || echo 0); echo x >> /count/n; sleep 0.2; exit 1"


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    """On a cluster of one node, which is started: what is asked of it goes through the API server."""
    with kubectl_on(agent) as found:
        yield found


def test_logs_are_read_and_followed_to_the_end_of_the_container(kubectl: Kubectl) -> None:
    script = (
        "for i in 1 2 3; do echo out $i; echo err $i >&2; done; while ! test -e /tmp/go; do sleep 0.1; done; echo last"
    )
    kubectl.run(pod("web", container(script=script), restartPolicy="Never"))
    until(lambda: "out 3" in kubectl("logs", "web"), 10, "it does not write")
    lines = kubectl("logs", "web").splitlines()
    assert sorted(lines) == sorted(f"{stream} {i}" for stream in ("out", "err") for i in (1, 2, 3))
    assert len(kubectl("logs", "web", "--tail=2").splitlines()) == 2
    assert kubectl("logs", "web", "--limit-bytes=3") == lines[0][:3]
    assert kubectl("logs", "web", "--timestamps", "--tail=1").split(" ")[0].endswith("Z")
    assert len(kubectl("logs", "web", "--since=1h").splitlines()) == 6
    with following(kubectl.popen("logs", "-f", "web", "--tail=0")) as more:
        kubectl("exec", "web", "--", "touch", "/tmp/go")
        assert list(more) == ["last\n"], "and then it ends by itself"
    assert kubectl("logs", "web").endswith("last\n"), "also of what has ended"
    code, _, err = kubectl.attempt("logs", "web", "-c", "none")
    assert code
    assert "none" in err


def test_logs_of_the_life_before_and_of_what_waits(kubectl: Kubectl) -> None:
    count: dict[str, Any] = {"volumeMounts": [{"name": "count", "mountPath": "/count"}]}
    volumes = [{"name": "count", "emptyDir": {}}]
    kubectl("apply", "-f", "-", stdin=json.dumps(pod("loop", container(script=CRASHES, **count), volumes=volumes)))
    until(lambda: kubectl.attempt("logs", "loop", "--previous")[0] == 0, 30, "there is no life before")
    assert kubectl("logs", "loop", "--previous").startswith("attempt of ")
    waits = pod("waits", container(image="registry.invalid/none:1"))
    kubectl("apply", "-f", "-", stdin=json.dumps(waits))
    until(lambda: "pull" in kubectl.attempt("logs", "waits")[2], 30, "that it cannot be pulled is not told")
    assert "previous terminated container" in kubectl.attempt("logs", "waits", "--previous")[2]


# (spec 11.2.4)
def test_commands_run_with_input_output_errors_and_exit_codes(kubectl: Kubectl, tmp_path: Path) -> None:
    name = kubectl.run(pod("web", container(script=f"echo hello; {STAY}")))
    for protocol in (WEBSOCKETS, SPDY):
        session_works(kubectl.speaking(protocol), name, tmp_path)


def session_works(kubectl: Kubectl, name: str, tmp_path: Path) -> None:
    assert kubectl("exec", name, "--", "sh", "-c", "echo $((6*7))") == "42\n"
    code, out, err = kubectl.attempt("exec", name, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (code, out) == (3, "out\n")
    assert "err\n" in err
    big = "".join(f"{i}\n" for i in range(200_000))
    assert kubectl("exec", "-i", name, "--", "cat", stdin=big) == big
    assert "none" in kubectl.attempt("exec", name, "-c", "none", "--", "ls")[2]
    source, back = tmp_path / "there", tmp_path / "back"
    source.write_text(big)
    kubectl("cp", str(source), f"{name}:/tmp/copied")
    kubectl("cp", f"{name}:/tmp/copied", str(back))
    assert back.read_text() == big


def test_an_attached_client_sees_new_output_and_can_write_input(kubectl: Kubectl) -> None:
    echoes = container(script="while read line; do echo heard $line; done", stdin=True, stdinOnce=True)
    name = kubectl.run(pod("echo", echoes, restartPolicy="Never"))
    code, out, _ = kubectl.attempt("attach", "-i", name, stdin="one\ntwo\n")
    assert code == 0
    assert "heard two\n" in out


# (spec 11.2.4)
def test_ports_are_forwarded(kubectl: Kubectl) -> None:
    serves = "mkdir /tmp/www; echo it works > /tmp/www/index.html; httpd -f -p 8080 -h /tmp/www"
    name = kubectl.run(pod("web", container(script=serves)))
    with following(kubectl.popen("port-forward", f"pod/{name}", ":8080", "--address=127.0.0.1")) as told:
        port = int(next(told).split(" -> ")[0].rpartition(":")[2])

        def fetched(_: int) -> str:
            with socket.create_connection(("127.0.0.1", port), 120) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                parts = b""
                while part := client.recv(4096):
                    parts += part
                return parts.decode()

        until(lambda: "it works" in fetched(0), 15, "nothing is served")
        with ThreadPoolExecutor(8) as threads:
            assert all("it works" in each for each in threads.map(fetched, range(16)))


def test_many_follow_while_the_log_rotates_and_others_run_commands(agent: Agent, kubectl: Kubectl) -> None:
    name = kubectl.run(pod("chatty", container(script=CHATTY)))
    seen: list[list[int]] = []

    def follow() -> None:
        numbers: list[int] = []
        with following(kubectl.popen("logs", "-f", name, "--tail=1")) as lines:
            for line in lines:
                numbers.append(int(line.split()[1]))
                if len(numbers) == 800:
                    break
        seen.append(numbers)

    followers = [threading.Thread(target=follow) for _ in range(8)]
    for each in followers:
        each.start()
    for i in range(5):
        assert kubectl("exec", name, "--", "echo", str(i)) == f"{i}\n"
    for each in followers:
        each.join(PATIENCE_S)
    assert len(seen) == 8
    for numbers in seen:
        assert numbers == list(range(numbers[0], numbers[0] + 800)), "every line, once"


def test_without_rights_curl_gets_401_or_403(agent: Agent, kubectl: Kubectl) -> None:
    port = port_of(agent)
    paths = ("/pods", "/metrics", "/exec/default/web/main?command=id&output=1", "/run/default/web/main?cmd=id", "/x")
    for path in paths:
        for method in ("GET", "POST"):
            done = subprocess.run(
                [
                    "curl",
                    "-sk",
                    "-X",
                    method,
                    "-o",
                    "/dev/null",
                    "-w",
                    "%{http_code}",
                    f"https://127.0.0.1:{port}{path}",
                ],
                capture_output=True,
                text=True,
                timeout=120,
                check=True,
            )
            assert done.stdout == "401", (path, method)
    assert kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/healthz") == "ok"
    listed = json.loads(kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/pods"))
    assert listed["kind"] == "PodList"
    health = json.loads(agent.config.read_text())["healthzPort"]
    with socket.create_connection(("127.0.0.1", health), 120) as client:
        client.sendall(b"GET /readyz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
        assert b" 200 " in client.recv(4096)
