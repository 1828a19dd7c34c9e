"""Messages between `PodVolumesActor`, `VolumeReconcilerActor` and the resolver of claims.

See `actors/messages/pods.py`.

A volume of the kinds `persistentVolumeClaim`, `ephemeral` and `csi` is known only after objects of the cluster have
been read and, if needed, the volume is attached to the node. A pod's own `iscsi` or `fc` volume is attached, too. For
each such volume the resolver says what it is, or what it waits for.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import ActorRef, Message
from config.frozen_map import FrozenMap
from config.objects import Pod, Volume
from config.pods.in_tree_volumes import is_in_tree
from runtime.volumes.capability import VolumeSpec


class VolumeWait(msgspec.Struct, frozen=True):
    """Why a volume cannot be made yet.

    `reason`: of the event, FailedMount or FailedAttachVolume; empty if nothing is wrong, so there is no event.

    `in_use`: see `VolumeSpec`. It is set before the volume is attached: only volumes that the node reports in use are
    attached. `full`: the driver's volume limit on this node is reached, so the node refuses the pod.
    """

    text: str
    reason: str = "FailedMount"
    in_use: str = ""
    full: bool = False


class ResolveClaims(Message, frozen=True):
    """PodVolumesActor -> claim resolver: what are these volumes of the pod?

    Answered by `ClaimsResolved`.
    """

    reader: ActorRef
    tag: Hashable
    pod: Pod


class ClaimsResolved(Message, frozen=True):
    """The answer: each volume that `is_claimed` and used, by its name in the pod.

    It says what the volume is, or what it waits for.

    `refresh_wall_ns`: when to ask again though nothing has changed (a token grows old); 0 for never.
    """

    tag: Hashable
    specs: FrozenMap[str, VolumeSpec]
    waits: FrozenMap[str, VolumeWait]
    refresh_wall_ns: int = 0


class ClaimsChanged(Message, frozen=True):
    """Claim resolver -> PodVolumesActor: something that volumes of these pods need has changed."""

    uids: frozenset[str]


class ForgetClaims(Message, frozen=True):
    """VolumeReconcilerActor -> claim resolver: the pod's volumes are gone.

    The reconciler asks nothing more about them.
    """

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


def is_claimed(volume: Volume) -> bool:
    """Whether only the cluster can tell all of the volume."""
    own = (volume.persistent_volume_claim, volume.ephemeral, volume.csi, volume.iscsi, volume.fc)
    return any(source is not None for source in own) or is_in_tree(volume)
