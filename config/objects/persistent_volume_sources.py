"""Where the bytes of persistent volumes are, where that differs from a pod's own volumes.

The difference is mostly the namespace of a secret.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.objects.base import ApiStruct, written
from config.objects.references import ObjectReference, SecretReference


class AzureFilePersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 AzureFilePersistentVolumeSource."""

    read_only: bool | None = None
    secret_name: str = written("")
    secret_namespace: str | None = None
    share_name: str = written("")


class CephFSPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 CephFSPersistentVolumeSource."""

    monitors: tuple[str, ...] = ()
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None


class CinderPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 CinderPersistentVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    volume_id: str = written("", "volumeID")


class CSIPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 CSIPersistentVolumeSource."""

    controller_expand_secret_ref: SecretReference | None = None
    controller_publish_secret_ref: SecretReference | None = None
    driver: str = written("")
    fs_type: str | None = None
    node_expand_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    read_only: bool | None = None
    volume_attributes: Mapping[str, str] = {}
    volume_handle: str = written("")


class FlexPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 FlexPersistentVolumeSource."""

    driver: str = written("")
    fs_type: str | None = None
    options: Mapping[str, str] = {}
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class GlusterfsPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 GlusterfsPersistentVolumeSource."""

    endpoints: str = written("")
    endpoints_namespace: str | None = None
    path: str = written("")
    read_only: bool | None = None


class ISCSIPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 ISCSIPersistentVolumeSource."""

    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str = written("")
    iscsi_interface: str | None = None
    lun: int = written(0)
    portals: tuple[str, ...] = ()
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    target_portal: str = written("")


class LocalVolumeSource(ApiStruct, frozen=True):
    """core/v1 LocalVolumeSource."""

    fs_type: str | None = None
    path: str = written("")


class RBDPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 RBDPersistentVolumeSource."""

    fs_type: str | None = None
    image: str = written("")
    keyring: str | None = None
    monitors: tuple[str, ...] = ()
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None


class ScaleIOPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 ScaleIOPersistentVolumeSource."""

    fs_type: str | None = None
    gateway: str = written("")
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference = SecretReference()
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str = written("")
    volume_name: str | None = None


class StorageOSPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 StorageOSPersistentVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None
