"""Trust anchors of the cluster, and certificates of pods (certificates.k8s.io).

The requests for certificates of nodes are elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Int32, written
from config.objects.meta import Condition, ObjectMeta


class ClusterTrustBundleSpec(ApiStruct, frozen=True):
    """certificates/v1beta1 ClusterTrustBundleSpec. `trust_bundle`: PEM blocks."""

    signer_name: str | None = None
    trust_bundle: str = written("")


class ClusterTrustBundle(ApiObject, frozen=True):
    """certificates/v1beta1 ClusterTrustBundle."""

    api_version: Literal["certificates.k8s.io/v1beta1"] = written("certificates.k8s.io/v1beta1")
    kind: Literal["ClusterTrustBundle"] = written("ClusterTrustBundle")
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterTrustBundleSpec = ClusterTrustBundleSpec()


class PodCertificateRequestSpec(ApiStruct, frozen=True):
    """certificates/v1beta1 PodCertificateRequestSpec. `pkix_public_key`, `proof_of_possession`: base64."""

    max_expiration_seconds: Int32 | None = None
    node_name: str = written("")
    node_uid: str = field(default="", name="nodeUID")
    pkix_public_key: str = field(default="", name="pkixPublicKey")
    pod_name: str = written("")
    pod_uid: str = field(default="", name="podUID")
    proof_of_possession: str = written("")
    service_account_name: str = written("")
    service_account_uid: str = field(default="", name="serviceAccountUID")
    signer_name: str = written("")
    unverified_user_annotations: Mapping[str, str] = {}


class PodCertificateRequestStatus(ApiStruct, frozen=True):
    """certificates/v1beta1 PodCertificateRequestStatus."""

    begin_refresh_at: str | None = None
    certificate_chain: str | None = None
    conditions: tuple[Condition, ...] = ()
    not_after: str | None = None
    not_before: str | None = None


class PodCertificateRequest(ApiObject, frozen=True):
    """certificates/v1beta1 PodCertificateRequest."""

    api_version: Literal["certificates.k8s.io/v1beta1"] = written("certificates.k8s.io/v1beta1")
    kind: Literal["PodCertificateRequest"] = written("PodCertificateRequest")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodCertificateRequestSpec = PodCertificateRequestSpec()
    status: PodCertificateRequestStatus | None = None
