"""TLS to the API server: the trusted authorities, and the client certificate.

Owns the one `SSLContext` in use. A new one costs milliseconds. So it is made only when one of its files has changed
(checked at each call, at most every 10 s), or when a credential plugin gave another certificate. Open connections keep
theirs; new ones use the new one. An unusable file, such as half of a pair during its replacement, leaves the old
context in place.

Only the first context can fail (`TlsError`, with the file or field and the reason).
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from config.credentials.kubeconfig import ClusterAccess, Pem

LOG = logging.getLogger(__name__)
CHECK_EVERY_NS = 10 * 10**9

_Signature = tuple[tuple[int, int, int] | None, ...]
Pair = tuple[Pem, Pem]
"""A client certificate, with the chain to its authority, and its key."""


class TlsError(Exception):
    """The kubeconfig's certificates or keys cannot be used."""


class TlsContexts:
    """The current context for the server of `cluster`. `own` is the certificate of the kubeconfig itself."""

    def __init__(self, cluster: ClusterAccess, own: Pair | None, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._cluster = cluster
        self._own = own
        self._now_ns = now_ns
        self._secure = cluster.server.startswith("https://")
        self._context: ssl.SSLContext | None = None
        self._made_of: tuple[Pair | None, _Signature] | None = None
        self._check_at_ns = 0

    def context(self, given: Pair | None = None) -> ssl.SSLContext | None:
        """The context; None for a server without TLS.

        `given`, by a plugin, overrides the certificate of the file.

        Raises TlsError.
        """
        if not self._secure:
            return None
        pair = given or self._own
        now_ns = self._now_ns()
        same = self._context is not None and self._made_of is not None and self._made_of[0] == pair
        if same and now_ns < self._check_at_ns:
            return self._context
        self._check_at_ns = now_ns + CHECK_EVERY_NS
        made_of = (pair, _signature(self._cluster.certificate_authority, *(pair or ())))
        if self._context is None or made_of != self._made_of:
            try:
                self._context = _make(self._cluster, pair)
                self._made_of = made_of
            except TlsError as error:
                if not same:
                    raise
                LOG.warning("keeping the present TLS settings: %s", error)
        return self._context


def _signature(*pems: Pem) -> _Signature:
    return tuple(_stamp(pem.path) for pem in pems if pem.path)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _make(cluster: ClusterAccess, pair: Pair | None) -> ssl.SSLContext:
    authority = cluster.certificate_authority
    try:
        data = _content(authority, "certificate authority") if authority else None
        context = ssl.create_default_context(cadata=data)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(f"certificate authority {authority.path}: no certificate can be read from it: {error}") from None
    # Newer Python versions also refuse authorities that older programs made. No other client of a cluster does.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    # A certificate in the kubeconfig is trusted, also without the authority that has signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    if cluster.insecure_skip_tls_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        _load(context, *pair)
    return context


def _load(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    chain = _content(certificate, "client certificate")
    text = chain if certificate == key else f"{chain}\n{_content(key, 'client key')}"
    where = certificate.path or "client-certificate-data"
    try:
        with _as_file(text.encode()) as path:
            context.load_cert_chain(path, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(f"client certificate {where}: it cannot be used with its key: {error}") from None


def _no_password() -> str:
    """Otherwise OpenSSL would prompt for a password on the terminal."""
    return ""


def _content(pem: Pem, what: str) -> str:
    if pem.data:
        return pem.data
    try:
        with open(pem.path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise TlsError(f"{what} {pem.path}: {error.strerror}") from None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """A path to `content`, because OpenSSL reads keys from files only.

    The file is in memory where the system allows, so that no key is written to a disk.
    """
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
