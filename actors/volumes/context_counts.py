"""How many volumes are mounted with an SELinux label, and how many have trouble with theirs. Pure.

A trouble is an error where the volume must be mounted with a label, and a warning where the feature gate SELinuxMount
would make it one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from actors.messages.counts import ADMITTED, OF_A_VOLUME, ContextKey
from actors.volumes.contexts import mode_word
from actors.volumes.desired import DesiredVolume
from config.pods.volume_sources import VOLUME_SOURCES


def count_contexts(volumes: Iterable[DesiredVolume]) -> Mapping[ContextKey, int]:
    """The volumes of all pods, pod by pod.

    A volume that several pods share is admitted once, with the first label.
    """
    counted: Counter[ContextKey] = Counter()
    first: dict[str, str] = {}
    for volume in volumes:
        context, spec = volume.context, volume.spec
        plugin, mode = VOLUME_SOURCES[spec.source].plugin if spec.source else "", mode_word(spec)
        if context.fault:
            counted[ContextKey(context.about, context.must, plugin, mode)] += 1
        elif context.wanted:
            device = volume.at.device if volume.at is not None else spec.name
            if device not in first:
                first[device] = context.wanted
                counted[ContextKey(ADMITTED, True, plugin, mode)] += 1
            elif first[device] != context.wanted:
                counted[ContextKey(OF_A_VOLUME, context.must, plugin, mode)] += 1
    return counted
