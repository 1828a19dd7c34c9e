"""Trust anchors of the cluster: ClusterTrustBundle of certificates.k8s.io."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


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
