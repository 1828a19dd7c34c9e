"""Requests that mean nothing: they are a client's fault, and told so (4xx).

Never a failure of the node (500).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from actors.kernel import PoolDispatcher
from cli.run.node_server import NodeWindow, Serving, node_server
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import AnonymousAuthentication, Authentication, Authorization
from config.values.go_pattern import InvalidGoPatternError
from runtime.api import ApiLines
from runtime.http_server import log_query
from runtime.http_server.node_server import Ports
from runtime.io.event_loop import LoopThread
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode
from tests.real.waiting import until
from tests.runtime.http_server.clients import PATIENCE_S, Client, Said, ask, said
from tests.runtime.http_server.test_crowds import trusting

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: busybox}]}
"""
HUGE = "9" * 400
NUMBERS = ("-1", "1e9", "0x10", "٣", "1.5", HUGE, "%00", "%ff", " ", "NaN", "--", "+")
TIMES = (
    "yesterday",
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00%2B23:59",
    f"2026-01-01T00:00:00.{HUGE}Z",
    f"{HUGE}-01-01T00:00:00Z",
    "%00",
    "%ff",
)
PATTERNS = (
    "(",
    "a{99999999999999999999}",
    "a" + "(" * 5_000,
    "%00",
    "a%0Ab",
    "%ff",
    "[",
    "(?P<x",
    "(?<=a+)b",
    "\\",
    "*" * 9,
)
NAMES = ("%00", "%ff", "a" * 5_000, "..%2f..", "%2e%2e", "a%0d%0aX:y", "%F0%9F%98%80", "~", "a b", "%25%30%30")

LOG = "/containerLogs/default/web-n/main"
QUERIES = [
    *(f"{LOG}?{name}={value}" for name in ("tailLines", "limitBytes", "sinceSeconds", "tail") for value in NUMBERS),
    *(f"{LOG}?sinceTime={value}" for value in TIMES),
    *(f"{LOG}?stream={value}" for value in NAMES),
    *(f"/logs/?query=kubelet&{name}={value}" for name in ("sinceTime", "untilTime") for value in TIMES),
    *(f"/logs/?query=kubelet&{name}={value}" for name in ("tailLines", "boot") for value in NUMBERS),
    *(f"/logs/?query=kubelet&pattern={quote(value, safe='%')}" for value in PATTERNS),
    *(f"/logs/?query={value}" for value in NAMES),
    *(f"/logs/?query=/{value}" for value in NAMES),
    *(f"/logs/{value}" for value in NAMES),
    *(f"/debug/pprof/profile?seconds={value}" for value in NUMBERS if value != "1"),
    *(f"/debug/pprof/{value}" for value in NAMES),
    *(f"/healthz/{value}" for value in NAMES),
    *(f"/healthz?exclude={value}" for value in NAMES),
    *(f"/ui/{value}" for value in NAMES),
    *(f"/ui/pods/{value}" for value in NAMES),
    *(f"/metrics/{value}" for value in NAMES),
    *(f"/containerLogs/{value}/web-n/main" for value in NAMES),
    *(f"/containerLogs/default/{value}/main" for value in NAMES),
    *(f"/containerLogs/default/web-n/{value}" for value in NAMES),
    f"{LOG}?{'&'.join('a=b' for _ in range(20_000))}",
    f"{LOG}?%zz=%zz&=&&;=;",
]
SESSIONS = [
    *(f"/exec/default/{value}/main?command=ls&output=1" for value in NAMES),
    *(f"/exec/default/web-n/{value}?command=ls&output=1" for value in NAMES),
    *(f"/exec/default/web-n/main?output={value}" for value in NAMES),
    *(f"/attach/default/web-n/main?tty={value}" for value in NUMBERS),
    *(f"/portForward/default/web-n?port={value}" for value in NUMBERS),
    "/exec/default/web-n/main?output=1",
]


class ServedNode:
    """A node whose server lets everybody in, and one pod that runs on it."""

    def __init__(self, directory: Path, after: ExitStack) -> None:
        replace = msgspec.structs.replace
        configuration = replace(
            KubeletConfiguration(),
            authentication=replace(Authentication(), anonymous=AnonymousAuthentication(enabled=True)),
            authorization=Authorization(mode="AlwaysAllow"),
            enable_system_log_query=True,
        )
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        manifests = {"web.yaml": MANIFEST}
        node = SimulatedNode(dispatcher, name="n", manifests=manifests, settings=Settings(images=("busybox",)))
        loop = after.enter_context(closing(LoopThread("served")))
        serving = Serving(
            "n", configuration, str(directory / "pki"), ("n", "127.0.0.1"), {}, system_logs=str(directory)
        )
        window = NodeWindow(node.node)
        no_lines: ApiLines | None = None
        server = node_server(serving, Ports(0, None, None), window, node.cri, node.host.log_files, no_lines, loop)
        server.start()
        after.callback(server.close)
        node.start()
        after.callback(node.stop)
        until(lambda: any(each.status and each.status.phase == "Running" for each in node.pods()), 30, "no pod runs")
        assert server.ports.main is not None
        self.port = server.ports.main
        self._tls = trusting()

    def ask(self, target: str, method: str = "GET", **options: Any) -> Said:
        return ask(self.port, target, method, tls=self._tls, **options)

    def upgrade(self, target: str) -> Said:
        with closing(Client(self.port, self._tls)) as client:
            client.send(f"POST {target} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
            return said(client.rest())


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedNode]:
    with ExitStack() as after:
        yield ServedNode(tmp_path_factory.mktemp("bad"), after)


