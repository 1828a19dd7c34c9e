"""Who somebody is: service accounts, tokens and their review, and requests for certificates.

TokenRequest and TokenReview are questions: the API server answers them with the same kind and a status. In a
certificate's objects, `request` and `certificate` are the base64 of PEM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, ApiStruct, Hidden, Int32, Int64, written
from config.objects.meta import ObjectMeta
from config.objects.selectors import LocalObjectReference, ObjectReference


class ServiceAccount(ApiObject, frozen=True):
    """core/v1 ServiceAccount."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["ServiceAccount"] = written("ServiceAccount")
    metadata: ObjectMeta = ObjectMeta()
    automount_service_account_token: bool | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    secrets: tuple[ObjectReference, ...] = ()


class BoundObjectReference(ApiStruct, frozen=True):
    """authentication/v1 BoundObjectReference."""

    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class TokenRequestSpec(ApiStruct, frozen=True):
    """authentication/v1 TokenRequestSpec."""

    audiences: tuple[str, ...] = ()
    bound_object_ref: BoundObjectReference | None = None
    expiration_seconds: Int64 | None = None


class TokenRequestStatus(Hidden, ApiStruct, frozen=True):
    """authentication/v1 TokenRequestStatus."""

    expiration_timestamp: str | None = None
    token: str | None = None


class TokenRequest(ApiObject, frozen=True):
    """authentication/v1 TokenRequest."""

    api_version: Literal["authentication.k8s.io/v1"] = written("authentication.k8s.io/v1")
    kind: Literal["TokenRequest"] = written("TokenRequest")
    metadata: ObjectMeta = ObjectMeta()
    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus | None = None


class UserInfo(ApiStruct, frozen=True):
    """authentication/v1 UserInfo."""

    extra: Mapping[str, tuple[str, ...]] = {}
    groups: tuple[str, ...] = ()
    uid: str | None = None
    username: str | None = None


class TokenReviewSpec(Hidden, ApiStruct, frozen=True):
    """authentication/v1 TokenReviewSpec."""

    audiences: tuple[str, ...] = ()
    token: str | None = None


class TokenReviewStatus(ApiStruct, frozen=True):
    """authentication/v1 TokenReviewStatus."""

    audiences: tuple[str, ...] = ()
    authenticated: bool | None = None
    error: str | None = None
    user: UserInfo | None = None


class TokenReview(ApiObject, frozen=True):
    """authentication/v1 TokenReview."""

    api_version: Literal["authentication.k8s.io/v1"] = written("authentication.k8s.io/v1")
    kind: Literal["TokenReview"] = written("TokenReview")
    metadata: ObjectMeta = ObjectMeta()
    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus | None = None


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

    expiration_seconds: Int32 | None = None
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
