"""Requests for certificates. `request` and `certificate` are the base64 of PEM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class CertificateSigningRequestCondition(ApiStruct, frozen=True):
    """certificates/v1 CertificateSigningRequestCondition."""

    last_transition_time: str | None = None
    last_update_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class CertificateSigningRequestSpec(ApiStruct, frozen=True):
    """certificates/v1 CertificateSigningRequestSpec."""

    expiration_seconds: int | None = None
    extra: Mapping[str, tuple[str, ...]] = {}
    groups: tuple[str, ...] = ()
    request: str = written("")
    signer_name: str = written("")
    uid: str | None = None
    usages: tuple[str, ...] = ()
    username: str | None = None


class CertificateSigningRequestStatus(ApiStruct, frozen=True):
    """certificates/v1 CertificateSigningRequestStatus."""

    certificate: str | None = None
    conditions: tuple[CertificateSigningRequestCondition, ...] = ()


class CertificateSigningRequest(ApiObject, frozen=True):
    """certificates/v1 CertificateSigningRequest."""

    api_version: Literal["certificates.k8s.io/v1"] = written("certificates.k8s.io/v1")
    kind: Literal["CertificateSigningRequest"] = written("CertificateSigningRequest")
    metadata: ObjectMeta = ObjectMeta()
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus | None = None
