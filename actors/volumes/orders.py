"""Messages between `VolumeReconcilerActor` and its children.

Each pod that has volumes has one, a `PodVolumesActor`. The child knows what its pod's volumes should be, and orders
them in batches. The reconciler plans each volume alone and tells what became of it. Orders have the number of a pass of
the child. An order replaces an earlier one of the same name, so both may be repeated at any time.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from actors.volumes.actual import VolumeProblem
from actors.volumes.desired import DesiredVolume
from config.frozen_map import FrozenMap
from config.objects import Pod

ORDERS_AT_ONCE = 64
"""Volumes in one batch."""


class OrderVolumes(Message, frozen=True):
    """PodVolumesActor -> VolumeReconcilerActor: make these volumes, at most `ORDERS_AT_ONCE`.

    None of them: make the pod's directory alone. Each gets a `VolumeOutcome`. `fresh`: there is news, so no back-off
    applies. `claimed`: the pod has volumes that are claims.
    """

    worker: ActorRef
    pod: Pod
    number: int
    volumes: tuple[DesiredVolume, ...]
    fresh: bool
    claimed: bool


class VolumeOutcome(msgspec.Struct, frozen=True):
    """What became of an order. `name`: of the volume in the pod, empty for the pod's directory.

    `usable`: containers can use it, at `host_path`. With a `trouble` it keeps its old content. `tried`: the trouble has
    come up since the order. `waits`: no call of the reconciler can end it. `retry_at_ns`: when the back-off ends, 0 for
    none.
    """

    name: str
    volume: DesiredVolume | None
    usable: bool
    host_path: str = ""
    trouble: VolumeProblem | None = None
    tried: bool = False
    waits: bool = False
    retry_at_ns: int = 0


class VolumesSettled(Message, frozen=True):
    """VolumeReconcilerActor -> PodVolumesActor: what became of some orders of this pass."""

    number: int
    outcomes: tuple[VolumeOutcome, ...]


class TryAgain(SoleMessage, frozen=True):
    """VolumeReconcilerActor -> PodVolumesActor: there is news; begin a pass without back-off."""


class OrdersLost(SoleMessage, frozen=True):
    """VolumeReconcilerActor -> PodVolumesActor: it has begun anew.

    It knows of no order, so everything has to be ordered again.
    """


class ReadAllocatable(Message, frozen=True):
    """PodVolumesActor -> VolumeReconcilerActor: how much of each resource the node has for pods.

    Answered at once by `AllocatableRead` with the same `tag`.
    """

    reader: ActorRef
    tag: Hashable


class AllocatableRead(Message, frozen=True):
    """The answer: quantities by resource."""

    tag: Hashable
    amounts: FrozenMap[str, str]
