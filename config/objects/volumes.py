"""The volumes of a pod."""

from __future__ import annotations

from msgspec import field

from config.objects.base import ApiStruct, Quantity, written
from config.objects.config_volumes import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
)
from config.objects.meta import ObjectMeta
from config.objects.network_volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from config.objects.resources import VolumeResourceRequirements
from config.objects.selectors import LabelSelector, TypedLocalObjectReference, TypedObjectReference


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
