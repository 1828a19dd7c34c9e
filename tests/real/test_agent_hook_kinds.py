"""Hooks of every kind on containerd, at starts and ends (spec 3.10, 3.11).

HTTP, HTTPS and its fallback, sleep, and a hook that nobody serves. A hook takes its time from the grace period.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import CLOCK_BOOTTIME, clock_gettime, time_ns
from typing import Any

import pytest

from simulation.apiserver.front.tls import Authority
from tests.real.agent import Agent
from tests.real.pods import Truth, Witness, container, pod

SECOND_NS = 1_000_000_000
NEVER_S = 6000
"""No test waits for so long: what would take it does not happen in one that passes."""
LATE_WORD_S = 2.0
"""So late may the agent of a busy machine write the time of its word."""
NOTES_ITS_SIGNAL = "trap 'cat /proc/uptime >> /witness/log; exit 0' TERM; sleep 1000000 & wait"
SECRET = [{"name": "Authorization", "value": "Bearer secret"}, {"name": "X-Pod", "value": "hooked"}]


class Called:
    """A server on loopback that notes who has called."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.calls: list[tuple[str, dict[str, str]]] = []
        calls = self.calls

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                # Any answer is an answer.
                self.send_error(500)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port: int = self.server.server_port

    def paths(self) -> list[str]:
        return [path for path, _ in self.calls]


