"""Certificates of the embedded API server, and the authority that signs them.

Each server makes a new authority.

Owns keys in memory and the files that `ssl` and kubeconfigs need, in one directory, readable by their owner alone.
Writing the files may raise OSError.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from runtime.io.x509_faults import x509_faults_as_value_errors

LASTS = timedelta(days=365)
SECOND_NS = 10**9
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")

_NOT_FOR = (
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "encipher_only",
    "decipher_only",
)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key, both PEM."""

    certificate: str
    key: str


class Authority:
    """`wall_ns`: the time of day. Certificates are valid from an hour before, for clocks that lag."""

    def __init__(self, wall_ns: int) -> None:
        self._begins = datetime.fromtimestamp(wall_ns // SECOND_NS, UTC) - timedelta(hours=1)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "actorlet simulated API server")])
        public = self._key.public_key()
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, **dict.fromkeys(_NOT_FOR, False)
        )
        own = (
            self._builder(self._name, public)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = own.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key(self) -> str:
        """Its private key as PEM, for another program that signs with it."""
        return _pem_of(self._key)

    def for_server(self, *hosts: str) -> Certificate:
        """A certificate for a server at these names and addresses."""
        names: list[x509.GeneralName] = []
        for host in hosts:
            try:
                names.append(x509.IPAddress(ipaddress.ip_address(host)))
            except ValueError:
                names.append(x509.DNSName(host))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def for_client(self, name: str, *groups: str) -> Certificate:
        """A certificate for a client with the user `name` and these groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def client_file(self, directory: Path, name: str, *groups: str) -> str:
        """Write a client certificate with its key into one file of the directory; returns the path.

        Raises OSError.
        """
        made = self.for_client(name, *groups)
        path = directory / f"{name}.pem"
        write_key(path, made.certificate + made.key)
        return str(path)

    def sign(self, request: bytes, *, server: bool, wall_ns: int, lasts: timedelta = LASTS) -> str:
        """Sign a certificate request; returns the certificate as PEM with its subject, names and key. Raises
        ValueError."""
        with x509_faults_as_value_errors():
            asked = x509.load_pem_x509_csr(request)
            key = asked.public_key()
        if not asked.is_signature_valid or not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
            raise ValueError("the request is not signed with its own key, or its key is of no known kind")
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        begins = datetime.fromtimestamp(wall_ns // SECOND_NS, UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(asked.subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(begins + lasts)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        for each in asked.extensions:
            if isinstance(each.value, x509.SubjectAlternativeName):
                builder = builder.add_extension(each.value, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def server_context(self, directory: Path, *hosts: str) -> ssl.SSLContext:
        """The TLS context of `HttpFront`, which accepts client certificates of this authority. Raises OSError.

        Writes `ca.crt`, `apiserver.crt` and `apiserver.key` into the directory, which is created.
        """
        certificate = self.for_server(*SERVER_NAMES, "127.0.0.1", "::1", *hosts)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (directory / "ca.crt").write_text(self.certificate)
        chain, key = directory / "apiserver.crt", directory / "apiserver.key"
        chain.write_text(certificate.certificate)
        write_key(key, certificate.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(chain, key)
        context.load_verify_locations(cadata=self.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _issue(self, subject: x509.Name, usage: x509.ObjectIdentifier, names: list[x509.GeneralName]) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            self._builder(subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(authority, critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Certificate(signed.public_bytes(serialization.Encoding.PEM).decode(), _pem_of(key))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begins)
            .not_valid_after(self._begins + LASTS)
        )


def _pem_of(key: ec.EllipticCurvePrivateKey) -> str:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def write_key(path: Path, text: str) -> None:
    """Write a file that only its owner may read. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
