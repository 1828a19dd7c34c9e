"""Volumes made of configuration: configMap, secret, downwardAPI, projected."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from config.objects.base import ApiStruct, Int32, Int64, written
from config.objects.environment import ObjectFieldSelector, ResourceFieldSelector
from config.objects.selectors import LabelSelector


class KeyToPath(ApiStruct, frozen=True):
    """core/v1 KeyToPath."""

    key: str = written("")
    mode: Int32 | None = None
    path: str = written("")


class ConfigMapVolumeSource(ApiStruct, frozen=True):
    """core/v1 ConfigMapVolumeSource."""

    default_mode: Int32 | None = None
    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class SecretVolumeSource(ApiStruct, frozen=True):
    """core/v1 SecretVolumeSource."""

    default_mode: Int32 | None = None
    items: tuple[KeyToPath, ...] = ()
    optional: bool | None = None
    secret_name: str | None = None


class DownwardAPIVolumeFile(ApiStruct, frozen=True):
    """core/v1 DownwardAPIVolumeFile."""

    field_ref: ObjectFieldSelector | None = None
    mode: Int32 | None = None
    path: str = written("")
    resource_field_ref: ResourceFieldSelector | None = None


class DownwardAPIVolumeSource(ApiStruct, frozen=True):
    """core/v1 DownwardAPIVolumeSource."""

    default_mode: Int32 | None = None
    items: tuple[DownwardAPIVolumeFile, ...] = ()


class ConfigMapProjection(ApiStruct, frozen=True):
    """core/v1 ConfigMapProjection."""

    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class SecretProjection(ApiStruct, frozen=True):
    """core/v1 SecretProjection."""

    items: tuple[KeyToPath, ...] = ()
    name: str | None = None
    optional: bool | None = None


class DownwardAPIProjection(ApiStruct, frozen=True):
    """core/v1 DownwardAPIProjection."""

    items: tuple[DownwardAPIVolumeFile, ...] = ()


class ServiceAccountTokenProjection(ApiStruct, frozen=True):
    """core/v1 ServiceAccountTokenProjection."""

    audience: str | None = None
    expiration_seconds: Int64 | None = None
    path: str = written("")


class ClusterTrustBundleProjection(ApiStruct, frozen=True):
    """core/v1 ClusterTrustBundleProjection."""

    label_selector: LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    path: str = written("")
    signer_name: str | None = None


class PodCertificateProjection(ApiStruct, frozen=True):
    """core/v1 PodCertificateProjection."""

    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    key_type: str = written("")
    max_expiration_seconds: Int32 | None = None
    signer_name: str = written("")
    user_annotations: Mapping[str, str] = {}


class VolumeProjection(ApiStruct, frozen=True):
    """core/v1 VolumeProjection."""

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = field(default=None, name="downwardAPI")
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class ProjectedVolumeSource(ApiStruct, frozen=True):
    """core/v1 ProjectedVolumeSource."""

    default_mode: Int32 | None = None
    sources: tuple[VolumeProjection, ...] = ()
