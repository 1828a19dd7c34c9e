"""Kinds of volumes that this agent does not serve and will not: their plugins only say what to use instead."""

from __future__ import annotations

from config.objects import Pod
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumeSpec


class RefusedPlugin:
    """One such kind, by its attribute in `VOLUME_SOURCES`."""

    def __init__(self, source: str) -> None:
        self.name = VOLUME_SOURCES[source].plugin
        self.source = source
        self._refusal = VOLUME_SOURCES[source].refusal

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        raise VolumeFailedError(self._refusal)

    def is_usable(self, place: VolumePlace) -> bool:
        return False

    def release(self, place: VolumePlace) -> None:
        """Nothing was made."""


def refused_plugins() -> tuple[RefusedPlugin, ...]:
    """One for each such kind."""
    return tuple(RefusedPlugin(source) for source, kind in VOLUME_SOURCES.items() if kind.refusal)
