"""The serving certificate in real handshakes: self-signed, from files, read again.

And certificates of clients.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp import web

from config.kubelet.tls import INSECURE_CIPHERS, SECURE_CIPHERS, chosen_curve
from runtime.http_server.accepting import let_in
from runtime.http_server.auth.client_certificates import ENDED, NOT_BELIEVED
from runtime.http_server.auth.gate import user_of_certificate
from runtime.http_server.auth.self_signed import self_signed
from runtime.http_server.auth.serving_certificate import CertificateError, ServingFiles, ServingTls
from runtime.http_server.listener import Handler
from tests.runtime.api.scripted_server import Certificates, Pair
from tests.runtime.http_server.authorities import authority, client_context, write_pair
from tests.runtime.http_server.clients import Client, ask, listening


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns


async def who(request: web.BaseRequest) -> web.StreamResponse:
    certificate = request.transport.get_extra_info("peercert") if request.transport else None
    fields = [pair for part in (certificate or {}).get("subject", ()) for pair in part]
    return web.Response(text=dict(fields).get("commonName", "nobody"))


def judged(tls: ServingTls) -> Handler:
    """Says who asks, and what is wrong with the client's certificate.

    Lets everybody in, so that connections are kept.
    """

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        let_in(request.transport)
        found = tls.shown_by(request.transport)
        known = user_of_certificate(found.certificate or {})
        return web.Response(text=f"{known.name if known else 'nobody'}{': ' if found.fault else ''}{found.fault}")

    return handler


def shown(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port)).strip()


def showing(directory: Path, pair: Pair) -> ssl.SSLContext:
    """For a client that believes every server, and shows this."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(*pair.write(directory, "client"))
    return context


# (spec 16.6, 17.2.3)
def test_a_self_signed_pair_is_made_once_and_used_again(tmp_path: Path) -> None:
    first = self_signed(str(tmp_path / "pki"), ("node-1", "10.0.0.1"))
    before = [Path(each).read_bytes() for each in first]
    assert os.stat(first[1]).st_mode & 0o777 == 0o600
    assert self_signed(str(tmp_path / "pki"), ("other",)) == first
    assert [Path(each).read_bytes() for each in first] == before
    tls = ServingTls(ServingFiles(*first))
    with listening(who, tls=tls.context) as listener:
        assert shown(listener.port) == before[0].decode().strip()
        trusting = ssl.create_default_context(cafile=first[0])
        trusting.check_hostname = False
        assert ask(listener.port, tls=trusting).body == "nobody"


def test_half_a_pair_is_made_again(tmp_path: Path) -> None:
    certificate, key = self_signed(str(tmp_path), ("n",))
    os.unlink(key)
    before = Path(certificate).read_bytes()
    assert self_signed(str(tmp_path), ("n",)) == (certificate, key)
    assert Path(certificate).read_bytes() != before
    ServingTls(ServingFiles(certificate, key))


@pytest.mark.parametrize("name", ["kubelet.crt", "kubelet.key"])
@pytest.mark.parametrize("left", [0, 0.5])
def test_a_pair_that_was_torn_is_made_again(tmp_path: Path, name: str, left: float) -> None:
    certificate, key = self_signed(str(tmp_path), ("n",))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: int(len(content) * left)])
    assert self_signed(str(tmp_path), ("n",)) == (certificate, key)
    ServingTls(ServingFiles(certificate, key))
    assert os.stat(key).st_mode & 0o777 == 0o600


def test_a_directory_that_cannot_be_written_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CertificateError, match=r"--cert-dir.*file"):
        self_signed(str(tmp_path / "file" / "pki"), ("n",))


# (spec 17.2.1)
def test_a_pair_that_changes_is_shown_in_the_next_handshake_and_a_bad_one_is_not(tmp_path: Path) -> None:
    made, clock = authority(), Clock()
    files = ServingFiles(*write_pair(tmp_path, made, "localhost"))
    tls = ServingTls(files, clock)
    with listening(who, tls=tls.context) as listener:
        first = shown(listener.port)
        write_pair(tmp_path, made, "localhost", "other")
        clock.now_ns += 10**9
        second = shown(listener.port)
        assert second != first
        assert second == Path(files.certificate).read_text().strip()
        Path(files.key).write_text("no key")
        clock.now_ns += 10**9
        assert shown(listener.port) == second


