"""The volumes of a pod and their sources. Most storage systems are handed to CSI drivers today."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from config.objects.base import ApiStruct, Int32, Quantity, written
from config.objects.config_volumes import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
)
from config.objects.meta import ObjectMeta
from config.objects.resources import VolumeResourceRequirements
from config.objects.selectors import (
    LabelSelector,
    LocalObjectReference,
    TypedLocalObjectReference,
    TypedObjectReference,
)


class AWSElasticBlockStoreVolumeSource(ApiStruct, frozen=True):
    """core/v1 AWSElasticBlockStoreVolumeSource."""

    fs_type: str | None = None
    partition: Int32 | None = None
    read_only: bool | None = None
    volume_id: str = written("", "volumeID")


class AzureDiskVolumeSource(ApiStruct, frozen=True):
    """core/v1 AzureDiskVolumeSource."""

    caching_mode: str | None = None
    disk_name: str = written("")
    disk_uri: str = written("", "diskURI")
    fs_type: str | None = None
    kind: str | None = None
    read_only: bool | None = None


class AzureFileVolumeSource(ApiStruct, frozen=True):
    """core/v1 AzureFileVolumeSource."""

    read_only: bool | None = None
    secret_name: str = written("")
    share_name: str = written("")


class CephFSVolumeSource(ApiStruct, frozen=True):
    """core/v1 CephFSVolumeSource."""

    monitors: tuple[str, ...] = ()
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class CinderVolumeSource(ApiStruct, frozen=True):
    """core/v1 CinderVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_id: str = written("", "volumeID")


class CSIVolumeSource(ApiStruct, frozen=True):
    """core/v1 CSIVolumeSource."""

    driver: str = written("")
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: Mapping[str, str] = {}


class FCVolumeSource(ApiStruct, frozen=True):
    """core/v1 FCVolumeSource."""

    fs_type: str | None = None
    lun: Int32 | None = None
    read_only: bool | None = None
    target_wwns: tuple[str, ...] = field(default=(), name="targetWWNs")
    wwids: tuple[str, ...] = ()


class FlexVolumeSource(ApiStruct, frozen=True):
    """core/v1 FlexVolumeSource."""

    driver: str = written("")
    fs_type: str | None = None
    options: Mapping[str, str] = {}
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(ApiStruct, frozen=True):
    """core/v1 FlockerVolumeSource."""

    dataset_name: str | None = None
    dataset_uuid: str | None = field(default=None, name="datasetUUID")


class GCEPersistentDiskVolumeSource(ApiStruct, frozen=True):
    """core/v1 GCEPersistentDiskVolumeSource."""

    fs_type: str | None = None
    partition: Int32 | None = None
    pd_name: str = written("")
    read_only: bool | None = None


class GitRepoVolumeSource(ApiStruct, frozen=True):
    """core/v1 GitRepoVolumeSource."""

    directory: str | None = None
    repository: str = written("")
    revision: str | None = None


class GlusterfsVolumeSource(ApiStruct, frozen=True):
    """core/v1 GlusterfsVolumeSource."""

    endpoints: str = written("")
    path: str = written("")
    read_only: bool | None = None


class ISCSIVolumeSource(ApiStruct, frozen=True):
    """core/v1 ISCSIVolumeSource."""

    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iqn: str = written("")
    iscsi_interface: str | None = None
    lun: Int32 = written(0)
    portals: tuple[str, ...] = ()
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    target_portal: str = written("")


class NFSVolumeSource(ApiStruct, frozen=True):
    """core/v1 NFSVolumeSource."""

    path: str = written("")
    read_only: bool | None = None
    server: str = written("")


class PhotonPersistentDiskVolumeSource(ApiStruct, frozen=True):
    """core/v1 PhotonPersistentDiskVolumeSource."""

    fs_type: str | None = None
    pd_id: str = written("", "pdID")


class PortworxVolumeSource(ApiStruct, frozen=True):
    """core/v1 PortworxVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    volume_id: str = written("", "volumeID")


class QuobyteVolumeSource(ApiStruct, frozen=True):
    """core/v1 QuobyteVolumeSource."""

    group: str | None = None
    read_only: bool | None = None
    registry: str = written("")
    tenant: str | None = None
    user: str | None = None
    volume: str = written("")


class RBDVolumeSource(ApiStruct, frozen=True):
    """core/v1 RBDVolumeSource."""

    fs_type: str | None = None
    image: str = written("")
    keyring: str | None = None
    monitors: tuple[str, ...] = ()
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None


class ScaleIOVolumeSource(ApiStruct, frozen=True):
    """core/v1 ScaleIOVolumeSource."""

    fs_type: str | None = None
    gateway: str = written("")
    protection_domain: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    system: str = written("")
    volume_name: str | None = None


class StorageOSVolumeSource(ApiStruct, frozen=True):
    """core/v1 StorageOSVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class VsphereVirtualDiskVolumeSource(ApiStruct, frozen=True):
    """core/v1 VsphereVirtualDiskVolumeSource."""

    fs_type: str | None = None
    storage_policy_id: str | None = field(default=None, name="storagePolicyID")
    storage_policy_name: str | None = None
    volume_path: str = written("")


class EmptyDirVolumeSource(ApiStruct, frozen=True):
    """core/v1 EmptyDirVolumeSource."""

    medium: str | None = None
    size_limit: Quantity | None = None


class HostPathVolumeSource(ApiStruct, frozen=True):
    """core/v1 HostPathVolumeSource."""

    path: str = written("")
    type: str | None = None


class ImageVolumeSource(ApiStruct, frozen=True):
    """core/v1 ImageVolumeSource."""

    pull_policy: str | None = None
    reference: str | None = None


class PersistentVolumeClaimVolumeSource(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeClaimVolumeSource."""

    claim_name: str = written("")
    read_only: bool | None = None


class PersistentVolumeClaimSpec(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeClaimSpec."""

    access_modes: tuple[str, ...] = ()
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimTemplate(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeClaimTemplate."""

    metadata: ObjectMeta | None = None
    spec: PersistentVolumeClaimSpec | None = None


class EphemeralVolumeSource(ApiStruct, frozen=True):
    """core/v1 EphemeralVolumeSource."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(ApiStruct, frozen=True):
    """core/v1 Volume."""

    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name="downwardAPI")
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    name: str = written("")
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = field(default=None, name="scaleIO")
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
