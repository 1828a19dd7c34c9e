"""The keys of the node's certificates on disk, as a kubelet keeps them (spec 16, 17.2, 17.3).

The cluster signs these certificates.

`CertificateKeys` is the capability, `LocalCertificateKeys` the real one, one for each purpose. In the certificate
directory each certificate lies with its key in a file of its own, `kubelet-server-<time>.pem`, and
`kubelet-server-current.pem` is a link to the newest: it changes as a whole. A key that is asked for lives in memory
until its certificate is there. Calls touch the disk and compute: actors run them on a lane. Raises OSError, and
ValueError for what is no certificate of the key.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from runtime.files.directories import make_directories
from runtime.files.whole_file import link_whole, write_whole
from runtime.io.x509_faults import x509_faults_as_value_errors

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

IPV4_PARTS = 4
_PART = re.compile("[0-9]{1,9}")
"""A number of an IPv4 address. Leading zeros are allowed, but not without end."""
SERVER, CLIENT = "kubelet-server", "kubelet-client"
ORGANIZATION = "system:nodes"


class HeldCertificate(msgspec.Struct, frozen=True):
    """The certificate in use: `names` and addresses sorted, times in wall-clock ns."""

    names: tuple[str, ...]
    begins_ns: int
    ends_ns: int


class CertificateKeys(Protocol):
    def held(self) -> HeldCertificate | None:
        """The certificate in use; None when there is none that can be used."""

    def request(self, user: str, names: Sequence[str]) -> bytes:
        """A request, as PEM, for these names and addresses (a client has none), with a new key.

        One before is over.
        """

    def accept(self, certificate: bytes) -> HeldCertificate:
        """Use this certificate (PEM, others of its chain after it) of the last request from now on."""


class LocalCertificateKeys:
    """Keys and certificates on the disk of this machine, in `directory`.

    `purpose`: `SERVER` or `CLIENT`, the prefix of the file names.

    `patient`: the key of a request stays on disk until its certificate comes, so a restarted agent uses the same key;
    `forget` removes it.
    """

    def __init__(self, directory: str, purpose: str, *, patient: bool = False) -> None:
        self._directory = Path(directory)
        self._purpose = purpose
        self._current = current_file(directory, purpose)
        self._waiting = self._directory / f"{purpose}.key.tmp" if patient else None
        self._key: bytes | None = None

    def held(self) -> HeldCertificate | None:
        try:
            with x509_faults_as_value_errors():
                return _described(Path(self._current).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def request(self, user: str, names: Sequence[str]) -> bytes:
        # A heavy import, which nodes without certificates do not need.
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID

        waiting = _readable_key(self._waiting)
        key = waiting or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        alternatives = [
            x509.IPAddress(ipaddress.ip_address(each)) if is_address(each) else x509.DNSName(each) for each in names
        ]
        builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        made = builder.sign(key, hashes.SHA256())
        self._key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        if self._waiting is not None and waiting is None:
            make_directories(str(self._directory), 0o755)
            write_whole(str(self._waiting), self._key)
        return made.public_bytes(serialization.Encoding.PEM)

    def forget(self) -> None:
        """Drop the last request; the next one uses a new key."""
        self._key = None
        if self._waiting is not None:
            self._waiting.unlink(missing_ok=True)

    def accept(self, certificate: bytes) -> HeldCertificate:
        if self._key is None:
            raise ValueError("no certificate was asked for")
        found = checked_pair(certificate, self._key)
        make_directories(str(self._directory), 0o755)
        at = datetime.fromtimestamp(found.begins_ns // 10**9, UTC)
        name = f"{self._purpose}-{at:%Y-%m-%d-%H-%M-%S}-{os.urandom(4).hex()}.pem"
        write_whole(str(self._directory / name), certificate.rstrip(b"\n") + b"\n" + self._key)
        link_whole(self._current, name)
        self.forget()
        self._forget_others(name)
        return found

    def _forget_others(self, name: str) -> None:
        """Remove old keys: they are useful only to thieves."""
        for each in self._directory.glob(f"{self._purpose}-*.pem"):
            if each.name != name and str(each) != self._current:
                each.unlink(missing_ok=True)


def current_file(directory: str, purpose: str) -> str:
    """The path of the certificate in use, and of its key."""
    return os.path.join(os.path.abspath(directory), f"{purpose}-current.pem")


def request_name(pem: bytes, *words: str) -> str:
    """A name for this request; requests with the same key and `words` share it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    public = x509.load_pem_x509_csr(pem).public_key()
    key = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return f"node-csr-{hashlib.sha256(b'|'.join((key, *(each.encode() for each in words)))).hexdigest()}"


def is_address(name: str) -> bool:
    """Whether it is an IP address, and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def as_certified(name: str) -> str:
    """How a name or address of a node reads in a certificate: an address there is bytes, and has one form.

    Zeros before a decimal number say nothing, as in the API (`010.0.0.1` is `10.0.0.1`).
    """
    parts = name.split(".")
    if len(parts) == IPV4_PARTS and all(_PART.fullmatch(part) for part in parts):
        name = ".".join(str(int(part)) for part in parts)
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name
    return str(getattr(address, "ipv4_mapped", None) or address)


def _readable_key(path: Path | None) -> EllipticCurvePrivateKey | None:
    """The key in that file; None where there is none that can be used."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    if path is None:
        return None
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        return None
    return found if isinstance(found, ec.EllipticCurvePrivateKey) else None


def checked_pair(certificate: bytes, key: bytes) -> HeldCertificate:
    """The certificate of this key, both PEM.

    Raises ValueError when it is of another one or cannot be read, and TypeError for an encrypted key.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    with x509_faults_as_value_errors():
        found = _described(certificate)
        mine = serialization.load_pem_private_key(key, None).public_key()
        if x509.load_pem_x509_certificate(certificate).public_key() != mine:
            raise ValueError("the certificate is for another key")
    return found


def _described(content: bytes) -> HeldCertificate:
    from cryptography import x509

    made = x509.load_pem_x509_certificate(content)
    try:
        extension = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [*extension.get_values_for_type(x509.DNSName)]
        names += [str(each) for each in extension.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        names = []
    begins, ends = (int(each.timestamp()) * 10**9 for each in (made.not_valid_before_utc, made.not_valid_after_utc))
    return HeldCertificate(tuple(sorted(names)), begins, ends)
