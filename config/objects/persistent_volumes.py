"""Persistent volumes, claims to them, and their attachment to nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Quantity, written
from config.objects.meta import ObjectMeta
from config.objects.network_volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from config.objects.persistent_volume_sources import (
    AzureFilePersistentVolumeSource,
    CephFSPersistentVolumeSource,
    CinderPersistentVolumeSource,
    CSIPersistentVolumeSource,
    FlexPersistentVolumeSource,
    GlusterfsPersistentVolumeSource,
    ISCSIPersistentVolumeSource,
    LocalVolumeSource,
    RBDPersistentVolumeSource,
    ScaleIOPersistentVolumeSource,
    StorageOSPersistentVolumeSource,
)
from config.objects.references import ObjectReference
from config.objects.selectors import NodeSelector
from config.objects.volumes import HostPathVolumeSource, PersistentVolumeClaimSpec


class VolumeNodeAffinity(ApiStruct, frozen=True):
    """core/v1 VolumeNodeAffinity."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeSpec."""

    access_modes: tuple[str, ...] = ()
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    capacity: Mapping[str, Quantity] = {}
    cephfs: CephFSPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    claim_ref: ObjectReference | None = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    mount_options: tuple[str, ...] = ()
    nfs: NFSVolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = field(default=None, name="scaleIO")
    storage_class_name: str | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeStatus."""

    last_phase_transition_time: str | None = None
    message: str | None = None
    phase: str | None = None
    reason: str | None = None


class PersistentVolume(ApiObject, frozen=True):
    """core/v1 PersistentVolume."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["PersistentVolume"] = written("PersistentVolume")
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus | None = None


class PersistentVolumeClaimCondition(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeClaimCondition."""

    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class ModifyVolumeStatus(ApiStruct, frozen=True):
    """core/v1 ModifyVolumeStatus."""

    status: str = written("")
    target_volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(ApiStruct, frozen=True):
    """core/v1 PersistentVolumeClaimStatus."""

    access_modes: tuple[str, ...] = ()
    allocated_resource_statuses: Mapping[str, str] = {}
    allocated_resources: Mapping[str, Quantity] = {}
    capacity: Mapping[str, Quantity] = {}
    conditions: tuple[PersistentVolumeClaimCondition, ...] = ()
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: str | None = None


class PersistentVolumeClaim(ApiObject, frozen=True):
    """core/v1 PersistentVolumeClaim."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["PersistentVolumeClaim"] = written("PersistentVolumeClaim")
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus | None = None


class VolumeError(ApiStruct, frozen=True):
    """storage/v1 VolumeError."""

    error_code: int | None = None
    message: str | None = None
    time: str | None = None


class VolumeAttachmentSource(ApiStruct, frozen=True):
    """storage/v1 VolumeAttachmentSource."""

    inline_volume_spec: PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(ApiStruct, frozen=True):
    """storage/v1 VolumeAttachmentSpec."""

    attacher: str = written("")
    node_name: str = written("")
    source: VolumeAttachmentSource | None = None


class VolumeAttachmentStatus(ApiStruct, frozen=True):
    """storage/v1 VolumeAttachmentStatus."""

    attach_error: VolumeError | None = None
    attached: bool = written(False)
    attachment_metadata: Mapping[str, str] = {}
    detach_error: VolumeError | None = None


class VolumeAttachment(ApiObject, frozen=True):
    """storage/v1 VolumeAttachment."""

    api_version: Literal["storage.k8s.io/v1"] = written("storage.k8s.io/v1")
    kind: Literal["VolumeAttachment"] = written("VolumeAttachment")
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus | None = None
