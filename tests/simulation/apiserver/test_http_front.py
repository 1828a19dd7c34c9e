"""What only the HTTP front does.

Forms of answers, bodies, credentials, and the way to the agents of nodes.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simulation.apiserver.core import Options
from tests.simulation.apiserver.fronts import Front, front_of
from tests.simulation.apiserver.worlds import PODS, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
WAIT_S = 120.0


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with front_of("http", tmp_path, Options(seed=1, tokens={"admin": "admin"})) as front:
        yield front


class Said:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.code = answer.status
        self.headers = answer.headers
        self.body = answer.read()

    @property
    def value(self) -> Any:
        return json.loads(self.body)


def say(front: Front, method: str, path: str, body: Any = None, **headers: str) -> Said:
    assert front.http is not None
    connection = http.client.HTTPConnection(front.http.address, timeout=WAIT_S)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, data, {"Content-Type": "application/json", **named})
    try:
        return Said(connection.getresponse())
    finally:
        connection.close()


def test_a_table_is_made_for_who_prefers_one(front: Front) -> None:
    say(front, "POST", PODS, pod())
    table = say(front, "GET", PODS, Accept=TABLE).value
    assert table["kind"] == "Table"
    assert [row["cells"][0] for row in table["rows"]] == ["web"]
    one = say(front, "GET", f"{PODS}/web", Accept=TABLE).value
    assert one["rows"][0]["cells"][0] == "web"


def test_a_client_that_has_the_openapi_document_gets_it_only_once(front: Front) -> None:
    first = say(front, "GET", "/openapi/v2")
    again = say(front, "GET", "/openapi/v2", If_None_Match=first.headers["ETag"])
    assert (first.code, again.code, again.body) == (200, 304, b"")
    assert say(front, "GET", "/openapi/v2", If_None_Match='"0"').code == 200


def test_metadata_alone(front: Front) -> None:
    say(front, "POST", PODS, pod())
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listed = say(front, "GET", PODS, Accept=accept).value
    assert listed["kind"] == "PartialObjectMetadataList"
    assert "spec" not in listed["items"][0]


def test_yaml_is_read(front: Front) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
    path = "/api/v1/namespaces/default/configmaps"
    assert say(front, "POST", path, text, Content_Type="application/yaml").code == 201
    assert b'"data":{"a":"b"}' in say(front, "GET", f"{path}/c").body


def test_unsupported_media_types_and_methods_are_refused(front: Front) -> None:
    assert say(front, "GET", PODS, Accept="text/html").code == 406
    assert say(front, "POST", PODS, b"x", Content_Type="application/cbor").code == 415
    assert say(front, "POST", PODS, b"{").code == 400
    assert say(front, "PUT", PODS, {}).code == 405


def test_an_unknown_field_is_warned_of_or_refused_as_asked(front: Front) -> None:
    body = pod(newField=1)
    warned = say(front, "POST", f"{PODS}?fieldValidation=Warn&dryRun=All", body)
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.newField\\""'
    strict = say(front, "POST", f"{PODS}?fieldValidation=Strict", body)
    assert strict.code == 400
    assert 'strict decoding error: unknown field "spec.newField"' in strict.value["message"]
    assert say(front, "GET", f"{PODS}/web").code == 404


TWICE = b'{"metadata": {"name": "twice"}, "data": {"a": "1", "b": "2", "a": "3"}}'
TWICE_IN_YAML = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\ndata:\n  a: '1'\n  a: '3'\n"
MAPS = "/api/v1/namespaces/default/configmaps"
NOT_HANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap'


@pytest.mark.parametrize(
    ("method", "path", "media", "body", "refusal", "warning"),
    [
        (
            "POST",
            MAPS,
            "application/json",
            TWICE,
            f'{NOT_HANDLED}: strict decoding error: duplicate field "data.a"',
            'duplicate field \\"data.a\\"',
        ),
        (
            "POST",
            MAPS,
            "application/yaml",
            TWICE_IN_YAML,
            f'{NOT_HANDLED}: strict decoding error: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
            'line 7: key \\"a\\" already set in map',
        ),
        (
            "PATCH",
            f"{MAPS}/twice?fieldManager=me",
            "application/apply-patch+yaml",
            TWICE_IN_YAML,
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:"
            '\n  line 7: key "a" already set in map',
            'line 7: key \\"a\\" already set in map',
        ),
    ],
    ids=["JSON", "YAML", "apply"],
)
def test_a_key_that_is_given_twice_is_warned_of_or_refused_as_asked(
    front: Front, method: str, path: str, media: str, body: bytes, refusal: str, warning: str
) -> None:
    glue = "&" if "?" in path else "?"
    strict = say(front, method, f"{path}{glue}fieldValidation=Strict", body, Content_Type=media)
    assert (strict.code, strict.value["message"]) == (400, refusal)
    made = say(front, method, path, body, Content_Type=media)
    assert (made.code, made.value["data"]["a"]) == (201, "3")
    assert made.headers["Warning"] == f'299 - "{warning}"'


def test_there_is_no_table_of_a_review(front: Front) -> None:
    review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    refused = say(front, "POST", path, review, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert (refused.code, refused.value["reason"]) == (406, "NotAcceptable")


def test_no_more_is_warned_of_than_a_client_takes(front: Front) -> None:
    """Python's own takes a hundred headers."""
    fields: dict[str, Any] = {f"field{number:03}": 1 for number in range(400)}
    body = pod(**fields)
    warnings = say(front, "POST", f"{PODS}?dryRun=All", body).headers.get_all("Warning")
    assert warnings is not None
    assert len(warnings) == 64


