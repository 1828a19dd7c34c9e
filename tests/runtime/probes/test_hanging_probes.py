"""Probes that hang for ever: each is given up at its timeout.

Its error names the server, and it leaves no descriptor.

Two servers hang: one whose queue of connections is full, so that nobody is even connected; one that takes connections
and says nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress

import psutil
import pytest

from runtime.hooks.http_call import NetworkHookCaller
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.probes import Check, GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck
from runtime.probes.prober import NetworkProber
from tests.real.waiting import until
from tests.runtime.hostile_servers import HTTP_ATTACKS, HostileServer
from tests.runtime.probes.test_hostile_probes import NoRuntime

SECOND = 10**9
PROBES = 30


@pytest.fixture
def full() -> Iterator[int]:
    """A port at which connecting never ends."""
    with ExitStack() as after:
        server = after.enter_context(closing(socket.create_server(("127.0.0.1", 0), backlog=0)))
        port = server.getsockname()[1]
        for _ in range(8):
            waiting = after.enter_context(closing(socket.socket()))
            waiting.setblocking(False)
            with suppress(BlockingIOError):
                waiting.connect(("127.0.0.1", port))
        yield port


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with closing(LoopThread("attackers")) as attackers:
        yield HostileServer(attackers, HTTP_ATTACKS["silence"]).port


def descriptors(port: int) -> int:
    """Sockets of this process that lead, or are to lead, to that port."""
    found = psutil.Process().net_connections("tcp4")
    return sum(bool(each.raddr) and each.raddr.port == port for each in found)


def checks(port: int) -> dict[str, Check]:
    return {
        "http": HttpCheck(f"http://127.0.0.1:{port}/"),
        "https": HttpCheck(f"https://127.0.0.1:{port}/"),
        "grpc": GrpcCheck("127.0.0.1", port),
        "tcp": TcpCheck("127.0.0.1", port),
    }


HANGING = [("full", "http"), ("full", "https"), ("full", "grpc"), ("full", "tcp")]
HANGING += [("silent", "http"), ("silent", "https"), ("silent", "grpc")]


@pytest.mark.parametrize(("server", "kind"), HANGING)
def test_a_probe_that_hangs_is_given_up_by_name_and_leaves_no_descriptor(
    request: pytest.FixtureRequest, server: str, kind: str
) -> None:
    port: int = request.getfixturevalue(server)
    with closing(LoopThread("containers")) as loop:
        prober = NetworkProber(NoRuntime(), loop)
        before = descriptors(port)
        pending = [prober.probe("c", "liveness", checks(port)[kind], SECOND // 4) for _ in range(PROBES)]
        answers = [each.result(120) for each in pending]
        assert {each.outcome for each in answers} <= {ProbeOutcome.FAILURE, ProbeOutcome.LATE}
        for each in answers:
            assert each.outcome is ProbeOutcome.LATE or f"127.0.0.1:{port}" in each.text
        until(lambda: descriptors(port) <= before, 30, "descriptors are left behind")


@pytest.mark.parametrize("kind", ["http", "https", "grpc"])
def test_a_server_that_does_not_answer_sees_an_orderly_end(kind: str) -> None:
    with closing(LoopThread("containers")) as loop, closing(socket.create_server(("127.0.0.1", 0))) as server:
        check = checks(server.getsockname()[1])[kind]
        pending = NetworkProber(NoRuntime(), loop).probe("c", "liveness", check, SECOND // 4)
        line, _ = server.accept()
        with closing(line):
            line.settimeout(120)
            assert len(b"".join(iter(lambda: line.recv(4096), b""))) > 0, "what was asked, and then no reset"
        pending.result(120)


@pytest.mark.parametrize("server", ["full", "silent"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_hook_that_hangs_costs_a_descriptor_until_nobody_waits_for_it(
    request: pytest.FixtureRequest, server: str, scheme: str
) -> None:
    port: int = request.getfixturevalue(server)
    with closing(LoopThread("containers")) as loop:
        hooks = NetworkHookCaller(loop)
        before = descriptors(port)
        pending = [hooks.get("c", f"{scheme}://127.0.0.1:{port}/", ()) for _ in range(PROBES)]
        until(lambda: descriptors(port) == before + PROBES, 30, "they hang")
        assert all(each.cancel() for each in pending)
        until(lambda: descriptors(port) <= before, 30, "descriptors are left behind")


def test_hanging_probes_let_another_one_be_answered(full: int, silent: int) -> None:
    with closing(LoopThread("containers")) as loop, closing(socket.create_server(("127.0.0.1", 0))) as well:
        prober = NetworkProber(NoRuntime(), loop)
        hanging: list[PendingAnswer[ProbeAnswer]] = [
            prober.probe("c", "liveness", check, 3_600 * SECOND)
            for port in (full, silent)
            for kind, check in checks(port).items()
            if (port, kind) != (silent, "tcp")
            for _ in range(PROBES)
        ]
        answer = prober.probe("c", "liveness", TcpCheck(*well.getsockname()), 60 * SECOND).result(120)
        assert answer.outcome is ProbeOutcome.SUCCESS
        assert not any(each.done() for each in hanging)
