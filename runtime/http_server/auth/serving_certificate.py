"""The certificate of the server, and the client authorities that it trusts (spec 17.2, 16).

It uses the pair of the configuration, or else a self-signed one (`self_signed`). Changed files are read again at the
next handshake or request, at most once a second. If the new files are unusable, the former ones stay in use. Only the
first reading can fail (`CertificateError`). On an older connection, the certificate is checked again at each request
(`client_certificates`).

OpenSSL refuses clients with a certificate of another authority, even with a good token. Clients choose their
certificate by the authorities that the server names.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from runtime.http_server.auth.client_certificates import (
    ENDED,
    NOT_BELIEVED,
    NOTHING,
    Certificate,
    Shown,
    authorities_of,
    has_ended,
    includes,
    is_signed_by,
)

LOG = logging.getLogger("actorlet.http-server")

LOOK_EVERY_NS = 10**9
_VERSIONS = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}


class CertificateError(Exception):
    """No TLS with these files; the text says which, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ServingFiles:
    """Paths.

    `client_authority` empty: client certificates are not asked for. `ciphers` by their IANA names, `curve` by
    OpenSSL's; empty: its own choice. `awaited`: the pair may come later; until then no handshake succeeds.
    """

    certificate: str
    key: str
    client_authority: str = ""
    min_version: str = ""
    ciphers: tuple[str, ...] = ()
    curve: str = ""
    awaited: bool = False


class ServingTls:
    """`context` is for the listener, once; handshakes take what the files say then.

    Raises CertificateError.
    """

    def __init__(
        self,
        files: ServingFiles,
        now_ns: Callable[[], int] = time.monotonic_ns,
        wall_seconds: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._now_ns = now_ns
        self._wall_seconds = wall_seconds
        self._stamps = _stamps(files)
        self._looked_at_ns = now_ns()
        self._narrowed_at = 0.0
        """When somebody was last taken out of the authorities, by the clock."""
        self.context = self._current = _context(files)
        self.context.sni_callback = self._choose

    def shown_by(self, transport: asyncio.BaseTransport | None) -> Shown:
        """The client certificate of this connection, and whether it is valid now."""
        connection = None if transport is None else transport.get_extra_info("ssl_object")
        certificate = None if connection is None else connection.getpeercert()
        if connection is None or not certificate:
            return NOTHING
        if has_ended(certificate, self._wall_seconds()):
            return Shown(certificate, ENDED)
        self._look_in_time()
        if self._is_believed(connection, certificate):
            return Shown(certificate)
        return Shown(certificate, NOT_BELIEVED)

    def _is_believed(self, connection: ssl.SSLObject, certificate: Certificate) -> bool:
        if connection.session_reused and connection.session and connection.session.time <= self._narrowed_at:
            return False  # it was looked at when that session began, and not since
        if connection.context is self._current:
            return True
        return is_signed_by(certificate, authorities_of(connection.context), authorities_of(self._current))

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called by `ssl` in each handshake, before the certificate is shown."""
        self._look_in_time()
        if self._current is not context:
            connection.context = self._current

    def _look_in_time(self) -> None:
        if self._now_ns() - self._looked_at_ns >= LOOK_EVERY_NS:
            self._looked_at_ns = self._now_ns()
            self._look()

    def _look(self) -> None:
        stamps = _stamps(self._files)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            before, self._current = self._current, _context(self._files)
            if not includes(authorities_of(self._current), authorities_of(before)):
                self._narrowed_at = self._wall_seconds()
            LOG.info("the serving certificate, or the certificate authority of clients, was reloaded")
        except CertificateError as error:
            LOG.warning("keeping the present serving certificate: %s", error)


def _stamps(files: ServingFiles) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(_stamp(path) for path in (files.certificate, files.key, files.client_authority) if path)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _context(files: ServingFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS.get(files.min_version, ssl.TLSVersion.TLSv1_2)
    context.set_alpn_protocols(["http/1.1"])
    # Who takes an old session up again is not looked at again: as far as can be, all shake hands from the beginning.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.num_tickets = 0
    try:
        if files.ciphers:
            context.set_ciphers(":".join(map(_openssl_name, files.ciphers)))
        if files.curve:
            context.set_ecdh_curve(files.curve)
        where = f"tlsCertFile {files.certificate}"
        if not files.awaited or os.path.exists(files.certificate):
            context.load_cert_chain(files.certificate, files.key, password=_no_password)
        if files.client_authority:
            where = f"authentication.x509.clientCAFile {files.client_authority}"
            context.load_verify_locations(files.client_authority)
            # The authority of a cluster may be below another one, which the file need not have.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.verify_mode = ssl.CERT_OPTIONAL
    except OSError as error:
        why = error.strerror if error.errno and not isinstance(error, ssl.SSLError) else str(error)
        raise CertificateError(f"{where}: it cannot be used: {why}") from None
    return context


def _no_password() -> str:
    """Otherwise OpenSSL would ask on the terminal."""
    return ""


def _openssl_name(iana: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` -> `ECDHE-RSA-AES128-GCM-SHA256`."""
    exchange, _, cipher = iana.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.removesuffix("_SHA256") if "CHACHA20" in cipher else cipher
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    cipher = cipher.replace("3DES_EDE", "DES-CBC3").replace("RC4_128", "RC4").replace("_", "-")
    # RSA as the way to exchange keys goes without saying.
    return cipher if exchange == "RSA" else f"{exchange.replace('_', '-')}-{cipher}"
