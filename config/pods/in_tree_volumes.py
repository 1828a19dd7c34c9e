"""Cloud disks as storage drivers know them: the kinds that Kubernetes' own code no longer serves.

See spec 8.2. Pure.

The driver of the cloud serves such a persistent volume, or a pod's own volume, under a handle. The handle is made of
the old fields. Everybody makes the same one, since controllers attach the volume by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from config.objects import (
    CSIPersistentVolumeSource,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeSpec,
    SecretReference,
    Volume,
)
from config.pods.volume_sources import VOLUME_SOURCES

ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
ZONE_SEPARATOR = "__"
UNSPECIFIED = "UNSPECIFIED"
_NONE: Mapping[str, str] = {}
_AZURE_ACCOUNT = re.compile("azure-storage-account-(.+)-secret")


class _About(msgspec.Struct, frozen=True):
    """Further inputs of volume handles, from the persistent volume or the pod.

    `namespace`: of the claim, or of the pod.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def _gce_disk(source: Any, about: _About) -> CSIPersistentVolumeSource:
    zones = next((about.labels[name] for name in ZONE_LABELS if about.labels.get(name)), "")
    if ZONE_SEPARATOR in zones:
        place = f"regions/{zones.split(ZONE_SEPARATOR)[0].rpartition('-')[0]}"
    else:
        place = f"zones/{zones or UNSPECIFIED}"
    handle = f"projects/{UNSPECIFIED}/{place}/disks/{source.pd_name}"
    return _driven("pd.csi.storage.gke.io", handle, source, _partition(source))


def _aws_disk(source: Any, _: _About) -> CSIPersistentVolumeSource:
    handle = source.volume_id.rpartition("/")[2]  # aws://zone/vol-1
    return _driven("ebs.csi.aws.com", handle, source, _partition(source))


def _cinder(source: Any, _: _About) -> CSIPersistentVolumeSource:
    return _driven("cinder.csi.openstack.org", source.volume_id, source)


def _azure_disk(source: Any, _: _About) -> CSIPersistentVolumeSource:
    attributes = {"kind": source.kind or "Managed"}
    if source.caching_mode:
        attributes["cachingMode"] = source.caching_mode
    if source.fs_type:
        attributes["fsType"] = source.fs_type
    return _driven("disk.csi.azure.com", source.disk_uri, source, attributes)


def _azure_file(source: Any, about: _About) -> CSIPersistentVolumeSource:
    match = _AZURE_ACCOUNT.fullmatch(source.secret_name)
    account = match.group(1) if match is not None else source.secret_name
    group = about.annotations.get("kubernetes.io/azure-file-resource-group", "")
    namespace = getattr(source, "secret_namespace", None) or about.namespace or "default"
    handle = f"{group}#{account}#{source.share_name}#{about.name}#{namespace}"
    driven = _driven("file.csi.azure.com", handle, source, {"shareName": source.share_name})
    secret = SecretReference(name=source.secret_name, namespace=namespace)
    return msgspec.structs.replace(driven, node_stage_secret_ref=secret)


def _vsphere(source: Any, _: _About) -> CSIPersistentVolumeSource:
    policy = {"storagepolicyname": source.storage_policy_name} if source.storage_policy_name else {}
    return _driven("csi.vsphere.vmware.com", source.volume_path, source, policy)


def _portworx(source: Any, _: _About) -> CSIPersistentVolumeSource:
    return _driven("pxd.portworx.com", source.volume_id, source)


def _driven(driver: str, handle: str, source: Any, attributes: Mapping[str, str] = _NONE) -> CSIPersistentVolumeSource:
    """The old source under this handle; not every kind has a type of file system, or can be read only."""
    return CSIPersistentVolumeSource(
        driver=driver,
        volume_handle=handle,
        fs_type=getattr(source, "fs_type", None),
        read_only=getattr(source, "read_only", None),
        volume_attributes=attributes,
    )


def _partition(source: Any) -> Mapping[str, str]:
    return {"partition": str(source.partition)} if source.partition else {}


_DRIVEN: Mapping[str, Callable[[Any, _About], CSIPersistentVolumeSource]] = {
    "aws_elastic_block_store": _aws_disk,
    "azure_disk": _azure_disk,
    "azure_file": _azure_file,
    "cinder": _cinder,
    "gce_persistent_disk": _gce_disk,
    "portworx_volume": _portworx,
    "vsphere_volume": _vsphere,
}
"""The driver's view of a source, by kind."""

MIGRATED_PLUGINS = tuple(sorted(VOLUME_SOURCES[name].plugin for name in _DRIVEN))
"""The kinds that are left to drivers, as CSINode lists them."""


def is_in_tree(volume: Volume) -> bool:
    """Whether a pod's volume is of such a kind."""
    return any(getattr(volume, name) is not None for name in _DRIVEN)


def translated(persistent: PersistentVolume) -> PersistentVolume:
    """The same volume with a driver as its source; as it is when it is of another kind."""
    spec, meta = persistent.spec, persistent.metadata
    for name, read in _DRIVEN.items():
        source = getattr(spec, name)
        if source is not None:
            namespace = spec.claim_ref.namespace or "" if spec.claim_ref is not None else ""
            driven = read(source, _About(meta.name, namespace, meta.labels, meta.annotations))
            return msgspec.structs.replace(persistent, spec=msgspec.structs.replace(spec, csi=driven, **{name: None}))
    return persistent


def driven_volume(volume: Volume, namespace: str) -> PersistentVolume | None:
    """A pod's own volume as if it were a persistent one of its driver; None when it is of another kind."""
    for name, read in _DRIVEN.items():
        source = getattr(volume, name)
        if source is not None:
            driven = read(source, _About(volume.name, namespace, {}, {}))
            spec = PersistentVolumeSpec(csi=driven, access_modes=("ReadWriteOnce",))
            return PersistentVolume(metadata=ObjectMeta(name=volume.name), spec=spec)
    return None
