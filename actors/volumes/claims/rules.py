"""Decides what to mount for a claimed volume, or why not (spec 8.3). Pure.

It reads the pod, its volume, the claim and the persistent volume.

Every refusal is a sentence for the pod's events. Most refusals are temporary: a claim is bound, a node gets its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.objects import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from config.pods.in_tree_volumes import translated
from config.pods.node_selection import in_terms
from config.pods.volume_sources import VOLUME_SOURCES, source_of
from config.values.quantity import QuantityError, parse_quantity
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.csi_layout import PLUGIN as CSI
from runtime.volumes.csi_layout import device_name

PROTECTION = "kubernetes.io/pvc-protection"
BOUND = "Bound"
BLOCK = "Block"
GROUP = "pv.beta.kubernetes.io/gid"
STORAGE = "storage"


def claim_name(pod: Pod, volume: Volume) -> str:
    """The claim of a volume, or "". The claim of an ephemeral volume is named after pod and volume."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else ""


def claim_refusal(pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> str:
    """Why the claim cannot be used for this volume; empty when it can."""
    meta = claim.metadata
    if volume.ephemeral is not None:
        owners = [each for each in meta.owner_references if each.controller]
        if not any(each.kind == "Pod" and each.uid == pod.metadata.uid for each in owners):
            name = pod.metadata.name
            return f"PVC {meta.namespace}/{meta.name} was not created for pod {name} (pod is not owner)"
    if meta.deletion_timestamp is not None and PROTECTION not in meta.finalizers:
        return f"PVC {meta.namespace}/{meta.name} is being deleted"
    phase = claim.status.phase if claim.status is not None else None
    if phase != BOUND or not claim.spec.volume_name:
        return f"PVC {meta.namespace}/{meta.name} is not bound: {_why_unbound(claim, phase)}"
    return ""


def _why_unbound(claim: PersistentVolumeClaim, phase: str | None) -> str:
    """As far as the claim shows it: which classes and volumes there are, a node may not ask."""
    spec = claim.spec
    if phase == "Lost":
        return f"its PersistentVolume {spec.volume_name} is gone"
    if spec.volume_name:
        return f"it waits for the PersistentVolume {spec.volume_name}, which it names"
    if not spec.storage_class_name:
        return "it names no StorageClass, so it waits for a PersistentVolume that fits"
    return f"it waits for a volume of the StorageClass {spec.storage_class_name}"


def volume_refusal(claim: PersistentVolumeClaim, persistent: PersistentVolume) -> str:
    """Why the persistent volume does not belong to the claim; empty when it does."""
    name, holder = persistent.metadata.name, persistent.spec.claim_ref
    if holder is None:
        return f"PV {name} has no claim (claimRef is empty)"
    if holder.uid != claim.metadata.uid:
        return (
            f"PV {name} is bound to another claim: its claimRef has the UID {holder.uid or 'none'}, "
            f"PVC {claim.metadata.namespace}/{claim.metadata.name} has {claim.metadata.uid}"
        )
    return ""


def mode_refusal(pod: Pod, volume: Volume, *, block: bool) -> str:
    """Why the volume mode does not fit the containers' use as mount or device; empty when it does."""
    mounts, devices = _uses(pod, volume.name)
    if block and mounts:
        return f"volume {volume.name} has volumeMode Block, but is specified in volumeMounts"
    if devices and not block:
        return f"volume {volume.name} has volumeMode Filesystem, but is specified in volumeDevices"
    return ""


def place_refusal(persistent: PersistentVolume, node_name: str, labels: Mapping[str, str]) -> str:
    """Why the volume is not available on this node; empty when it is."""
    affinity = persistent.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if required is None or in_terms(required.node_selector_terms, labels, node_name):
        return ""
    return f"PV {persistent.metadata.name} cannot be used on node {node_name}: no matching NodeSelectorTerms"


def options_refusal(persistent: PersistentVolume, source: str) -> str:
    """Why the volume's mount options are not supported; empty when they are."""
    if persistent.spec.mount_options and not VOLUME_SOURCES[source].mount_options:
        return f"Mount options are not supported for this volume type (PV {persistent.metadata.name})"
    return ""


def persistent_source_of(persistent: PersistentVolume) -> str:
    """The attribute of its spec that holds its source.

    Empty without a source or for kinds no longer served.
    """
    source = source_of(persistent.spec)
    return source if source and VOLUME_SOURCES[source].persistent else ""


def spec_of(
    volume: Volume, field_path: str, claim: PersistentVolumeClaim | None, persistent: PersistentVolume
) -> VolumeSpec:
    """The volume as its plugin sees it, without what its kind needs beyond these objects.

    `claim` None: the pod names the volume directly.
    """
    persistent = translated(persistent)
    spec, asked = persistent.spec, volume.persistent_volume_claim
    source = persistent_source_of(persistent)
    wanted = getattr(spec, source, None) if source else None
    return VolumeSpec(
        name=persistent.metadata.name,
        volume=volume,
        source=source,
        field_path=field_path,
        persistent=persistent,
        claim=claim,
        read_only=bool((asked is not None and asked.read_only) or getattr(wanted, "read_only", None)),
        block=spec.volume_mode == BLOCK,
        access_modes=spec.access_modes,
        mount_options=spec.mount_options,
    )


def own_spec_of(pod: Pod, volume: Volume, field_path: str) -> VolumeSpec:
    """A volume that the pod itself defines."""
    source = source_of(volume)
    return VolumeSpec(
        name=volume.name,
        volume=volume,
        source=source,
        field_path=field_path,
        read_only=bool(getattr(getattr(volume, source), "read_only", None)),
        block=_uses(pod, volume.name)[1],
    )


def unique_name(driver: str, handle: str) -> str:
    """The name of an attached volume in the node's status."""
    return f"{CSI}/{device_name(driver, handle)}"


def groups_of(specs: Iterable[VolumeSpec]) -> tuple[int, ...]:
    """Supplemental groups for the processes of a pod with these volumes, sorted.

    Ignores values that are no number.
    """
    texts = {spec.persistent.metadata.annotations.get(GROUP, "") for spec in specs if spec.persistent is not None}
    return tuple(sorted(int(text) for text in texts if text.isdecimal()))


def wanted_growth(claim: PersistentVolumeClaim, persistent: PersistentVolume) -> int:
    """The size in bytes to which the file system has to grow; 0 for no growth (spec 8.8).

    An infeasible growth is not tried again until somebody requests another size.
    """
    status = claim.status
    if status is None or status.allocated_resource_statuses.get(STORAGE) == "NodeResizeInfeasible":
        return 0
    now, wanted = _bytes(status.capacity.get(STORAGE)), _bytes(persistent.spec.capacity.get(STORAGE))
    return wanted if now and wanted > now else 0


def _bytes(text: str | None) -> int:
    try:
        return parse_quantity(text).value() if text else 0
    except QuantityError:
        return 0


def _uses(pod: Pod, name: str) -> tuple[bool, bool]:
    """Whether some container mounts the volume, and whether some has it as a device."""
    spec = pod.spec
    containers = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    mounts = any(mount.name == name for container in containers for mount in container.volume_mounts)
    return mounts, any(device.name == name for container in containers for device in container.volume_devices)
