"""Attacks from the network without credentials, and by users who may run commands in pods.

Points 7 and 9 of the threat list; the target is the agent's port.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import secrets
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.attacks.target import ANSWERS_WITHIN_S, Target
from tests.real.agent import NODE
from tests.real.pods import pod

CONNECTIONS = 6_000
TOKENS = 400
HOST = "127.0.0.1"


def _unverified() -> ssl.SSLContext:
    whatever = ssl.create_default_context()
    whatever.check_hostname = False
    whatever.verify_mode = ssl.CERT_NONE
    return whatever


def _status(port: int, token: str = "") -> int:
    """The status of an answer to an unknown client."""
    line = http.client.HTTPSConnection(HOST, port, timeout=ANSWERS_WITHIN_S, context=_unverified())
    with contextlib.closing(line):
        line.request("GET", "/pods", headers={"Authorization": f"Bearer {token}"} if token else {})
        return line.getresponse().status


def idle_connections(target: Target) -> None:
    """Thousands of connections say nothing, or stop amid a handshake. Others are served meanwhile."""
    with ExitStack() as after:
        for number in range(CONNECTIONS):
            line = after.enter_context(socket.create_connection((HOST, target.port), ANSWERS_WITHIN_S))
            if number % 2:
                with contextlib.suppress(OSError):  # it may be evicted already
                    line.send(b"\x16\x03\x01\x02\x00\x01")
        assert _status(target.port) in (401, 403), "nobody else gets in"


def unknown_tokens(target: Target) -> None:
    """Random tokens, many at a time; a pod that comes meanwhile starts."""
    with ThreadPoolExecutor(16) as attackers:
        asked = [attackers.submit(_status, target.port, secrets.token_urlsafe()) for _ in range(TOKENS)]
        with target.pods(pod("beside")):
            target.cluster.await_phase("Running", "beside", limit_s=ANSWERS_WITHIN_S)
        answers = {each.result(ANSWERS_WITHIN_S) for each in asked}
    assert answers <= {401, 429, 500, 503}, answers


def words_after_a_refusal(target: Target) -> None:
    """A session that the runtime refuses leaves no way to speak HTTP with the server of the runtime."""
    token = re.search(r"token: \"?([\w-]+)", Path(target.cluster.kubeconfig).read_text())
    assert token is not None, "the admin has no token"
    with target.pods(pod("refused")):
        target.cluster.await_phase("Running", "refused", limit_s=ANSWERS_WITHIN_S)
        head = (
            f"POST /exec/default/refused-{NODE}/main?command=true&output=1 HTTP/1.1\r\nHost: node\r\n"
            f"Authorization: Bearer {token[1]}\r\n"
        )
        # Without a version and without a key: the runtime answers no 101.
        for upgrade in ("SPDY/3.1\r\nX-Stream-Protocol-Version: none", "websocket"):
            plain = socket.create_connection((HOST, target.port), ANSWERS_WITHIN_S)
            with _unverified().wrap_socket(plain) as line:
                line.sendall(f"{head}Connection: Upgrade\r\nUpgrade: {upgrade}\r\n\r\n".encode())
                said = line.recv(65536)
                assert said.startswith(b"HTTP/1.1 4"), said
                with contextlib.suppress(OSError):
                    line.sendall(b"GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n")
                    while more := line.recv(65536):
                        said += more
                assert said.count(b"HTTP/1.1 ") == 1, "it is answered again: the tunnel is open"
