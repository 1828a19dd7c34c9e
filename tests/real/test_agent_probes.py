"""Probes on containerd: commands in containers, a web server, ports that open and close (spec 5)."""

from __future__ import annotations

import os
import signal
from typing import Any

from tests.real.agent import NODE, Agent
from tests.real.pods import STAY, Truth, container, pod
from tests.real.waiting import pass_by

SERVE = "mkdir -p /www && echo hello > /www/index.html && httpd -p 8080 -h /www && "
"""A web server in the background; the script goes on."""


TIMEOUT_S = 8
"""In which the web server of a busy machine answers."""


def probe(seconds: int = 1, **fields: Any) -> dict[str, Any]:
    return {"periodSeconds": seconds, **fields}


def script(text: str) -> dict[str, Any]:
    return {"exec": {"command": ["sh", "-c", text]}}


def http(path: str = "/", **fields: Any) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": 8080, **fields}}


def is_ready(agent: Agent, name: str) -> bool:
    status = agent.container(name)
    return status is not None and bool(status.ready)


def said(agent: Agent, name: str) -> list[str]:
    return [
        f"{each.event.reason}: {each.event.message}" for each in agent.events() if each.event.name == f"{name}-{NODE}"
    ]


def test_containers_are_ready_when_their_probes_say_so_and_while_they_do(agent: Agent, truth: Truth) -> None:
    served = container(script=SERVE + STAY, ports=[{"name": "web", "containerPort": 8080}])
    by_name: dict[str, Any] = {"httpGet": {"path": "/index.html", "port": "web"}}
    agent.drop("http.json", pod("http", {**served, "readinessProbe": probe(**by_name)}))
    agent.drop("missing.json", pod("missing", {**served, "readinessProbe": probe(**http("/none"))}))
    agent.drop("tcp.json", pod("tcp", {**served, "readinessProbe": probe(tcpSocket={"port": 8080})}))
    agent.drop("closed.json", pod("closed", {**served, "readinessProbe": probe(tcpSocket={"port": 8081})}))
    agent.drop("exec.json", pod("exec", container(readinessProbe=probe(**script("test -e /tmp/ready")))))
    agent.start()
    agent.await_running("http", "missing", "tcp", "closed", "exec")
    agent.await_that(lambda: is_ready(agent, "http") and is_ready(agent, "tcp"), "what answers is not ready")
    for name, text in (
        ("missing", "Readiness probe failed: HTTP probe failed with statuscode: 404"),
        ("closed", "connect: connection refused"),
        ("exec", "Readiness probe failed: "),
    ):
        agent.await_that(lambda: any(text in each for each in said(agent, name)), f"{name}: {said(agent, name)}")  # noqa: B023
        assert not is_ready(agent, name)
    key = truth.life("exec").key
    truth.run(truth.life("exec"), "touch", "/tmp/ready")
    agent.await_that(lambda: is_ready(agent, "exec"), "it has become ready")
    truth.run(truth.life("exec"), "rm", "/tmp/ready")
    agent.await_that(lambda: not is_ready(agent, "exec"), "it is not ready any more")
    assert truth.life("exec").key == key, "what is not ready is not killed"


def test_a_container_that_fails_its_liveness_probe_is_started_again(agent: Agent, truth: Truth) -> None:
    dying = container(script=f"touch /tmp/alive; (sleep 2; rm /tmp/alive) & {STAY}")
    agent.drop("exec.json", pod("exec", {**dying, "livenessProbe": probe(**script("cat /tmp/alive"))}))
    hangs: dict[str, Any] = {"livenessProbe": probe(failureThreshold=1, initialDelaySeconds=1, **script("sleep 100"))}
    agent.drop("hangs.json", pod("hangs", container(**hangs)))
    stays: dict[str, Any] = {"livenessProbe": probe(**http()), "startupProbe": probe(failureThreshold=30, **http())}
    agent.drop("stays.json", pod("stays", container(script=f"sleep 2; {SERVE}{STAY}", **stays)))
    agent.start()
    agent.await_running("exec", "hangs", "stays")
    for name in ("exec", "hangs"):
        agent.await_that(lambda: truth.lives(name)[-1].attempt >= 1, f"{name} is not started again")  # noqa: B023
        assert "Killing: Container main failed liveness probe, will be restarted" in said(agent, name)
    for name, text in (("exec", "can't open '/tmp/alive'"), ("hangs", "timed out after 1s")):
        agent.await_that(lambda: any(text in each for each in said(agent, name)), f"{text}: {said(agent, name)}")  # noqa: B023
    agent.await_that(lambda: is_ready(agent, "stays"), "its startup probe has covered its slow start")
    assert [life.attempt for life in truth.lives("stays")] == [0]


def test_exec_probe_that_answers_late_fails(agent: Agent, truth: Truth) -> None:
    """The child keeps the output open, so the runtime answers long after the timeout."""
    slow: dict[str, Any] = {"timeoutSeconds": 1, **script("sleep 10 & exit 1")}
    liveness: dict[str, Any] = {"livenessProbe": probe(failureThreshold=1, **slow)}
    agent.drop("live.json", pod("live", container(**liveness)))
    agent.drop("ready.json", pod("ready", container(readinessProbe=probe(**slow))))
    sidecar = container("side", restartPolicy="Always", startupProbe=probe(failureThreshold=1, **slow))
    agent.drop("side.json", pod("side", container(), initContainers=[sidecar]))
    agent.start()
    agent.await_running("live", "ready")
    agent.await_that(lambda: truth.lives("live")[-1].attempt >= 1, "live is not started again")
    agent.await_that(
        lambda: any(each.attempt >= 1 for each in truth.lives("side", "side")), "side is not started again"
    )
    assert "Killing: Container main failed liveness probe, will be restarted" in said(agent, "live")
    assert "Killing: Init container side failed startup probe" in said(agent, "side")
    agent.await_that(
        lambda: any("Readiness probe failed" in each for each in said(agent, "ready")), "its answer counts for nothing"
    )
    assert not is_ready(agent, "ready")


def test_an_agent_that_is_stopped_for_a_while_kills_nobody_for_it(agent: Agent, truth: Truth) -> None:
    # The first failure kills, once the web server has begun.
    timed: dict[str, Any] = {"timeoutSeconds": TIMEOUT_S, **http()}
    strict: dict[str, Any] = {
        "livenessProbe": probe(failureThreshold=1, **timed),
        "startupProbe": probe(failureThreshold=1000, **timed),
    }
    names = [f"pod{number}" for number in range(5)]
    for name in names:
        agent.drop(f"{name}.json", pod(name, container(script=SERVE + "sleep 1; " + STAY, **strict)))
    agent.start()
    agent.await_running(*names)
    agent.await_that(lambda: all(is_ready(agent, name) for name in names), "not ready")
    lives = {name: [life.key for life in truth.lives(name)] for name in names}
    pass_by(4)  # all are asked by now
    os.kill(agent.pid, signal.SIGSTOP)
    pass_by(TIMEOUT_S + 4)
    os.kill(agent.pid, signal.SIGCONT)
    pass_by(3)
    now = {name: [life.key for life in truth.lives(name)] for name in names}
    assert now == lives, agent.troubles()