# (spec 17.1.1)
def test_clients_are_known_by_certificates_of_their_authority_which_may_be_replaced(tmp_path: Path) -> None:
    old, new, clock = authority(), authority(), Clock()
    believed = tmp_path / "clients.crt"
    believed.write_text(old.certificate)
    files = ServingFiles(*write_pair(tmp_path, old, "localhost"), client_authority=str(believed))
    with listening(who, tls=ServingTls(files, clock).context) as listener:
        assert ask(listener.port, tls=client_context(tmp_path, None)).body == "nobody"
        assert ask(listener.port, tls=client_context(tmp_path, old, "alice")).body == "alice"
        believed.write_text(new.certificate)
        clock.now_ns += 10**9
        assert ask(listener.port, tls=client_context(tmp_path, new, "bob")).body == "bob"
        with contextlib.suppress(OSError):
            assert ask(listener.port, tls=client_context(tmp_path, old, "alice")).body != "alice"


def asked_again(port: int, tls: ssl.SSLContext, between: Callable[[], object]) -> tuple[str, str]:
    """Two requests on one connection."""
    with closing(Client(port, tls)) as client:
        answers = []
        for act in (between, lambda: None):
            client.send("GET / HTTP/1.1\r\nHost: node\r\n\r\n")
            head = client.until(b"\r\n\r\n")
            length = int(re.search(rb"Content-Length: (\d+)", head)[1])  # type: ignore[index]
            answers.append(client.read(length).decode())
            act()
        first, second = answers
        return first, second


@pytest.mark.parametrize(
    ("now_in_the_file", "second"),
    [
        (("old",), "alice"),
        (("old", "new"), "alice"),
        (("old", "not other"), "alice"),
        (("new",), f"alice: {NOT_BELIEVED}"),
        (("other",), f"alice: {NOT_BELIEVED}"),
    ],
    ids=["the same", "one more", "its own, of two", "another", "the other of two"],
)
def test_a_kept_connection_is_trusted_only_while_its_client_authority_is(
    tmp_path: Path, now_in_the_file: tuple[str, ...], second: str
) -> None:
    made = {name: Certificates(name) for name in ("old", "new", "other")}
    clock, believed = Clock(), tmp_path / "clients.crt"
    before = ("old", "other") if {"not other", "other"} & {*now_in_the_file} else ("old",)
    believed.write_text("".join(made[name].authority for name in before))
    files = ServingFiles(*write_pair(tmp_path, authority(), "localhost"), client_authority=str(believed))
    tls = ServingTls(files, clock)

    def change() -> None:
        believed.write_text("".join(made[name].authority for name in now_in_the_file if name in made))
        clock.now_ns += 10**9

    with listening(judged(tls), tls=tls.context) as listener:
        client = showing(tmp_path, made["old"].pair("alice"))
        assert asked_again(listener.port, client, change) == ("alice", second)