def refuses(told: Said) -> bool:
    """A client's fault, or no fault at all; 501 is what a runtime without sessions is."""
    return 200 <= told.status < 500 or told.status == 501


@pytest.mark.parametrize("target", QUERIES, ids=range(len(QUERIES)))
def test_no_query_and_no_name_is_a_failure_of_the_node(node: ServedNode, target: str) -> None:
    told = node.ask(target)
    assert refuses(told), f"{target[:200]}: {told.status} {told.body[:300]}"


@pytest.mark.parametrize("target", SESSIONS, ids=range(len(SESSIONS)))
def test_no_session_that_makes_no_sense_is_a_failure_of_the_node(node: ServedNode, target: str) -> None:
    told = node.upgrade(target)
    assert refuses(told), f"{target[:200]}: {told.status} {told.body[:300]}"


@pytest.mark.parametrize("value", PATTERNS)
def test_an_invalid_pattern_is_400(node: ServedNode, value: str) -> None:
    assert node.ask(f"/logs/?query=kubelet&pattern={quote(value, safe='%')}").status in (200, 400)


HOSTILE = ("(?i)" + "[ -\ufffd]" * 160, "(?i)" + r"\pL" * 300, "((a*)*)*b", "(?:a?){500}a{500}")


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_pattern_that_attacks_is_answered(node: ServedNode, value: str) -> None:
    """Python's `re` needs five seconds to read the first, and holds up the whole process meanwhile."""
    assert node.ask(f"/logs/?query=kubelet&pattern={quote(value, safe='')}").status in (200, 400)


def test_the_port_answers_while_a_pattern_is_read(node: ServedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, goes_on = threading.Event(), threading.Event()

    def slow(text: str) -> Any:
        reads.set()
        assert goes_on.wait(PATIENCE_S)
        raise InvalidGoPatternError("too large")

    monkeypatch.setattr(log_query, "GoPattern", slow)
    with closing(Client(node.port, trusting())) as attacker:
        attacker.send("GET /logs/?query=kubelet&pattern=x HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
        try:
            assert reads.wait(PATIENCE_S)
            assert node.ask("/healthz").status == 200
            assert node.ask("/logs/?query=kubelet").status in (200, 500), "a query without a pattern goes on"
            assert node.ask("/logs/").status == 200
        finally:
            goes_on.set()
        told = said(attacker.rest())
    assert (told.status, "too large" in told.body) == (400, True)


@pytest.mark.parametrize("header", [b"Bearer \xff\xfe", b"Bearer a\x80b", b"Basic \xff", b"Bearer " + b"x" * 60_000])
def test_undecodable_credentials_count_as_none(node: ServedNode, header: bytes) -> None:
    for path in (b"/pods", b"/ui"):
        with closing(Client(node.port, trusting())) as client:
            client.send(
                b"GET " + path + b" HTTP/1.1\r\nHost: n\r\nConnection: close\r\nAuthorization: " + header + b"\r\n\r\n"
            )
            assert refuses(said(client.rest()))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from([LOG, "/logs/", "/exec/default/web-n/main", "/checkpoint/default/web-n/main", "/run/a/b/c"]),
    query=st.dictionaries(
        st.sampled_from(["sinceTime", "tailLines", "pattern", "query", "boot", "cmd", "timeout", "stream", "follow"]),
        st.text(max_size=30) | st.from_regex(r"[0-9T:.Z+-]{1,30}", fullmatch=True),
        max_size=4,
    ),
    method=st.sampled_from(["GET", "POST"]),
)
def test_any_query_is_answered(node: ServedNode, path: str, query: dict[str, str], method: str) -> None:
    assume(path != LOG or query.get("follow", "false").lower() in ("false", "0"))  # the log of a pod that runs goes on
    pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    told = node.ask(f"{path}?{pairs}", method)
    assert refuses(told) or "runtime" in told.body or path.startswith("/checkpoint"), (pairs, told.status, told.body)
