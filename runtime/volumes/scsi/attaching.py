"""What the API holds of a disk to attach: its name in the node's status, and its secret. Pure."""

from __future__ import annotations

from config.objects import SecretReference
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.scsi import fc_disk, iscsi_target


def attached_name(spec: VolumeSpec) -> str:
    """The volume's name in the node's status, as the attach/detach controller writes it.

    Raises VolumeFailedError.
    """
    return iscsi_target.attached_name(spec) if spec.source == "iscsi" else fc_disk.attached_name(spec)


def chap_secret(spec: VolumeSpec, namespace: str) -> SecretReference | None:
    """The secret with the passwords for CHAP; None where none is asked for. `namespace`: of the pod."""
    if spec.source != "iscsi":
        return None
    source = iscsi_target.source_of(spec)
    reference = source.secret_ref
    if reference is None or not (source.chap_auth_discovery or source.chap_auth_session):
        return None
    own = getattr(reference, "namespace", None)  # of a persistent volume: a pod's own volume names one beside it
    if spec.claim is not None:
        namespace = spec.claim.metadata.namespace
    return SecretReference(name=reference.name, namespace=own or namespace)
