"""Certificate authorities for tests, and what they sign."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

from simulation.apiserver.front.tls import Authority


def authority() -> Authority:
    return Authority(time.time_ns())


def write_pair(directory: Path, made: Authority, *names: str) -> tuple[str, str]:
    """A serving pair for these names, over one that is there."""
    pair = made.for_server(*names)
    certificate, key = directory / "serving.crt", directory / "serving.key"
    certificate.write_text(pair.certificate)
    key.write_text(pair.key)
    return str(certificate), str(key)


def client_context(directory: Path, signer: Authority | None, name: str = "", *groups: str) -> ssl.SSLContext:
    """For a client that believes every server, and shows a certificate of `signer`."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if signer is not None:
        pair = signer.for_client(name, *groups)
        file = directory / f"client-{name.replace(':', '-')}.pem"
        file.write_text(pair.certificate + pair.key)
        context.load_cert_chain(file)
    return context


def subject_of(context: ssl.SSLContext, port: int) -> str:
    """The PEM that a server shows."""
    return ssl.get_server_certificate(("127.0.0.1", port))
