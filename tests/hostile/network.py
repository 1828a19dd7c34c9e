"""Decoders of data from the network: requests, sessions, answers, watches, credentials."""

from __future__ import annotations

import asyncio
import base64
import gzip

import h11

from config.api.resources import PODS
from config.credentials.kubeconfig import ExecPlugin
from config.documents.codec import DocumentError
from runtime.api import ApiError, list_objects, watch_objects
from runtime.api.answers import refusal, retry_after_ns
from runtime.api.exec_credential import CredentialPluginError, read_answer
from runtime.api.watch_stream import LineSplitter, LineTooLongError, cut_short, read_event
from runtime.http_client import HttpError
from runtime.http_client.request import redirect_of, request_of
from runtime.http_server.auth.gate import bearer_of
from runtime.http_server.heads import Head, HttpRefusal, head_of, query_of, sound_path
from runtime.http_server.health import wanted_checks
from runtime.http_server.log_query import is_log_query, journal_command, log_query
from runtime.http_server.paths import EVERYTHING, asked
from runtime.http_server.sessions import spdy
from runtime.http_server.sessions.channels import Channels
from runtime.http_server.sessions.sessions import Streams, streams_of, way_to
from runtime.http_server.sessions.websocket import is_translated, offered
from runtime.http_server.targets import log_request
from runtime.state.certificate_keys import (
    SERVER,
    LocalCertificateKeys,
    as_certified,
    current_file,
    is_address,
)
from simulation.apiserver.front.tls import Authority
from tests.hostile.decoder import SCRATCH, Decoder, text_of
from tests.runtime.http_client.test_connection import Line

WATCH = watch_objects(PODS, resource_version="1")
LIST = list_objects(PODS)


def request(data: bytes) -> object:
    """A head and what the node makes of it, up to where it looks for a pod."""
    head = head_of(data)
    found: list[object] = [is_translated(head), offered(head.header("sec-websocket-protocol"))]
    found.append(bearer_of(head.header("authorization")))
    path, query = sound_path(head.path), head.query
    found.append(asked(head.method, path, EVERYTHING))
    for read in (streams_of, lambda each: log_request(each, 10**18, split=True), lambda each: log_query(each)):
        try:
            found.append(read(query))
        except HttpRefusal as refused:
            found.append(refused.as_bytes())
    if is_log_query(query):
        found.append(journal_command("journalctl", log_query(query)))
    return found


def query(data: bytes) -> object:
    pairs = query_of(text_of(data))
    options = log_request(pairs, 10**18, split=True)
    return pairs, options, wanted_checks(("ping", "log"), None, pairs)


def log_options(data: bytes) -> object:
    wanted = log_query(query_of(text_of(data)))
    command = journal_command("journalctl", wanted)
    assert all(word.startswith("-") for word in command[1:]), "no value stands where an operand could"
    return command


def session_url(data: bytes) -> object:
    way = way_to(text_of(data), Head("POST", "/exec", (("A", "b"),)))
    return way.host, way.port, way.first


def frames(data: bytes) -> object:
    """Frames of SPDY one after the other, as the client of a runtime and as its server read them."""
    acceptor, found = spdy.Acceptor(), list[object]()
    at = 0
    while at + spdy.FRAME_BYTES <= len(data):
        frame = spdy.frame_of(data[at : at + spdy.FRAME_BYTES])
        at += spdy.FRAME_BYTES
        body = data[at : at + frame.length]
        if len(body) < frame.length:
            break
        at += frame.length
        if isinstance(frame, spdy.ControlFrame):
            found += spdy.meaning(frame, body)
            found.append(acceptor.accept(frame, body))
            found.append(acceptor.pong(frame, body))
    return found


def channels(data: bytes) -> object:
    """Messages of a client of exec, each after its length in two bytes."""
    session = Channels(Streams(stdin=True, stdout=True, stderr=False, tty=True))
    found, at = [session.opening], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2])
        found += session.heard(data[at + 2 : at + 2 + length])
        at += 2 + length
    return found


