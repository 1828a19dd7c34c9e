"""The disk use of pods: a part of the `NodeStatsActor`.

The disk of a pod is counted at most once a minute, on a lane whose keys are the pods. Each mount is measured by
itself. If a storage driver measures its volumes, its numbers are used instead. A dead mount or a hanging driver costs
only the numbers of its own volumes. Nothing waits for it twice: a call that has not ended is not made again. A pod with
more than two dead mounts has no numbers of its other mounts, since its calls wait for a thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from actors.kernel import Actor, DeadlineExceededError, Lane, LaneExhaustedError, Pending
from runtime.logs.pod_logs import pod_log_directory
from runtime.metrics.kubelet import VOLUME_COLLECTION
from runtime.metrics.meters import Meters
from runtime.stats.capability import HostStats
from runtime.stats.readings import FsReading, PodDisk
from runtime.stats.samples import StatsListing
from runtime.volumes.capability import NodeVolumes, VolumeFailedError, VolumePlace

SECOND_NS = 1_000_000_000
COUNT_NS = 60 * SECOND_NS
"""The limit for counting one pod's disk, for a look at a mount, and for one answer of a driver."""
PAUSES_NS = tuple(SECOND_NS * each // 100 for each in (0, 1, 4, 10, 35, 50, 100))
"""The steps of waiting for the disks of new pods: two seconds in all."""
DRIVERS_AT_ONCE = 4
ASKED_AT_ONCE = 32
"""Volumes of one pod that its drivers are asked about after one count.

The others have their turn after the next counts. Each driver answers one question after the other, so a pod with very
many volumes delays the numbers of others by these.
"""
LATE = f"it has not ended within {COUNT_NS // SECOND_NS} s and is still under way"
_FAILURES = (OSError, VolumeFailedError, DeadlineExceededError, LaneExhaustedError)


class _Count(NamedTuple):
    """The measurement of one pod's disk."""

    began_ns: int
    disk: Pending[PodDisk]
    of_drivers: Pending[tuple[tuple[VolumePlace, str], ...]]

    def done(self) -> bool:
        return self.disk.done() and self.of_drivers.done()


class _Look(NamedTuple):
    """The look at one mount of the pod."""

    uid: str
    began_ns: int
    reading: Pending[FsReading]


class _Volume(NamedTuple):
    """A volume that counting leaves out.

    `path`: where it is mounted; empty for a device.

    `place`, `driver`: empty without a storage driver.
    """

    kind: str
    name: str
    path: str
    place: VolumePlace | None = None
    driver: str = ""

    @property
    def key(self) -> str:
        return self.path or (self.place.directory if self.place is not None else "")


class PodDisks:
    """See the module. `count_every_ns`: zero or less: nothing is counted."""

    def __init__(
        self,
        actor: Actor,
        host: HostStats,
        volumes: NodeVolumes,
        pod_logs: str,
        count_every_ns: int,
        meters: Meters,
    ) -> None:
        self._actor = actor
        self._host = host
        self._node_volumes = volumes
        self._pod_logs = pod_logs
        self._count_every_ns = count_every_ns
        self._meters = meters
        self._disks: dict[str, PodDisk] = {}
        self._volumes: dict[str, tuple[_Volume, ...]] = {}
        """UID -> the volumes that the count of its disk left out."""
        self._counted_ns: dict[str, int] = {}
        self._counting: dict[str, _Count] = {}
        self._readings: dict[str, FsReading] = {}
        """Key of a volume -> what was last known of it."""
        self._asking: dict[str, tuple[str, _Volume, Pending[FsReading | None]]] = {}
        """Key of a volume -> the UID of its pod, and the question to its driver."""
        self._looking: dict[str, _Look] = {}
        """Key of a volume -> the look at it."""
        self._first_to_ask: dict[str, int] = {}
        """UID -> which of its volumes of drivers is to be asked about first, after the next count."""
        self._troubles: dict[str, str] = {}
        """UID, or key of a volume -> why it has no numbers."""

    def known(self) -> Mapping[str, PodDisk]:
        """Known disk use by UID, with the known numbers of mounted volumes."""
        return {uid: self._whole(uid, disk) for uid, disk in self._disks.items()}

    async def count(self, listed: StatsListing) -> Iterable[str]:
        """Begin the counts that are due, and wait a little for pods without numbers.

        Gives a text for all that has no numbers.
        """
        if self._count_every_ns <= 0:
            return ()
        metas = {each.metadata.uid: each.metadata for each in listed.sandboxes if each.metadata is not None}
        self._forget_all_but(metas.keys())
        self._harvest()
        hung, now_ns = self._unanswered(), self._actor.now_ns()
        for uid, meta in metas.items():
            counted_ns = self._counted_ns.get(uid)
            if uid in self._counting or (counted_ns is not None and now_ns - counted_ns < self._count_every_ns):
                continue
            self._counted_ns[uid] = now_ns
            self._counting[uid] = self._begin(uid, pod_log_directory(self._pod_logs, meta.namespace, meta.name, uid))
        new = [uid for uid in self._counting if uid not in self._disks and uid not in self._troubles]
        for pause_ns in PAUSES_NS:
            self._harvest()
            if not any(uid in self._counting for uid in new) and not (new and self._unanswered() - hung):
                break
            await self._actor.sleep(pause_ns)
        self._harvest()
        return self._troubles.values()

    def _forget_all_but(self, uids: Collection[str]) -> None:
        self._disks = {uid: disk for uid, disk in self._disks.items() if uid in uids}
        self._volumes = {uid: volumes for uid, volumes in self._volumes.items() if uid in uids}
        self._counted_ns = {uid: at_ns for uid, at_ns in self._counted_ns.items() if uid in uids}
        self._first_to_ask = {uid: first for uid, first in self._first_to_ask.items() if uid in uids}
        there = {volume.key for volumes in self._volumes.values() for volume in volumes}
        self._readings = {key: reading for key, reading in self._readings.items() if key in there}
        self._troubles = {key: text for key, text in self._troubles.items() if key in there or key in uids}

    def _unanswered(self) -> set[str]:
        return {*self._asking, *self._looking}

    def _begin(self, uid: str, log_directory: str) -> _Count:
        lane, began_ns = self._lane(), self._actor.now_ns()
        counting = lane.submit(uid, self._host.pod_disk, uid, log_directory)
        counting.add_done_callback(
            lambda _: self._meters.took(VOLUME_COLLECTION, self._actor.now_ns() - began_ns, "pod")
        )
        return _Count(began_ns, counting, lane.submit(uid, self._node_volumes.of_drivers, uid))

    def _lane(self) -> Lane:
        """Without deadlines: a call is not made again before it has ended."""
        return self._actor.lane("stats-pods", size=2, per_key=2)

    # --- what has ended ---------------------------------------------------------------------------------------------

    def _harvest(self) -> None:
        """Collect what has ended. A failed count is repeated when it is due."""
        late_ns = self._actor.now_ns() - COUNT_NS
        for uid, count in self._counting.items():
            if count.began_ns <= late_ns and uid in self._counted_ns:
                self._troubles[uid] = f"the disk of pod {uid}: {LATE}"
        for path, look in self._looking.items():
            if look.began_ns <= late_ns and look.uid in self._counted_ns:
                self._unknown(path, f"the volume mounted at {path}: {LATE}")
        for uid in [uid for uid, count in self._counting.items() if count.done()]:
            count = self._counting.pop(uid)
            try:
                disk, of_drivers = count.disk.result(0), count.of_drivers.result(0)
            except _FAILURES as failure:
                self._troubles[uid] = f"the disk of pod {uid}: {failure}"
                continue
            self._troubles.pop(uid, None)
            self._disks[uid], self._volumes[uid] = disk, _left_out(disk, of_drivers)
            for volume in self._to_measure(uid):
                self._measure(uid, volume)
        for key in [key for key, (_, _, pending) in self._asking.items() if pending.done()]:
            uid, volume, pending = self._asking.pop(key)
            try:
                reading = pending.result(0)
            except _FAILURES as failure:
                self._unknown(key, f"driver {volume.driver} does not measure the volume {volume.name}: {failure}")
                continue
            if reading is not None:
                self._known(key, reading)
            elif volume.path:
                self._look(uid, volume.path)
        for path in [path for path, look in self._looking.items() if look.reading.done()]:
            try:
                self._known(path, self._looking.pop(path).reading.result(0))
            except _FAILURES as failure:
                self._unknown(path, f"the volume mounted at {path}: {failure}")

    def _to_measure(self, uid: str) -> Iterator[_Volume]:
        """All mounts of the pod that no driver measures, and some of its other volumes."""
        volumes = self._volumes[uid]
        yield from (each for each in volumes if each.place is None)
        of_drivers = [each for each in volumes if each.place is not None]
        if of_drivers:
            first = self._first_to_ask.get(uid, 0) % len(of_drivers)
            self._first_to_ask[uid] = first + ASKED_AT_ONCE
            yield from (*of_drivers[first:], *of_drivers[:first])[:ASKED_AT_ONCE]

    def _measure(self, uid: str, volume: _Volume) -> None:
        if volume.key in self._asking or volume.key in self._looking:
            return
        if volume.place is None:
            self._look(uid, volume.path)
            return
        lane = self._actor.lane("stats-drivers", size=DRIVERS_AT_ONCE, per_key=1)
        asked = lane.submit(volume.driver, self._node_volumes.measure, volume.place, deadline_ns=COUNT_NS)
        self._asking[volume.key] = uid, volume, asked

    def _look(self, uid: str, path: str) -> None:
        reading = self._lane().submit(uid, self._host.filesystem, path)
        self._looking[path] = _Look(uid, self._actor.now_ns(), reading)

    def _known(self, key: str, reading: FsReading) -> None:
        self._readings[key] = reading
        self._troubles.pop(key, None)

    def _unknown(self, key: str, trouble: str) -> None:
        self._readings.pop(key, None)
        self._troubles[key] = trouble

    def _whole(self, uid: str, disk: PodDisk) -> PodDisk:
        measured = [
            (each.kind, each.name, self._readings[each.key])
            for each in self._volumes.get(uid, ())
            if each.key in self._readings
        ]
        return msgspec.structs.replace(disk, volumes=(*disk.volumes, *measured)) if measured else disk


def disk_lane(actor: Actor) -> Lane:
    """The lane that measures the disks of the node."""
    return actor.lane("stats-disk", size=2, per_key=1)


def _left_out(disk: PodDisk, of_drivers: tuple[tuple[VolumePlace, str], ...]) -> tuple[_Volume, ...]:
    """The mounts of a pod, and the devices of storage drivers."""
    by_name = {(place.plugin, place.name): (place, driver) for place, driver in of_drivers if not place.block}
    mounts = [_Volume(kind, name, path, *by_name.get((kind, name), ())) for kind, name, path in disk.mounts]
    devices = [_Volume(place.plugin, place.name, "", place, driver) for place, driver in of_drivers if place.block]
    return (*mounts, *devices)
