"""Questions about numbers of pods and containers, for the node's metrics.

See `actors/messages/pods.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from actors.kernel import Message
from config.frozen_map import FrozenMap


class CountRunning(Message, frozen=True):
    """Edge -> PlegActor (ask): a `RunningCount`."""


class RunningCount(msgspec.Struct, frozen=True):
    """Numbers from the last list of the runtime.

    `containers`: by state: created, running, exited, unknown.
    """

    pods: int
    containers: Mapping[str, int]


class CountPlugins(Message, frozen=True):
    """Edge -> PluginWatcherActor (ask): a `PluginCount`."""


class PluginCount(msgspec.Struct, frozen=True):
    """The sockets of plugins: all that are there, and those whose plugin is registered."""

    there: tuple[str, ...]
    registered: tuple[str, ...]


class CountVolumes(Message, frozen=True):
    """Edge -> VolumeReconcilerActor (ask): a `VolumeCount`."""


ADMITTED, OF_A_CONTAINER, OF_A_POD, OF_A_VOLUME = "admitted", "container", "pod", "volume"


class ContextKey(NamedTuple):
    """About the SELinux label of a volume: it is admitted, or there is trouble.

    `about`: ADMITTED, or whose trouble it is.
    """

    about: str
    is_error: bool
    plugin: str
    mode: str


class VolumeCount(msgspec.Struct, frozen=True):
    """Volumes of pods by plugin: those that pods want, and those that are on disk and can be used."""

    desired: Mapping[str, int]
    actual: Mapping[str, int]
    contexts: FrozenMap[ContextKey, int] = FrozenMap()


class CountPods(Message, frozen=True):
    """Edge -> SyncLoopActor (ask): a `PodCount`."""


class PodCount(msgspec.Struct, frozen=True):
    """`desired`, `active`: static, not static.

    `working`: by (lifecycle, config, static). `ephemeral`: containers.
    """

    desired: tuple[int, int]
    active: tuple[int, int]
    mirrors: int
    working: Mapping[tuple[str, str, bool], int]
    ephemeral: int
