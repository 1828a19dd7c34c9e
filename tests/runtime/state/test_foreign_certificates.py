"""Certificates that the library refuses with errors of its own classes."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from config.credentials.kubeconfig import Pem
from runtime.metrics.certificates import seconds_left
from runtime.state.certificate_keys import LocalCertificateKeys, current_file
from simulation.apiserver.front.tls import Authority

VERSION_3 = b"\xa0\x03\x02\x01\x02"
VERSION_11 = b"\xa0\x03\x02\x01\x0a"


@pytest.fixture
def damaged() -> bytes:
    """A certificate of a version that does not exist."""
    pem = Authority(10**18).for_client("node", "system:nodes").certificate
    inner = base64.b64decode("".join(pem.splitlines()[1:-1]))
    text = base64.encodebytes(inner.replace(VERSION_3, VERSION_11, 1))
    return b"-----BEGIN CERTIFICATE-----\n" + text + b"-----END CERTIFICATE-----\n"


def test_a_foreign_certificate_on_disk_counts_as_none(damaged: bytes, tmp_path: Path):
    Path(current_file(str(tmp_path), "kubelet-server")).write_bytes(damaged)
    assert LocalCertificateKeys(str(tmp_path), "kubelet-server").held() is None
    assert seconds_left(Pem(data=damaged.decode())) == float("inf")


def test_a_foreign_certificate_from_the_api_server_is_refused_with_the_reason(damaged: bytes, tmp_path: Path):
    keys = LocalCertificateKeys(str(tmp_path), "kubelet-server")
    keys.request("system:node:a", ["a"])
    with pytest.raises(ValueError, match="not a valid X509 version"):
        keys.accept(damaged)
    assert keys.held() is None