def answer(data: bytes) -> object:
    """An answer of a server, which comes in two pieces."""
    first, second = data[: len(data) // 2], data[len(data) // 2 :]

    async def ask() -> object:
        response = await Line().ask(*filter(None, (first, second)))
        return response.status, response.headers, await response.read(at_most=1_000_000)

    async def limited() -> object:
        async with asyncio.timeout(60):
            return await ask()

    return asyncio.run(limited())


def redirect(data: bytes) -> object:
    text = text_of(data)
    to = redirect_of(302, text, "http://10.0.0.1:8080/health", (("Authorization", "x"),))
    return to, request_of(text, (), "actorlet").head


def watch(data: bytes) -> object:
    splitter, events = LineSplitter(limit_bytes=100_000), list[object]()
    for piece in (data[: len(data) // 3], data[len(data) // 3 :]):
        events += [read_event(line, WATCH) for line in splitter.feed(piece)]
    return events, cut_short(splitter, WATCH)


def api_answer(data: bytes) -> object:
    code = 400 + (data[0] if data else 0)
    return refusal(code, data[1:], "get pods", text_of(data[:20])), retry_after_ns(text_of(data))


def object_list(data: bytes) -> object:
    return LIST.read(data)


def credential(data: bytes) -> object:
    return read_answer(ExecPlugin("client.authentication.k8s.io/v1", "login"), data)


def certificate_names(data: bytes) -> object:
    text = text_of(data)
    return is_address(text), as_certified(text)


def certificate(data: bytes) -> object:
    """What the API server signs: the bytes inside of a PEM file."""
    with open(current_file(SCRATCH.name, SERVER), "wb") as file:
        file.write(b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(data) + b"-----END CERTIFICATE-----\n")
    return LocalCertificateKeys(SCRATCH.name, SERVER).held()


def _signed() -> bytes:
    pem = Authority(10**18).for_client("node", "system:nodes").certificate
    return base64.b64decode("".join(pem.splitlines()[1:-1]))


def _spdy() -> bytes:
    opener = spdy.Opener()
    _, first = opener.open({"streamtype": "stdin", "port": "80"})
    return first + spdy.data(1, b"hello", last=True) + b"\x80\x03\0\x06\0\0\0\x04\0\0\0\x02"


REQUEST = (
    b"POST /exec/default/web/uid/app?command=a&command=b&input=1&tty=1 HTTP/1.1\r\nHost: n\r\nUpgrade: SPDY/3.1\r\n"
    b"Connection: Upgrade\r\nAuthorization: Bearer abc\r\nSec-WebSocket-Protocol: v5.channel.k8s.io"
)
EVENT = (
    b'{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"5"}}}\n'
    b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"6"}}}\n'
)

NETWORK = (
    Decoder(
        "request",
        request,
        (HttpRefusal,),
        (
            REQUEST,
            b"GET /containerLogs/default/web/app?follow=true&sinceTime=2026-01-31T12:00:00Z HTTP/1.1\r\nA: b",
            b"GET /logs/?query=kubelet&pattern=a%28b&tailLines=3 HTTP/1.1\r\nHost: [::1]:1",
        ),
        (b"%2e%2e/", b"\r\n", b"//", b"%00", b"?"),
    ),
    Decoder(
        "query", query, (HttpRefusal,), (b"follow=true&limitBytes=5&tailLines=0&timestamps=1", b"exclude=ping&verbose")
    ),
    Decoder(
        "log-query",
        log_options,
        (HttpRefusal,),
        (b"query=kubelet&sinceTime=2026-01-31T12:00:00Z&tailLines=10&pattern=error&boot=-1", b"query=/a.log"),
    ),
    Decoder("session-url", session_url, (HttpRefusal,), (b"http://127.0.0.1:4321/exec/token", b"https://[::1]/a?b=c")),
    Decoder(
        "spdy", frames, (spdy.SpdyError,), (_spdy(),), (b"\x80\x03\0\x01", b"\x80\x03\0\x06\0\0\0\0", b"\x80\x03\0\x07")
    ),
    Decoder("websocket", channels, (), (b"\0\3\0ls\0\2\xff\0\0\2\0x\0\3\4{}\0\1\xff",), (b"\0\2\xff\4", b"\xff\xff\0")),
    Decoder(
        "http-answer",
        answer,
        (HttpError, h11.RemoteProtocolError),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2;x=1\r\nok\r\n0\r\nA: b\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"ok", mtime=0),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"0\r\n", b"\r\n"),
    ),
    Decoder(
        "redirect",
        redirect,
        (ValueError, HttpError),
        (b"https://other.example/x?y#z", b"//h:1/p", b"/relative", b"http://["),
    ),
    Decoder(
        "watch",
        watch,
        (ApiError, LineTooLongError),
        (EVENT, b'{"type":"ERROR","object":{"code":410,"message":"old"}}\n'),
    ),
    Decoder(
        "api-answer",
        api_answer,
        (),
        (
            b"\x1d" + b'{"kind":"Status","code":429,"message":"m","details":{"retryAfterSeconds":3}}',
            b"\x04not JSON",
            b"120",
        ),
    ),
    Decoder(
        "object-list",
        object_list,
        (DocumentError, ValueError, RecursionError),
        (b'{"kind":"PodList","metadata":{"continue":"x","resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}]}',),
    ),
    Decoder(
        "credential",
        credential,
        (CredentialPluginError,),
        (
            b'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t",'
            b'"expirationTimestamp":"2026-01-31T12:00:00Z"}}',
        ),
    ),
    Decoder("certificate", certificate, (), (_signed(),)),
    Decoder("certificate-names", certificate_names, (), (b"node-1.example", b"10.0.0.1", b"2001:db8::1")),
)