def test_a_kept_connection_is_trusted_only_until_its_client_certificate_expires(
    tmp_path: Path,
) -> None:
    made, ahead_seconds = authority(), 0.0
    believed = tmp_path / "clients.crt"
    believed.write_text(made.certificate)
    files = ServingFiles(*write_pair(tmp_path, made, "localhost"), client_authority=str(believed))
    tls = ServingTls(files, wall_seconds=lambda: time.time() + ahead_seconds)

    def age() -> None:
        nonlocal ahead_seconds
        ahead_seconds = 100 * 365 * 86400

    with listening(judged(tls), tls=tls.context) as listener:
        client = client_context(tmp_path, made, "alice")
        assert asked_again(listener.port, client, age) == ("alice", f"alice: {ENDED}")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_resumed_tls_session_of_a_removed_authority_is_not_trusted(tmp_path: Path, version: ssl.TLSVersion) -> None:
    made, clock, believed = authority(), Clock(), tmp_path / "clients.crt"
    believed.write_text(made.certificate)
    files = ServingFiles(*write_pair(tmp_path, made, "localhost"), client_authority=str(believed))
    tls = ServingTls(files, clock)
    with listening(judged(tls), tls=tls.context) as listener:
        client = client_context(tmp_path, made, "alice")
        client.minimum_version = client.maximum_version = version
        with closing(Client(listener.port, client)) as first:
            first.send("GET / HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
            assert first.rest().endswith(b"\r\n\r\nalice")
            session = first.socket.session  # type: ignore[attr-defined]
        believed.write_text(authority().certificate)
        clock.now_ns += 10**9
        with contextlib.suppress(ssl.SSLError, OSError):
            plain = socket.create_connection(("127.0.0.1", listener.port))
            with closing(client.wrap_socket(plain, server_hostname="localhost", session=session)) as again:
                again.sendall(b"GET / HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
                answer = b"".join(iter(lambda: again.recv(4096), b""))
                # In version 1.3 nothing is taken up again, and the handshake fails.
                assert answer == b"" or answer.endswith(f"alice: {NOT_BELIEVED}".encode())


def test_clients_of_an_authority_are_known_also_without_the_one_that_signed_it(tmp_path: Path) -> None:
    company = Certificates("company")
    below, other = Certificates("cluster", above=company), Certificates("other", above=company)
    believed = tmp_path / "clients.crt"
    believed.write_text(below.authority)
    files = ServingFiles(*write_pair(tmp_path, authority(), "localhost"), client_authority=str(believed))
    with listening(who, tls=ServingTls(files).context) as listener:
        assert ask(listener.port, tls=showing(tmp_path, below.pair("alice"))).body == "alice"
        assert ask(listener.port, tls=showing(tmp_path, other.pair("mallory"))).status == 0


@pytest.mark.parametrize("broken", ["certificate", "authority"])
def test_files_that_cannot_be_used_are_named(tmp_path: Path, broken: str) -> None:
    pair = write_pair(tmp_path, authority(), "localhost")
    bad = tmp_path / "bad"
    bad.write_text("no certificate")
    files = ServingFiles(str(bad), pair[1]) if broken == "certificate" else ServingFiles(*pair, str(bad))
    with pytest.raises(CertificateError, match=str(bad)):
        ServingTls(files)
    with pytest.raises(CertificateError, match=r"missing.*No such file"):
        ServingTls(ServingFiles(*pair, str(tmp_path / "missing")))


# (spec 17.2.4)
def test_versions_and_ciphers_are_those_of_the_configuration(tmp_path: Path) -> None:
    pair = write_pair(tmp_path, authority(), "localhost")
    strict = ServingTls(ServingFiles(*pair, min_version="VersionTLS13"))
    with listening(who, tls=strict.context) as listener:
        old = client_context(tmp_path, None)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            ask(listener.port, tls=old)
    chosen = ServingFiles(*pair, ciphers=("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",))
    names = {each["name"] for each in ServingTls(chosen).context.get_ciphers() if each["protocol"] == "TLSv1.2"}
    assert names == {"ECDHE-ECDSA-AES256-GCM-SHA384"}


# (spec 17.2.4)
def test_the_curve_that_was_chosen_is_the_only_one(tmp_path: Path) -> None:
    pair = write_pair(tmp_path, authority(), "localhost")
    limited = ServingTls(ServingFiles(*pair, curve="secp384r1", min_version="VersionTLS13"))
    with listening(who, tls=limited.context) as listener:
        for curve, agree in (("secp384r1", True), ("prime256v1", False)):
            client = client_context(tmp_path, None)
            client.set_ecdh_curve(curve)
            if agree:
                assert ask(listener.port, tls=client).body == "nobody"
            else:
                with pytest.raises(ssl.SSLError):
                    ask(listener.port, tls=client)


@pytest.mark.parametrize(
    ("wanted", "chosen"), [((), ""), ((24,), "secp384r1"), ((29, 23, 24), "prime256v1"), ((29,), ""), ((4588,), "")]
)
def test_which_curve_is_chosen(wanted: tuple[int, ...], chosen: str) -> None:
    assert chosen_curve(wanted) == chosen


GONE_FROM_OPENSSL = {name for name in INSECURE_CIPHERS if "RC4" in name or "3DES" in name}


@pytest.mark.parametrize("cipher", sorted((SECURE_CIPHERS | INSECURE_CIPHERS) - GONE_FROM_OPENSSL))
# (spec 17.2.4)
def test_every_cipher_that_may_be_named_is_understood(tmp_path: Path, cipher: str) -> None:
    pair = write_pair(tmp_path, authority(), "localhost")
    context = ServingTls(ServingFiles(*pair, ciphers=(cipher,))).context
    assert [each for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
