"""How many volumes are mounted with an SELinux label, and how many have trouble with theirs.

A trouble is an error where the volume must be mounted with a label, and a warning where the feature gate SELinuxMount
would make it one. A volume that several pods share is admitted once, with the label of the pod that came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from actors.messages.counts import ADMITTED, OF_A_VOLUME, ContextKey
from actors.volumes.contexts import mode_word
from actors.volumes.desired import DesiredVolume
from config.pods.volume_sources import VOLUME_SOURCES


class _Labelled(NamedTuple):
    label: str
    must: bool
    plugin: str
    mode: str


class ContextCounts:
    """The counts, kept up to date volume by volume.

    A change costs as much as there are pods that share the volume.
    """

    def __init__(self) -> None:
        self._counts: Counter[ContextKey] = Counter()
        self._faults: dict[tuple[str, str], ContextKey] = {}
        self._shared: dict[str, dict[tuple[str, str], _Labelled]] = {}
        """By device, or by name without one: the volumes with a label, in the order of their coming."""
        self._device_of: dict[tuple[str, str], str] = {}

    def counts(self) -> Mapping[ContextKey, int]:
        return {key: count for key, count in self._counts.items() if count}

    def put(self, uid: str, volume: DesiredVolume) -> None:
        """A pod wants this volume, maybe in another form than before."""
        self.drop(uid, volume.name)
        context, spec, at = volume.context, volume.spec, (uid, volume.name)
        if not context.fault and not context.wanted:
            return
        plugin, mode = VOLUME_SOURCES[spec.source].plugin if spec.source else "", mode_word(spec)
        if context.fault:
            key = self._faults[at] = ContextKey(context.about, context.must, plugin, mode)
            self._counts[key] += 1
            return
        device = self._device_of[at] = volume.at.device if volume.at is not None else spec.name
        shared = self._shared.setdefault(device, {})
        self._counts.subtract(_keys(shared))
        shared[at] = _Labelled(context.wanted, context.must, plugin, mode)
        self._counts.update(_keys(shared))

    def drop(self, uid: str, name: str) -> None:
        """A pod wants this volume no more."""
        at = (uid, name)
        fault = self._faults.pop(at, None)
        if fault is not None:
            self._counts[fault] -= 1
        device = self._device_of.pop(at, None)
        if device is None:
            return
        shared = self._shared[device]
        self._counts.subtract(_keys(shared))
        del shared[at]
        self._counts.update(_keys(shared))
        if not shared:
            del self._shared[device]


def _keys(shared: Mapping[tuple[str, str], _Labelled]) -> list[ContextKey]:
    """The volumes of one device as they count: the first is admitted, others with its label do not count."""
    if not shared:
        return []
    first, *others = shared.values()
    admitted = ContextKey(ADMITTED, True, first.plugin, first.mode)
    return [
        admitted,
        *(ContextKey(OF_A_VOLUME, each.must, each.plugin, each.mode) for each in others if each.label != first.label),
    ]
