"""Persistent volumes, claims, attachments to nodes, and what nodes and drivers say of each other.

The source of a persistent volume mostly differs from that of a pod's own volume in the namespace of its secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Int32, Int64, Quantity, written
from config.objects.meta import ObjectMeta
from config.objects.selectors import NodeSelector, ObjectReference, SecretReference
from config.objects.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GlusterfsVolumeSource,
    HostPathVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PersistentVolumeClaimSpec,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class AzureFilePersistentVolumeSource(AzureFileVolumeSource, frozen=True):
    """core/v1 AzureFilePersistentVolumeSource."""

    secret_namespace: str | None = None


class CephFSPersistentVolumeSource(CephFSVolumeSource, frozen=True):
    """core/v1 CephFSPersistentVolumeSource."""

    secret_ref: SecretReference | None = None


class CinderPersistentVolumeSource(CinderVolumeSource, frozen=True):
    """core/v1 CinderPersistentVolumeSource."""

    secret_ref: SecretReference | None = None


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


class FlexPersistentVolumeSource(FlexVolumeSource, frozen=True):
    """core/v1 FlexPersistentVolumeSource."""

    secret_ref: SecretReference | None = None


class GlusterfsPersistentVolumeSource(GlusterfsVolumeSource, frozen=True):
    """core/v1 GlusterfsPersistentVolumeSource."""

    endpoints_namespace: str | None = None


class ISCSIPersistentVolumeSource(ISCSIVolumeSource, frozen=True):
    """core/v1 ISCSIPersistentVolumeSource."""

    secret_ref: SecretReference | None = None


class LocalVolumeSource(ApiStruct, frozen=True):
    """core/v1 LocalVolumeSource."""

    fs_type: str | None = None
    path: str = written("")


class RBDPersistentVolumeSource(RBDVolumeSource, frozen=True):
    """core/v1 RBDPersistentVolumeSource."""

    secret_ref: SecretReference | None = None


class ScaleIOPersistentVolumeSource(ScaleIOVolumeSource, frozen=True):
    """core/v1 ScaleIOPersistentVolumeSource."""

    secret_ref: SecretReference = SecretReference()


class StorageOSPersistentVolumeSource(ApiStruct, frozen=True):
    """core/v1 StorageOSPersistentVolumeSource."""

    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


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

    error_code: Int32 | None = None
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


class VolumeNodeResources(ApiStruct, frozen=True):
    """storage/v1 VolumeNodeResources."""

    count: Int32 | None = None


class CSINodeDriver(ApiStruct, frozen=True):
    """storage/v1 CSINodeDriver."""

    allocatable: VolumeNodeResources | None = None
    name: str = written("")
    node_id: str = written("", "nodeID")
    topology_keys: tuple[str, ...] = ()


class CSINodeSpec(ApiStruct, frozen=True):
    """storage/v1 CSINodeSpec."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiObject, frozen=True):
    """storage/v1 CSINode."""

    api_version: Literal["storage.k8s.io/v1"] = written("storage.k8s.io/v1")
    kind: Literal["CSINode"] = written("CSINode")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIServiceAccountTokenRequest(ApiStruct, frozen=True):
    """storage/v1 CSIServiceAccountTokenRequest."""

    audience: str = written("")
    expiration_seconds: Int64 | None = None


class CSIDriverSpec(ApiStruct, frozen=True):
    """storage/v1 CSIDriverSpec."""

    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: Int64 | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: tuple[CSIServiceAccountTokenRequest, ...] = ()
    volume_lifecycle_modes: tuple[str, ...] = ()


class CSIDriver(ApiObject, frozen=True):
    """storage/v1 CSIDriver."""

    api_version: Literal["storage.k8s.io/v1"] = written("storage.k8s.io/v1")
    kind: Literal["CSIDriver"] = written("CSIDriver")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()
