"""Claims, volumes and classes of attributes: the protection of a deleted one ends with its last use.

Plays the part of the controllers `pvc-protection`, `pv-protection` and `vac-protection`. A scheduled pod
uses the claims that it names, and a claim its volume as long as that is bound. Claims and volumes use the class that
they name. An object that is being deleted is looked at now and then until it is gone.
"""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.admission.storage_protection import PROTECTION
from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.kinds.table import ATTRIBUTES_CLASSES, CLAIMS, PODS, VOLUMES, ServedResource
from simulation.apiserver.pipeline.context import Context, Follower
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version

LOOKS_AFTER_NS = 100 * 10**6
LOOKS_EVERY_NS = SECOND_NS


class StorageProtection(Follower):
    """Of one resource in `PROTECTION`."""

    def __init__(self, context: Context, resource: ServedResource) -> None:
        self._context = context
        self._core = context.core
        self._resource = resource
        self._waits: set[str] = set()
        """UIDs of objects that will be looked at."""

    def changed(self, old: Version, new: Version) -> None:
        if self._is_over(new.object["metadata"]) and new.uid not in self._waits:
            self._waits.add(new.uid)
            self._core.after(LOOKS_AFTER_NS, lambda: self._look(new))

    def _is_over(self, metadata: Json) -> bool:
        return "deletionTimestamp" in metadata and PROTECTION[self._resource] in (metadata.get("finalizers") or ())

    def _look(self, seen: Version) -> None:
        version = self._context.collection(self._resource).get(seen.key)
        if version is None or version.uid != seen.uid or not self._is_over(version.object["metadata"]):
            self._waits.discard(seen.uid)
        elif _IN_USE[self._resource](self._core, version):
            self._core.after(LOOKS_EVERY_NS, lambda: self._look(seen))
        else:
            self._waits.discard(seen.uid)
            self._release(version)

    def _release(self, version: Version) -> None:
        metadata = dict(version.object["metadata"])
        others = [each for each in metadata.pop("finalizers") if each != PROTECTION[self._resource]]
        if others:
            metadata["finalizers"] = others
        self._core.store.put(self._resource.store_key, {**version.object, "metadata": metadata})
        if not others:
            self._core.store.remove(self._resource.store_key, version.namespace, version.name)


def _claim_in_use(core: Core, claim: Version) -> bool:
    for pod in core.store.of[PODS.store_key].all():
        if pod.namespace == claim.namespace and pod.object["spec"].get("nodeName"):
            for volume in pod.object["spec"].get("volumes") or ():
                if (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim.name:
                    return True
                if "ephemeral" in volume and f"{pod.name}-{volume['name']}" == claim.name:
                    return True
    return False


def _volume_in_use(core: Core, volume: Version) -> bool:
    return (volume.object.get("status") or {}).get("phase") == "Bound"


def _class_in_use(core: Core, attributes_class: Version) -> bool:
    return any(
        attributes_class.name in (part.get("volumeAttributesClassName"), part.get("currentVolumeAttributesClassName"))
        for resource in (CLAIMS, VOLUMES)
        for each in core.store.of[resource.store_key].all()
        for part in (each.object["spec"], each.object.get("status") or {})
    )


_IN_USE: dict[ServedResource, Callable[[Core, Version], bool]] = {
    CLAIMS: _claim_in_use,
    VOLUMES: _volume_in_use,
    ATTRIBUTES_CLASSES: _class_in_use,
}
