"""The self-signed certificate of the server: `kubelet.crt` and `kubelet.key` (spec 17.2).

It is made once, in the certificate directory. Only the disk can fail (`CertificateError`).
"""

from __future__ import annotations

import ipaddress
import logging
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runtime.files.directories import make_directories
from runtime.files.whole_file import write_whole
from runtime.http_server.auth.serving_certificate import CertificateError

LOG = logging.getLogger("actorlet.http-server")

LASTS = timedelta(days=365)
CERTIFICATE, KEY = "kubelet.crt", "kubelet.key"


def self_signed(directory: str, names: Sequence[str], now: datetime | None = None) -> tuple[str, str]:
    """Paths of certificate and key in `directory`.

    They are made for these names and addresses when they are missing or incomplete.

    Raises CertificateError.
    """
    certificate, key = Path(directory) / CERTIFICATE, Path(directory) / KEY
    fault = _fault_of(certificate, key)
    if fault is None:
        return str(certificate), str(key)
    if fault:
        LOG.warning("%s and %s cannot be used, new ones are made: %s", certificate, key, fault)
    made, secret = _make(names, now or datetime.now(UTC))
    try:
        make_directories(directory, 0o755)
        # The key first: a certificate alone is made again.
        write_whole(str(key), secret)
        write_whole(str(certificate), made, mode=0o644)
    except OSError as error:
        raise CertificateError(f"--cert-dir: {error.filename or directory}: {error.strerror}") from None
    return str(certificate), str(key)


def _fault_of(certificate: Path, key: Path) -> str | None:
    """Why the two files cannot be served; empty when one is missing, None when they can."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _make(names: Sequence[str], now: datetime) -> tuple[bytes, bytes]:
    # Heavy (7 MiB), and of no use to a node that has its certificate.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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