def test_a_token_that_nobody_knows_is_unauthorized(front: Front) -> None:
    answer = say(front, "GET", PODS, Authorization="Bearer nonsense")
    assert (answer.code, answer.value["reason"]) == (401, "Unauthorized")


def test_an_admin_may_act_as_somebody_else(front: Front) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = say(front, "POST", path, {}, Impersonate_User="jane", Impersonate_Group="team")
    assert answer.value["status"]["userInfo"] == {"username": "jane", "groups": ["team", "system:authenticated"]}


def test_a_watcher_that_does_not_read_is_cut_but_a_long_beginning_is_not(
    front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.apiserver.front.watches.LINES_WAITING_AT_MOST", 5)
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(20):
        say(front, "POST", path, {"metadata": {"name": f"c{number}"}, "data": {"a": "x" * 500_000}})
    assert front.http is not None
    host, _, port = front.http.address.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as connection:
        connection.sendall(f"GET {path}?watch=true&timeoutSeconds=60 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        received = connection.recv(2**20)
        while b'"c12"' not in received[-2000:]:
            received = received[-2000:] + connection.recv(1000)
        for number in range(40):
            say(front, "POST", path, {"metadata": {"name": f"d{number}"}})
        with contextlib.suppress(ConnectionError):
            while connection.recv(2**20):
                pass


def test_health(front: Front) -> None:
    assert [say(front, "GET", path).body for path in ("/healthz", "/livez", "/readyz")] == [b"ok"] * 3


def test_a_body_that_is_too_large_is_refused(front: Front) -> None:
    assert say(front, "POST", PODS, b" " * (3 * 2**20 + 1)).code == 413


class Agent(BaseHTTPRequestHandler):
    """The HTTP endpoint of a node's agent, as far as a test needs it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/broken"):
            self.reply(400, b'container "broken" in pod "web" is waiting to start: ContainerCreating')
        else:
            self.reply(200, f"log of {self.path}".encode())

    def do_POST(self) -> None:
        """An upgrade: from now on every byte comes back in capitals."""
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", self.headers["Upgrade"])
        self.end_headers()
        self.wfile.write(self.path.encode() + b"\n")
        self.wfile.flush()
        while data := self.rfile.read1(100):
            self.wfile.write(data.upper())
            self.wfile.flush()
        self.close_connection = True

    def reply(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def agent_port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join(WAIT_S)


def make_node(front: Front, port: int) -> None:
    say(front, "POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    status = {
        "addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    merge = "application/merge-patch+json"
    say(front, "PATCH", "/api/v1/nodes/n1/status", {"status": status}, Content_Type=merge)
    containers = [{"name": name, "image": "nginx:1"} for name in ("main", "broken")]
    assert say(front, "POST", PODS, pod(nodeName="n1", containers=containers)).code == 201


def test_logs_come_from_the_agent_of_the_node(front: Front, agent_port: int) -> None:
    make_node(front, agent_port)
    answer = say(front, "GET", f"{PODS}/web/log?container=main&tailLines=5&pretty=true")
    assert answer.body == b"log of /containerLogs/default/web/main?tailLines=5"
    refused = say(front, "GET", f"{PODS}/web/log?container=broken")
    assert refused.code == 400
    assert refused.value["message"] == 'container "broken" in pod "web" is waiting to start: ContainerCreating'
    unnamed = say(front, "GET", f"{PODS}/web/log")
    assert unnamed.value["message"] == ("a container name must be specified for pod web, choose one of: [main broken]")
    assert say(front, "GET", "/api/v1/nodes/n1/proxy/pods?a=b").body == b"log of /pods?a=b"


def test_an_agent_that_does_not_answer_is_named(front: Front, agent_port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        make_node(front, taken.getsockname()[1])
        answer = say(front, "GET", f"{PODS}/web/log?container=main")
        assert (answer.code, answer.value["reason"]) == (503, "ServiceUnavailable")
        assert "error trying to reach the agent of node n1 at 127.0.0.1:" in answer.value["message"]
        upgraded = exec_in(front, "main")
        head, _, body = upgraded.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"the agent of node n1" in body


def exec_in(front: Front, container: str, send: bytes = b"") -> bytes:
    """What comes back over a connection that asks for an upgrade, after `send` is sent over it."""
    assert front.http is not None
    host, _, port = front.http.address.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as connection:
        connection.sendall(
            f"POST {PODS}/web/exec?container={container}&command=ls&command=-l&stdin=true&tty=false HTTP/1.1\r\n"
            f"Host: {host}\r\nAuthorization: Bearer admin\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n".encode()
        )
        if send:
            connection.sendall(send)
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1000), b""))


def test_an_upgraded_connection_is_a_tunnel_to_the_agent(front: Front, agent_port: int) -> None:
    make_node(front, agent_port)
    answer = exec_in(front, "main", b"hello")
    assert answer.startswith(b"HTTP/1.1 101")
    assert answer.endswith(b"\r\n\r\n/exec/default/web/main?command=ls&command=-l&input=1\nHELLO")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "rebound.example"}, 421),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "", "Origin": "https://evil.example"}, 403),
    ],
)
def test_a_web_page_in_a_browser_cannot_create_a_pod(front: Front, headers: dict[str, str], code: int) -> None:
    """Without TLS everybody who reaches the port is admin, and web pages can reach loopback."""
    refused = say(front, "POST", PODS, pod(), **headers)
    assert refused.code == code
    assert refused.value["kind"] == "Status"
    assert say(front, "GET", f"{PODS}/web").code == 404


def test_a_program_may_leave_out_the_type_of_its_body(front: Front) -> None:
    """The Python client does, for a binding that it gets as a dict. A page cannot without its `Origin`."""
    assert say(front, "POST", PODS, pod(), Content_Type="").code == 201


@pytest.mark.parametrize("header", ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"])
def test_a_web_page_in_a_browser_cannot_open_a_session(front: Front, header: str) -> None:
    """Browsers let pages open websockets to any site, and say of which site the page is."""
    assert front.http is not None
    host, _, port = front.http.address.partition(":")
    with socket.create_connection((host, int(port)), WAIT_S) as line:
        line.sendall(
            f"GET {PODS}/web/exec?command=id HTTP/1.1\r\nHost: {front.http.address}\r\n{header}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n".encode()
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 403 ")
