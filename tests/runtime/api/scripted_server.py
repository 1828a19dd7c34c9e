"""A real HTTP server on the loopback that answers as the test says, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from config.credentials.kubeconfig import ApiAccess, ClusterAccess, UserAccess
from runtime.io.event_loop import LoopThread

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
WAIT = 120
"""Seconds that a test waits for what must happen; it fails after that."""


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, list[str]]
    body: bytes
    peer_name: str

    def header(self, name: str) -> str:
        return ", ".join(self.headers.get(name.lower(), []))


@dataclass
class ScriptedServer:
    """`answer` is called for every request, on the loop of the server."""

    answer: Handler
    certificates: Certificates | None = None
    require_client: bool = False
    asked: list[Asked] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    """Every connection that made a request."""

    def __post_init__(self) -> None:
        self.loop = LoopThread("scripted-server")
        self.url = self.loop.submit(self._start()).result(WAIT)

    def access(self, user: UserAccess | None = None, **cluster: Any) -> ApiAccess:
        return ApiAccess(ClusterAccess(self.url, **cluster), user or UserAccess())

    def close(self) -> None:
        self.loop.submit(self._stop()).result(WAIT)
        self.loop.close()

    def cut_all(self) -> None:
        """Break every connection."""

        async def cut() -> None:
            self._cut()

        self.loop.submit(cut()).result(WAIT)

    def _cut(self) -> None:
        for connection in list(self._runner.server.connections if self._runner.server else ()):
            if connection.transport is not None:
                connection.transport.abort()

    async def _start(self) -> str:
        self._runner = web.ServerRunner(web.Server(self._handle, handler_cancellation=True), shutdown_timeout=0)
        await self._runner.setup()
        context = self.certificates.server_context(self.require_client) if self.certificates else None
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = self._runner.addresses[0][1]
        return f"https://localhost:{port}" if context else f"http://127.0.0.1:{port}"

    async def _stop(self) -> None:
        self._cut()
        await self._runner.cleanup()

    def stop_listening(self) -> None:
        """Stop listening; the connections get the time they need to end."""
        self.loop.submit(self._runner.cleanup()).result(WAIT)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        certificate = transport.get_extra_info("peercert") if transport is not None else None
        subject = dict(pair[0] for pair in certificate["subject"]) if certificate else {}
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        self.connections.add(transport)
        asked = Asked(
            request.method, str(request.rel_url), headers, await request.read(), subject.get("commonName", "")
        )
        self.asked.append(asked)
        return await self.answer(request)  # type: ignore[arg-type]  # a bare server makes BaseRequests


def reply(value: Any, status: int = 200, **headers: str) -> web.Response:
    return web.json_response(
        value, status=status, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def status_object(code: int, reason: str, message: str = "why", **fields: Any) -> dict[str, Any]:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "metadata": {}}
    return status | {"code": code, "reason": reason, "message": message} | fields


def pod(name: str, version: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": version}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


def event_line(kind: str, value: Any) -> bytes:
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


async def stream(request: web.Request, *chunks: bytes | Awaitable[object]) -> web.StreamResponse:
    """A chunked answer; what can be awaited between two chunks is waited for."""
    response = web.StreamResponse()
    response.enable_chunked_encoding()
    await response.prepare(request)
    for chunk in chunks:
        if isinstance(chunk, bytes):
            await response.write(chunk)
        else:
            await chunk
    await response.write_eof()
    return response


async def echo(request: web.Request) -> web.StreamResponse:
    """A pod of the name in the path."""
    return reply(pod(request.path.split("/")[6]))


async def forever(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


# --- certificates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    certificate: str
    key: str

    def write(self, folder: Path, name: str) -> tuple[str, str]:
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_text(self.certificate)
        key.write_text(self.key)
        return str(certificate), str(key)


class Certificates:
    """An authority, and what it signs. `above`: the one that has signed it; else it has done so itself."""

    def __init__(self, name: str = "authority", above: Certificates | None = None) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name)
        signer = above or self
        builder = _certificate(self._name, signer._name, self._key)
        builder = builder.add_extension(x509.BasicConstraints(True, None), True)
        self._certificate = builder.sign(signer._key, hashes.SHA256())
        self.authority = self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def pair(self, name: str, *hosts: str) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        names = [_general_name(host) for host in hosts]
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = _certificate(_subject(name), self._name, key).add_extension(x509.ExtendedKeyUsage([usage]), False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        certificate = builder.sign(self._key, hashes.SHA256())
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(), text.decode())

    def server_context(self, require_client: bool, *hosts: str) -> ssl.SSLContext:
        import tempfile

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            context.load_cert_chain(
                *self.pair("server", *(hosts or ("localhost", "api.inside"))).write(Path(folder), "s")
            )
        context.load_verify_locations(cadata=self.authority)
        context.verify_mode = ssl.CERT_REQUIRED if require_client else ssl.CERT_OPTIONAL
        return context


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )
