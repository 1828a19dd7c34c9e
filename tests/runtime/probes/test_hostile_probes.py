"""Probes of hostile containers: what one probe can cost, and that no other pays for it (spec 5).

Every cost is counted at the attacker: bytes that it could send, connections that it saw. None is measured by a clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from runtime.hooks.http_call import NetworkHookCaller
from runtime.http_client.call import MAX_REDIRECTS
from runtime.http_client.call_bytes import CALL_BYTES_AT_MOST
from runtime.io.event_loop import LoopThread
from runtime.io.held_bytes import HeldBytes
from runtime.io.pending import PendingAnswer
from runtime.probes import Check, GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck
from runtime.probes.prober import NetworkProber
from tests.process_memory import peak_growth
from tests.runtime.hostile_servers import (
    GRPC_ATTACKS,
    HTTP_ATTACKS,
    TLS_ATTACKS,
    Attack,
    HostileServer,
    own_certificate,
)

SECOND = 10**9
FAILURE, SUCCESS, LATE = ProbeOutcome.FAILURE, ProbeOutcome.SUCCESS, ProbeOutcome.LATE
AT_MOST = CALL_BYTES_AT_MOST + 512 * 1024
"""What one probe takes, and what the buffers of the kernel hold on the way."""
ENDLESS_IN_TIME = {"a drip of the head", "a drip of the body", "silence"}
TAKEN_FOR_WELL = {"a body without end", "tiny chunks", "a packed body", "a chunk of 16 EiB", "a body of 16 EiB"}
"""Their head says that all is well, and of their body only the beginning is read."""


class NoRuntime:
    """These probes ask no runtime."""

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        raise AssertionError("the runtime is asked")

    def stream(self, *args: Any) -> Any:
        raise AssertionError("the runtime is asked")


class World:
    """Loops of the attackers and of the probes, and the prober."""

    def __init__(self) -> None:
        self._after = ExitStack()
        self.attackers = self._after.enter_context(closing(LoopThread("attackers")))
        self.loop = self._after.enter_context(closing(LoopThread("containers")))
        self.prober = NetworkProber(NoRuntime(), self.loop)

    def close(self) -> None:
        self._after.close()

    def server(self, attack: Attack, **options: Any) -> HostileServer:
        return HostileServer(self.attackers, attack, **options)

    def outcome(self, check: Check, timeout_ns: int) -> ProbeOutcome:
        return self.prober.probe("c", "liveness", check, timeout_ns).result(120).outcome


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.mark.parametrize("name", HTTP_ATTACKS)
def test_an_http_server_that_means_ill_costs_one_probe_and_little_of_it(world: World, name: str) -> None:
    server = world.server(HTTP_ATTACKS[name])
    slow = name in ENDLESS_IN_TIME
    outcome = world.outcome(HttpCheck(f"http://127.0.0.1:{server.port}/"), SECOND // 5 if slow else 60 * SECOND)
    assert server.sent <= AT_MOST
    assert server.asked <= MAX_REDIRECTS + 1
    assert outcome in (FAILURE, LATE) if name not in TAKEN_FOR_WELL else outcome is SUCCESS


@pytest.mark.parametrize("name", [each for each in HTTP_ATTACKS if each not in ENDLESS_IN_TIME])
def test_an_http_server_that_means_ill_costs_a_hook_no_more(world: World, name: str) -> None:
    server = world.server(HTTP_ATTACKS[name])
    NetworkHookCaller(world.loop).get("c", f"http://127.0.0.1:{server.port}/", ()).result(120)
    assert server.sent <= AT_MOST
    assert server.asked <= MAX_REDIRECTS + 1


@pytest.mark.parametrize("name", TLS_ATTACKS)
def test_a_server_that_means_ill_with_tls_costs_one_probe_and_little_of_it(world: World, name: str) -> None:
    server = world.server(TLS_ATTACKS[name])
    slow = name.startswith("silence")
    outcome = world.outcome(HttpCheck(f"https://127.0.0.1:{server.port}/"), SECOND // 5 if slow else 60 * SECOND)
    assert server.sent <= 8 * AT_MOST  # counted by the kernel twenty times a second, not byte by byte
    assert outcome in (FAILURE, LATE)


def test_a_body_without_end_over_tls_is_read_no_further_than_it_is_shown(world: World, tmp_path: Path) -> None:
    server = world.server(HTTP_ATTACKS["a body without end"], tls=own_certificate(tmp_path))
    assert world.outcome(HttpCheck(f"https://127.0.0.1:{server.port}/"), 60 * SECOND) is SUCCESS
    assert server.sent <= AT_MOST


@pytest.mark.parametrize("name", GRPC_ATTACKS)
def test_a_grpc_server_that_means_ill_ends_its_probe_and_takes_no_memory(world: World, name: str) -> None:
    server = world.server(GRPC_ATTACKS[name])
    with peak_growth() as grown:
        assert world.outcome(GrpcCheck("127.0.0.1", server.port), SECOND) in (FAILURE, LATE)
    assert server.sent <= AT_MOST
    assert grown() < 32 * 1024 * 1024


def test_a_port_that_floods_before_anybody_asks_is_open_and_read_no_further(world: World) -> None:
    server = world.server(HTTP_ATTACKS["zeros before the request"])
    assert world.outcome(TcpCheck("127.0.0.1", server.port), 60 * SECOND) is SUCCESS
    assert server.sent <= AT_MOST


def test_answers_that_are_held_back_take_a_bounded_memory_together(world: World) -> None:
    """Pods may set long timeouts, and let each probe hold what it has received until then."""
    server = world.server(Attack(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 60_000))
    held = HeldBytes(20 * 64 * 1024)
    prober = NetworkProber(NoRuntime(), world.loop, held)
    check = HttpCheck(f"http://127.0.0.1:{server.port}/")
    pending = [prober.probe("c", "liveness", check, 3_600 * SECOND) for _ in range(100)]
    done: SimpleQueue[PendingAnswer[ProbeAnswer]] = SimpleQueue()
    for each in pending:
        each.add_done_callback(done.put)
    for _ in range(79):
        assert "together" in done.get(timeout=120).result().text
    assert held.total <= 20 * 64 * 1024
    assert sum(each.done() for each in pending) < 100, "who fits in is left alone"
