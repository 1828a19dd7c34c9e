"""What pods want and have, volume by volume: the books of the `VolumeReconcilerActor`.

Everything that it reports comes from here: the volumes that containers can use, numbers by plugin, SELinux labels, the
volumes of storage drivers. Each entry and each number is changed with the volume that it is about, so a report walks
over no pod's volumes but to list them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from actors.kernel import ActorRef
from actors.messages.counts import ContextKey
from actors.messages.volumes import PodVolume
from actors.volumes.context_counts import ContextCounts
from actors.volumes.desired import DesiredVolume
from actors.volumes.devices import VolumeDevices
from config.objects import Pod
from runtime.volumes.capability import VolumePlace

OF_DRIVERS = "csi"


class _Wanted(msgspec.Struct):
    """A volume that a pod wants, without its secrets. `usable`: as containers can use it now."""

    volume: DesiredVolume
    usable: PodVolume | None = None


class PodBook(msgspec.Struct):
    """A pod that wants volumes. `claimed`: whether it has claims, None while that is unknown.

    `leaving`: it wants none any more, and its volumes are dropped bit by bit.
    """

    worker: ActorRef
    pod: Pod
    claimed: bool | None = None
    leaving: bool = False
    volumes: dict[str, _Wanted] = msgspec.field(default_factory=dict)


class VolumeBooks:
    """See the module. Every change costs the same however many volumes there are."""

    def __init__(self, devices: VolumeDevices, contexts: ContextCounts | None) -> None:
        self._devices = devices
        self._contexts = contexts
        self._pods: dict[str, PodBook] = {}
        self._by_plugin: Counter[str] = Counter()
        self._of_drivers: dict[VolumePlace, tuple[str, str]] = {}
        self._abnormal: dict[VolumePlace, bool] = {}

    def pod(self, uid: str) -> PodBook | None:
        return self._pods.get(uid)

    def open(self, worker: ActorRef, pod: Pod) -> PodBook:
        """The book of a pod that wants volumes, with its newest form."""
        book = self._pods.setdefault(pod.metadata.uid, PodBook(worker, pod))
        book.worker, book.pod, book.leaving = worker, pod, False
        return book

    def wants(self, uid: str) -> bool:
        """Whether the pod wants volumes."""
        book = self._pods.get(uid)
        return book is not None and not book.leaving

    def close(self, uid: str) -> PodBook | None:
        """The pod wants no volumes any more; `drop` drops them."""
        book = self._pods.get(uid)
        if book is not None:
            book.leaving = True
        return book

    # --- volumes ----------------------------------------------------------------------------------------------------

    def want(self, uid: str, volume: DesiredVolume) -> None:
        """The pod wants this volume, maybe in another form than before."""
        book = self._pods[uid]
        before = book.volumes.get(volume.name)
        usable = None
        if before is not None:
            self._count(before.volume, -1)
            usable = before.usable if before.volume.at == volume.at else None
        book.volumes[volume.name] = _Wanted(volume, usable)
        self._count(volume, 1)
        self._devices.want(uid, volume, None if before is None else before.volume)
        if self._contexts is not None:
            self._contexts.put(uid, volume)

    def is_there(self, uid: str, name: str, host_path: str) -> None:
        """Containers of the pod can use its volume, at this path."""
        book = self._pods.get(uid)
        wanted = book.volumes.get(name) if book is not None else None
        if wanted is None or wanted.volume.at is None:
            return
        place, spec = wanted.volume.at.place, wanted.volume.spec
        claim = spec.claim.metadata.name if spec.claim is not None else ""
        abnormal = self._abnormal.get(place)
        wanted.usable = PodVolume(uid, name, place.plugin, host_path, claim, spec.block, abnormal)
        if spec.source == OF_DRIVERS:
            self._of_drivers[place] = (uid, name)

    def drop(self, uid: str, most: int) -> bool:
        """Drop at most so many volumes of a pod that wants none any more. True when none is left."""
        book = self._pods.get(uid)
        if book is None:
            return True
        for _ in range(min(most, len(book.volumes))):
            name, wanted = book.volumes.popitem()
            volume = wanted.volume
            self._count(volume, -1)
            self._devices.want(uid, None, volume)
            if self._contexts is not None:
                self._contexts.drop(uid, name)
            if volume.at is not None and self._of_drivers.pop(volume.at.place, None) is not None:
                self._abnormal.pop(volume.at.place, None)
        if book.volumes:
            return False
        del self._pods[uid]
        return True

    def _count(self, volume: DesiredVolume, by: int) -> None:
        if volume.at is not None:
            self._by_plugin[volume.at.place.plugin] += by

    # --- reports ----------------------------------------------------------------------------------------------------

    def usable(self, uid: str) -> Iterator[PodVolume]:
        """The volumes of a pod that containers can use now."""
        book = self._pods.get(uid)
        for wanted in book.volumes.values() if book is not None and not book.leaving else ():
            if wanted.usable is not None:
                yield wanted.usable

    def uids(self) -> list[str]:
        """The pods that want volumes, sorted."""
        return sorted(self._pods)

    def count_by_plugin(self) -> Mapping[str, int]:
        """How many volumes pods want here, as far as their plugin is known."""
        return {plugin: count for plugin, count in self._by_plugin.items() if count}

    def count_contexts(self) -> Mapping[ContextKey, int]:
        """About the SELinux labels of volumes; nothing on a node without SELinux."""
        return self._contexts.counts() if self._contexts is not None else {}

    # --- health -----------------------------------------------------------------------------------------------------

    def of_drivers(self) -> Mapping[VolumePlace, tuple[str, str]]:
        """The volumes of storage drivers that containers can use: the UID of the pod, and the name in there."""
        return self._of_drivers

    def told_of(self, place: VolumePlace, abnormal: bool | None) -> None:
        """A driver has said whether the volume is abnormal; None: it says nothing."""
        uid, name = self._of_drivers.get(place, ("", ""))
        book = self._pods.get(uid)
        if book is None:
            return
        if abnormal is None:
            self._abnormal.pop(place, None)
        else:
            self._abnormal[place] = abnormal
        wanted = book.volumes[name]
        if wanted.usable is not None:
            wanted.usable = msgspec.structs.replace(wanted.usable, abnormal=abnormal)