@contextmanager
def serving(*servers: Called) -> Iterator[None]:
    threads = [threading.Thread(target=each.server.serve_forever) for each in servers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for each, thread in zip(servers, threads, strict=True):
            each.server.shutdown()
            each.server.server_close()
            thread.join()


def calls(port: int, path: str, **fields: Any) -> dict[str, Any]:
    return {"httpGet": {"host": "127.0.0.1", "port": port, "path": path, **fields}}


def signal_after_s(agent: Agent, name: str, witness: Witness) -> float:
    """Seconds from the event that the agent ends the pod's first container to its signal."""
    word_ns = min(each.first_wall_ns for each in agent.events_of(name, "Killing"))
    began_s = clock_gettime(CLOCK_BOOTTIME) - (time_ns() - word_ns) / SECOND_NS
    # The kernel cuts its hundredths off.
    return float(witness.said()[-1].split(" ")[0]) + 0.02 - began_s


@pytest.fixture(scope="module")
def agent(shared_agent: Agent) -> Agent:
    """One for all tests here, whose pods have names of their own."""
    shared_agent.start()
    return shared_agent


@pytest.fixture(scope="module")
def truth(shared_truth: Truth) -> Truth:
    return shared_truth


# (spec 3.11.3)
def test_3_11_hooks_call_over_http_and_https_and_fall_back_without_credentials(
    agent: Agent, truth: Truth, tmp_path: Path
) -> None:
    plain, safe = Called(), Called(Authority(time_ns()).server_context(tmp_path))
    both = {
        "postStart": calls(plain.port, "/start?of=plain", httpHeaders=SECRET),
        "preStop": calls(plain.port, "/stop"),
    }
    tls = {
        "postStart": calls(safe.port, "/start", scheme="HTTPS"),
        "preStop": calls(safe.port, "/stop", scheme="HTTPS"),
    }
    falls = {"postStart": calls(plain.port, "/fallen", scheme="HTTPS", httpHeaders=SECRET)}
    containers = [container("plain", lifecycle=both), container("tls", lifecycle=tls)]
    with serving(plain, safe):
        manifest = agent.drop("calls.json", pod("calls", *containers))
        agent.drop("falls.json", pod("falls", container(lifecycle=falls)))
        agent.await_running("calls", "falls")
        assert sorted(plain.paths()) == ["/fallen", "/start?of=plain"]
        assert safe.paths() == ["/start"], "whoever has signed its certificate"
        headers = dict(plain.calls)
        assert headers["/start?of=plain"].items() >= {"authorization": "Bearer secret", "x-pod": "hooked"}.items()
        assert headers["/start?of=plain"]["user-agent"].startswith("kube-lifecycle/")
        assert headers["/fallen"]["x-pod"] == "hooked"
        assert "authorization" not in headers["/fallen"], "in the open nobody hears them"
        assert len(agent.events_of("falls", "LifecycleHTTPFallback")) == 1
        manifest.unlink()
        truth.await_none("calls")
        assert plain.paths()[2:] == ["/stop"]
        assert safe.paths()[1:] == ["/stop"]
    assert [life.attempt for life in truth.lives("falls")] == [0]


# (spec 3.11.4)
def test_3_11_a_sleep_hook_delays_the_next_container_and_the_stop_signal(agent: Agent, truth: Truth) -> None:
    naps = {"postStart": {"sleep": {"seconds": 6}}, "preStop": {"sleep": {"seconds": 4}}}
    at_once = {"postStart": {"sleep": {"seconds": 0}}}
    witness = Witness(agent.directory, "sleeps")
    first = container("first", NOTES_ITS_SIGNAL, lifecycle=naps, volumeMounts=[witness.mount])
    second = container("second", lifecycle=at_once)
    agent.drop(
        "sleeps.json", pod("sleeps", first, second, volumes=[witness.volume], terminationGracePeriodSeconds=NEVER_S)
    )

    def naps_at_its_start() -> bool:
        lives = truth.lives("sleeps", "first")
        return bool(lives) and lives[0].running and agent.waiting("sleeps", "first")[0] == "ContainerCreating"

    agent.await_that(naps_at_its_start, "it has not started before its hook has ended")
    agent.await_running("sleeps")
    begun = {name: truth.life("sleeps", name).status.started_at for name in ("first", "second")}
    assert begun["second"] - begun["first"] >= 6 * SECOND_NS
    (agent.manifests / "sleeps.json").unlink()
    truth.await_none("sleeps")
    assert signal_after_s(agent, "sleeps", witness) >= 4.0 - LATE_WORD_S


# (spec 3.7.7)
def test_3_11_a_failed_post_start_hook_ends_the_container_and_is_named(agent: Agent, truth: Truth) -> None:
    tcp = {"tcpSocket": {"port": 80}}
    agent.drop("starts.json", pod("starts", container(lifecycle={"postStart": tcp}), restartPolicy="Never"))
    manifest = agent.drop("stops.json", pod("stops", container(lifecycle={"preStop": tcp})))
    fails = {"postStart": {"exec": {"command": ["sh", "-c", "echo no luck; exit 7"]}}}
    deaf = "trap '' TERM; while :; do sleep 0.1; done"  # so that its end takes a while, and can be seen
    again = container(script=deaf, lifecycle=fails)
    agent.drop("again.json", pod("again", again, terminationGracePeriodSeconds=2))

    def is_told_why() -> bool:
        reason, message = agent.waiting("again")
        return reason == "PostStartHookError" and "no luck" in message

    agent.await_that(is_told_why, "it is not shown why it waits")
    agent.await_that(lambda: agent.status("starts").phase in ("Failed", "Succeeded"), "it has not ended")
    # Many people read events, and what a hook prints may be secret: `explain` has the rest.
    assert agent.events_of("starts", "FailedPostStartHook")[0].event.message == "PostStartHook failed"
    agent.await_running("stops")
    manifest.unlink()
    truth.await_none("stops")
    assert agent.events_of("stops", "FailedPreStopHook")[0].event.message == "PreStopHook failed"
    assert agent.events_of("again", "FailedPostStartHook")[0].event.message == "PostStartHook failed"


def test_3_10_a_hook_takes_its_time_of_the_grace_and_not_more(agent: Agent, truth: Truth) -> None:
    """After a failed probe, too, the hook comes before the signal."""
    witness, timed = Witness(agent.directory, "probed"), Witness(agent.directory, "timed")
    long = {"preStop": {"exec": {"command": ["sleep", str(NEVER_S)]}}}
    slow = container(script=NOTES_ITS_SIGNAL, lifecycle=long, volumeMounts=[timed.mount])
    manifest = agent.drop("long.json", pod("long", slow, volumes=[timed.volume], terminationGracePeriodSeconds=5))
    note = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /witness/log"]}}}
    probed = {
        **witness.container("main", after_s=0.1, lifecycle=note),
        "livenessProbe": {
            "periodSeconds": 1,
            "failureThreshold": 1,
            "exec": {"command": ["test", "-e", "/witness/ok"]},
        },
    }
    (witness.directory / "ok").touch()
    agent.drop("probed.json", pod("probed", probed, volumes=[witness.volume], restartPolicy="OnFailure"))
    agent.await_running("long", "probed")
    witness.await_said("main begins")
    manifest.unlink()
    (witness.directory / "ok").unlink()
    truth.await_none("long")
    assert signal_after_s(agent, "long", timed) >= 5.0 - LATE_WORD_S
    agent.await_that(lambda: len(witness.said()) >= 4, f"{witness.said()}")
    assert witness.said()[:4] == ["main begins", "hook", "main ends", "main begins"]
