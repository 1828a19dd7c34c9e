"""The certificate that the server shows, and whose client certificates it believes (spec 17.2, 16).

The pair of the configuration where there is one; otherwise `kubelet.crt` and `kubelet.key` in the certificate
directory, made once and signed by itself. Files that change are read again, at the next handshake and at most once a
second; what then cannot be used leaves the former in place. What can fail is the first reading (`CertificateError`).

OpenSSL lets nobody in whose certificate another authority has signed, even with a good token: clients choose theirs by
the authorities that the server names.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOG = logging.getLogger("actorlet.http-server")

LOOK_EVERY_NS = 10**9
LASTS = timedelta(days=365)
CERTIFICATE, KEY = "kubelet.crt", "kubelet.key"
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
    """Paths. `client_authority` empty: client certificates are not asked for. `ciphers` by their IANA names, `curve` by
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
    """`context` is for the listener, once; handshakes take what the files say then. Raises CertificateError."""

    def __init__(self, files: ServingFiles, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._files = files
        self._now_ns = now_ns
        self._stamps = _stamps(files)
        self._looked_at_ns = now_ns()
        self.context = self._current = _context(files)
        self.context.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called by `ssl` in each handshake, before the certificate is shown."""
        if self._now_ns() - self._looked_at_ns >= LOOK_EVERY_NS:
            self._looked_at_ns = self._now_ns()
            self._look()
        if self._current is not context:
            connection.context = self._current

    def _look(self) -> None:
        stamps = _stamps(self._files)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            self._current = _context(self._files)
            LOG.info("the serving certificate, or the authority of clients, has been read again")
        except CertificateError as error:
            LOG.warning("the serving certificate of before is kept: %s", error)


def self_signed(directory: str, names: Sequence[str], now: datetime | None = None) -> tuple[str, str]:
    """Paths of certificate and key in `directory`, made for these names and addresses when they are not there.

    Raises CertificateError.
    """
    certificate, key = Path(directory) / CERTIFICATE, Path(directory) / KEY
    if _readable(certificate) and _readable(key):
        return str(certificate), str(key)
    made, secret = _make(names, now or datetime.now(UTC))
    try:
        Path(directory).mkdir(mode=0o755, parents=True, exist_ok=True)
        # The key first: a certificate alone is made again.
        _write(key, secret, 0o600)
        _write(certificate, made, 0o644)
    except OSError as error:
        raise CertificateError(f"--cert-dir: {error.filename or directory}: {error.strerror}") from None
    return str(certificate), str(key)


def _readable(path: Path) -> bool:
    try:
        return b"-----BEGIN" in path.read_bytes()
    except OSError:
        return False


def _write(path: Path, content: bytes, mode: int) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _make(names: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    alternatives: list[x509.GeneralName] = []
    for each in dict.fromkeys(names):
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(each)))
        except ValueError:
            alternatives.append(x509.DNSName(each))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LASTS)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), secret


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
