"""The material of a storage driver's volume, and the pure rules for requests to it (spec 8.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from config.objects.base import Hidden
from runtime.csi.capability import Ability, Access, AccessMode
from runtime.volumes.capability import VolumeMaterial, VolumeSpec

READ_WRITE_ONCE = "ReadWriteOnce"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"

FILE = "File"
NEVER = "None"
WITH_FS_TYPE = "ReadWriteOnceWithFSType"
"""The values of `fsGroupPolicy` of a CSIDriver; the last is what counts when there is none."""

_NOTHING: Mapping[str, str] = {}


class Expansion(msgspec.Struct, frozen=True):
    """The outcome of a volume expansion: its size in bytes now, or the `error`.

    `infeasible`: the requested size can never succeed.
    """

    size_bytes: int = 0
    error: str = ""
    infeasible: bool = False


class CsiMaterial(Hidden, VolumeMaterial, frozen=True):
    """All that is known of the volume when it is made; nothing needs the API any more.

    `ephemeral`: it is made for this pod alone, and by its driver. `attributes`: of the volume; `pod_attributes`: what
    the driver wants to know of the pod, tokens included. `publish_context`, `attachment`: of the VolumeAttachment, and
    its name. `expand_bytes`: what it is to grow to, 0: nothing to do; then `expanded` is told what became of it, on any
    thread. `republish`: the driver wants to be asked again and again. `selinux_mount`: it mounts with labels.
    """

    driver: str
    handle: str
    ephemeral: bool = False
    fs_type: str = ""
    attributes: Mapping[str, str] = _NOTHING
    pod_attributes: Mapping[str, str] = _NOTHING
    publish_context: Mapping[str, str] = _NOTHING
    attachment: str = ""
    stage_secrets: Mapping[str, str] = _NOTHING
    publish_secrets: Mapping[str, str] = _NOTHING
    expand_secrets: Mapping[str, str] = _NOTHING
    fs_group_policy: str = WITH_FS_TYPE
    republish: bool = False
    selinux_mount: bool = False
    expand_bytes: int = 0
    expanded: Callable[[Expansion], None] | None = None
    node: str = ""


def access_of(spec: VolumeSpec, material: CsiMaterial, abilities: frozenset[Ability], group: int | None) -> Access:
    """How the volume is asked for. `group`: the pod's fsGroup, None for none."""
    mode = access_mode_of(spec.access_modes[0] if spec.access_modes else READ_WRITE_ONCE, abilities)
    if spec.block:
        return Access(mode, block=True)
    delegated = group is not None and Ability.VOLUME_MOUNT_GROUP in abilities
    return Access(
        mode,
        fs_type=material.fs_type,
        mount_options=spec.all_options,
        group=str(group) if delegated else "",
    )


def access_mode_of(mode: str, abilities: frozenset[Ability]) -> AccessMode:
    """The driver's word for an access mode of the API."""
    tells_writers_apart = Ability.SINGLE_NODE_MULTI_WRITER in abilities
    match mode:
        case "ReadOnlyMany":
            return AccessMode.MULTI_NODE_READER_ONLY
        case "ReadWriteMany":
            return AccessMode.MULTI_NODE_MULTI_WRITER
        case "ReadWriteOncePod" if tells_writers_apart:
            return AccessMode.SINGLE_NODE_SINGLE_WRITER
        case _ if tells_writers_apart and mode == READ_WRITE_ONCE:
            return AccessMode.SINGLE_NODE_MULTI_WRITER
        case _:
            return AccessMode.SINGLE_NODE_WRITER


def is_to_be_owned(spec: VolumeSpec, material: CsiMaterial, abilities: frozenset[Ability]) -> bool:
    """Whether the agent is to see to it that the files belong to the pod's fsGroup, if it has one."""
    if spec.block or spec.read_only or Ability.VOLUME_MOUNT_GROUP in abilities:
        return False
    if material.fs_group_policy == FILE:
        return True
    if material.fs_group_policy == NEVER or not material.fs_type:
        return False
    return material.ephemeral or bool({READ_WRITE_ONCE, READ_WRITE_ONCE_POD} & set(spec.access_modes))
