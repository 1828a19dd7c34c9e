"""Probes over the network against real servers: what counts as an answer, and what is asked (spec 5)."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from aiohttp import web

from runtime.cri.transport import grpc
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.probes import GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck
from runtime.probes.capability import Check
from runtime.probes.health_v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from runtime.probes.prober import NetworkProber
from tests.ports import free_port

SECOND = 10**9
LONG = 60 * SECOND
"""A timeout that passes only when something hangs."""


class NoRuntime:
    """These probes ask no runtime."""

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        raise AssertionError("the runtime is asked")

    def stream(self, *args: Any) -> Any:
        raise AssertionError("the runtime is asked")


class Servers:
    """Servers of one test, and the prober that asks them."""

    def __init__(self) -> None:
        self.loop = LoopThread("probes")
        self._prober = NetworkProber(NoRuntime(), self.loop)
        self.asked: list[web.BaseRequest] = []

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.submit(coroutine).result(120)

    def begin(self, check: Check) -> PendingAnswer[ProbeAnswer]:
        """Ask, and do not wait."""
        return self._prober.probe("c", "liveness", check, LONG)

    def ask(self, check: Check, timeout_ns: int = LONG) -> ProbeAnswer:
        """An answer. If the machine was too busy (`LATE`), ask again."""
        while True:
            answer = self._prober.probe("c", "liveness", check, timeout_ns).result(2 * LONG // SECOND)
            if answer.outcome is not ProbeOutcome.LATE:
                return answer

    def http(self, answer: Callable[[web.BaseRequest], Any], tls: ssl.SSLContext | None = None) -> int:
        """Serve; the port."""

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            self.asked.append(request)
            response: web.StreamResponse = await answer(request)
            return response

        async def serve() -> int:
            runner = web.ServerRunner(web.Server(handle))
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
            await site.start()
            port: int = runner.addresses[0][1]
            return port

        port: int = self.run(serve())
        return port

    def raw(self, say: bytes | None) -> int:
        """A port at which `say` is said after the first bytes, and the connection closed.

        None: nothing ever is.
        """

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            if say is None:
                await asyncio.Event().wait()
            else:
                writer.write(say)
            writer.close()

        async def serve() -> int:
            server = await asyncio.start_server(talk, "127.0.0.1", 0)
            port: int = server.sockets[0].getsockname()[1]
            return port

        port: int = self.run(serve())
        return port


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers()
    yield made
    made.loop.close()


def saying(status: int, body: bytes = b"", **headers: str) -> Callable[[web.BaseRequest], Any]:
    async def answer(request: web.BaseRequest) -> web.Response:
        return web.Response(status=status, body=body, headers=headers)

    return answer


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, ProbeOutcome.SUCCESS), (204, ProbeOutcome.SUCCESS), (304, ProbeOutcome.SUCCESS), (399, ProbeOutcome.SUCCESS)]
    + [(each, ProbeOutcome.FAILURE) for each in (400, 404, 500, 503)],
)
# (spec 5.22)
def test_spec_5_2xx_and_3xx_are_success(servers: Servers, status: int, outcome: ProbeOutcome) -> None:
    answer = servers.ask(HttpCheck(f"http://127.0.0.1:{servers.http(saying(status))}/"))
    assert answer.outcome is outcome
    assert answer.text == ("" if outcome is ProbeOutcome.SUCCESS else f"HTTP probe failed with statuscode: {status}")


# (spec 5.25)
def test_spec_5_it_asks_as_a_kubelet_does_once_and_without_compression(servers: Servers) -> None:
    port = servers.http(saying(200))
    servers.ask(HttpCheck(f"http://127.0.0.1:{port}/health?deep=1"))
    [request] = servers.asked
    assert (request.method, request.path_qs) == ("GET", "/health?deep=1")
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{port}",
        "User-Agent": "kube-probe/1.36",
        "Accept": "*/*",
        "Connection": "close",
    }


# (spec 5.26)
def test_spec_5_headers_of_the_pod_win_and_an_empty_one_sends_none(servers: Servers) -> None:
    port = servers.http(saying(200))
    own = (("Host", "shop.example"), ("X-Way", "a"), ("X-Way", "b"), ("User-Agent", "mine"), ("Accept", ""))
    servers.ask(HttpCheck(f"http://127.0.0.1:{port}/", own))
    [request] = servers.asked
    assert request.headers["Host"] == "shop.example"
    assert request.headers.getall("X-Way") == ["a", "b"]
    assert request.headers["User-Agent"] == "mine"
    assert "Accept" not in request.headers


# (spec 5.27)
def test_spec_5_a_redirect_on_the_same_host_is_followed(servers: Servers) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path == "/":
            return web.Response(status=302, headers={"Location": "/there"})
        return web.Response(status=200 if request.path == "/there" else 500)

    check = HttpCheck(f"http://127.0.0.1:{servers.http(answer)}/", (("Host", "shop.example"),))
    assert servers.ask(check).outcome is ProbeOutcome.SUCCESS
    assert [(each.path, each.headers["Host"]) for each in servers.asked] == [
        ("/", "shop.example"),
        ("/there", "shop.example"),
    ]


# (spec 5.27)
def test_spec_5_a_redirect_to_another_host_is_a_success_with_a_warning_and_not_followed(servers: Servers) -> None:
    port = servers.http(saying(302, b"go away", Location="http://elsewhere.example/"))
    answer = servers.ask(HttpCheck(f"http://127.0.0.1:{port}/"))
    assert answer == ProbeAnswer(ProbeOutcome.WARNING, "Probe terminated redirects, Response body: go away")
    assert len(servers.asked) == 1


# (spec 5.27)
def test_spec_5_redirects_come_to_an_end(servers: Servers) -> None:
    port = servers.http(saying(302, Location="/"))
    answer = servers.ask(HttpCheck(f"http://127.0.0.1:{port}/"))
    assert answer.outcome is ProbeOutcome.FAILURE
    assert "stopped after 10 redirects" in answer.text
    assert len(servers.asked) == 11


# (spec 5.23)
def test_spec_5_only_the_beginning_of_an_endless_body_is_read(servers: Servers) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b"x" * 65536)
        await asyncio.Event().wait()
        return response

    assert servers.ask(HttpCheck(f"http://127.0.0.1:{servers.http(answer)}/")).outcome is ProbeOutcome.SUCCESS


# (spec 5.24)
def test_spec_5_a_certificate_is_not_checked(servers: Servers, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=nobody"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    port = servers.http(saying(200), tls)
    assert servers.ask(HttpCheck(f"https://127.0.0.1:{port}/")).outcome is ProbeOutcome.SUCCESS
    assert servers.ask(HttpCheck(f"http://127.0.0.1:{port}/")).outcome is ProbeOutcome.FAILURE


@pytest.mark.parametrize(
    ("say", "text"), [(b"", "EOF"), (b"220 ready\r\n", ""), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", "")]
)
def test_spec_5_an_incomplete_answer_is_a_failure(servers: Servers, say: bytes, text: str) -> None:
    answer = servers.ask(HttpCheck(f"http://127.0.0.1:{servers.raw(say)}/"))
    assert answer.outcome is ProbeOutcome.FAILURE
    assert text in answer.text


# (spec 5.30)
def test_spec_5_silence_is_a_failure_at_the_timeout(servers: Servers) -> None:
    port = servers.raw(None)
    answer = servers.ask(HttpCheck(f"http://127.0.0.1:{port}/"), SECOND // 5)
    assert answer.outcome is ProbeOutcome.FAILURE
    assert "context deadline exceeded" in answer.text
    assert servers.ask(GrpcCheck("127.0.0.1", port), SECOND // 5).outcome is ProbeOutcome.FAILURE
    assert servers.ask(TcpCheck("127.0.0.1", port)).outcome is ProbeOutcome.SUCCESS


# (spec 5.28)
def test_spec_5_a_port_at_which_nobody_listens_is_a_failure_of_every_kind(servers: Servers) -> None:
    port = free_port()
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert servers.ask(TcpCheck("127.0.0.1", port)) == ProbeAnswer(ProbeOutcome.FAILURE, refused)
    url = f"http://127.0.0.1:{port}/"
    assert servers.ask(HttpCheck(url)) == ProbeAnswer(ProbeOutcome.FAILURE, f'Get "{url}": {refused}')
    answer = servers.ask(GrpcCheck("127.0.0.1", port))
    assert answer.outcome is ProbeOutcome.FAILURE
    assert f'failed to connect service "127.0.0.1:{port}"' in answer.text


class Health:
    """A gRPC server that says of each service what it is told."""

    def __init__(self, statuses: dict[str, int]) -> None:
        self.asked: list[tuple[str, str]] = []

        def check(request: Any, context: Any) -> Any:
            metadata = dict(context.invocation_metadata())
            self.asked.append((request.service, metadata["user-agent"].split(" ")[0]))
            if request.service not in statuses:
                context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
            return HealthCheckResponse(status=statuses[request.service])  # type: ignore[arg-type]

        handler = grpc.unary_unary_rpc_method_handler(
            check,
            request_deserializer=HealthCheckRequest.FromString,
            response_serializer=HealthCheckResponse.SerializeToString,
        )
        from concurrent.futures import ThreadPoolExecutor

        self.server = grpc.server(ThreadPoolExecutor(2))
        name = "grpc.health.v1.Health" if statuses else "some.other.Service"
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Check": handler}),))
        self.port: int = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()


# (spec 5.29)
def test_spec_5_grpc_asks_for_a_service_and_takes_serving_only(servers: Servers) -> None:
    health = Health({"": 1, "shop": 1, "cart": 2})
    try:
        ok = ProbeAnswer(ProbeOutcome.SUCCESS)
        assert servers.ask(GrpcCheck("127.0.0.1", health.port), LONG) == ok
        assert servers.ask(GrpcCheck("127.0.0.1", health.port, "shop"), LONG) == ok
        bad = servers.ask(GrpcCheck("127.0.0.1", health.port, "cart"), LONG)
        assert bad == ProbeAnswer(ProbeOutcome.FAILURE, 'service unhealthy (responded with "NOT_SERVING")')
        assert servers.ask(GrpcCheck("127.0.0.1", health.port, "none"), LONG).outcome is ProbeOutcome.FAILURE
        assert health.asked[1] == ("shop", "kube-probe/1.36")
    finally:
        health.server.stop(None)


# (spec 5.30)
def test_spec_5_a_grpc_server_that_does_not_know_the_protocol_has_failed(servers: Servers) -> None:
    other = Health({})
    try:
        answer = servers.ask(GrpcCheck("127.0.0.1", other.port), LONG)
        assert answer.outcome is ProbeOutcome.FAILURE
        assert "does not implement the grpc health protocol" in answer.text
    finally:
        other.server.stop(None)


def test_spec_5_no_answer_in_time_on_a_loop_that_is_busy_says_nothing_of_the_container(servers: Servers) -> None:
    port, asked, passes = servers.raw(None), Event(), Event()
    prober = NetworkProber(NoRuntime(), servers.loop)

    def block() -> None:
        asked.wait(120)
        passes.wait(0.4)  # which nobody sets: the loop is busy for twice the timeout after the probe was asked for

    servers.loop.post(block)
    pending = prober.probe("c", "liveness", HttpCheck(f"http://127.0.0.1:{port}/"), SECOND // 5)
    asked.set()
    answer = pending.result(120)
    assert answer.outcome is ProbeOutcome.LATE
    assert "this node is too busy" in answer.text


def test_spec_5_probes_that_hang_hold_up_no_other(servers: Servers) -> None:
    silent, well = servers.raw(None), servers.http(saying(200))
    prober = NetworkProber(NoRuntime(), servers.loop)
    hanging: list[Future[ProbeAnswer]] = [
        prober.probe("c", "liveness", HttpCheck(f"http://127.0.0.1:{silent}/"), 3600 * SECOND)  # type: ignore[misc]
        for _ in range(100)
    ]
    for _ in range(20):
        assert servers.ask(HttpCheck(f"http://127.0.0.1:{well}/"), LONG).outcome is ProbeOutcome.SUCCESS
    assert not any(each.done() for each in hanging)


def wait_for(event: Event) -> None:
    event.wait(120)


def test_a_probe_that_is_given_up_before_it_begins_leaves_nothing_unawaited(
    servers: Servers, recwarn: pytest.WarningsRecorder
) -> None:
    """As when its container ends while the loop is busy."""
    go_on = Event()
    servers.loop.post(partial(wait_for, go_on))
    given_up = servers.begin(HttpCheck("http://127.0.0.1:9/"))
    assert given_up.cancel()
    go_on.set()
    servers.run(asyncio.sleep(0))
    assert [str(each.message) for each in recwarn.list if "never awaited" in str(each.message)] == []
