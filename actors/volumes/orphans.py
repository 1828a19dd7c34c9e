"""A part of `VolumeReconcilerActor`: finds and releases the leftovers of pods on disk.

See spec 8.5 and 8.6.

At the start of a life the whole disk is scanned once, and recorded `RECORDS_AT_ONCE` volumes a message. Everything
found is UNCERTAIN until its pod asks for it, or turns out to be unknown. `KnownPods` lists all pods, once every source
is ready. Each such message makes this part list the pod directories and release those of unknown pods. A pod that has
asked since that message is known. A pod that is being released already is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from actors.kernel import Actor, Message, SoleMessage
from actors.messages.pods import KnownPods
from actors.volumes.actual import ActualWorld, PodDirectory
from actors.volumes.calls import VolumeLanes
from actors.volumes.devices import VolumeDevices
from actors.volumes.release import VolumeReleases
from actors.volumes.state import Found
from runtime.volumes.capability import DiskScan, LocatedVolume, NodeVolumes

SECOND_NS = 1_000_000_000
SCAN_LIMIT_NS = 123 * SECOND_NS
SCAN_RETRY_NS = 10 * SECOND_NS
LIST_LIMIT_NS = 60 * SECOND_NS
RECORDS_AT_ONCE = 64


class ScanDisk(Message, frozen=True):
    """To the actor itself: scan the whole disk."""


class DiskScanned(Message, frozen=True):
    """To the actor itself: the result of the disk scan, or its error."""

    scan: DiskScan | None
    error: str


class RecordMore(SoleMessage, frozen=True):
    """To the actor itself: record the next part of the scan."""


class PodsListed(Message, frozen=True):
    """To the actor itself: the pods that have something on disk."""

    uids: tuple[str, ...]
    error: str


class VolumeOrphans:
    """See the module. `is_wanted`: whether a pod wants volumes."""

    def __init__(
        self,
        actor: Actor,
        volumes: NodeVolumes,
        actual: ActualWorld,
        devices: VolumeDevices,
        releases: VolumeReleases,
        lanes: VolumeLanes,
        is_wanted: Callable[[str], bool],
    ) -> None:
        self._actor = actor
        self._volumes = volumes
        self._actual = actual
        self._devices = devices
        self._releases = releases
        self._lanes = lanes
        self._is_wanted = is_wanted
        self._known: frozenset[str] | None = None
        self._since_known: set[str] = set()
        self._listing = False
        self._scanned: Iterator[PodDirectory | LocatedVolume] = iter(())
        self._devices_found: tuple[str, ...] = ()

    def asked(self, uid: str) -> None:
        """A worker has asked for this pod's volumes, so it is no orphan."""
        self._since_known.add(uid)

    def scan(self) -> None:
        """Begin to scan the whole disk. It looks at mounts of servers too."""
        scan = self._volumes.scan
        self._actor.attempt(lambda: self._lanes.remote.submit("scan", scan, deadline_ns=SCAN_LIMIT_NS), DiskScanned)

    def scanned(self, message: DiskScanned) -> None:
        if message.scan is None:
            self._actor.log.warning("the volumes on disk cannot be listed: %s", message.error)
            self._actor.after(SCAN_RETRY_NS, ScanDisk())
            return
        self._scanned, self._devices_found = _everything(message.scan), message.scan.devices
        self.record()

    def record(self) -> None:
        """Record what lies on disk, at most `RECORDS_AT_ONCE`.

        The devices go last: it is known then which volumes are on them.
        """
        some = tuple(islice(self._scanned, RECORDS_AT_ONCE))
        for each in some:
            if isinstance(each, LocatedVolume):
                self._actual.found(each)
            else:
                self._actual.meet(each, Found())
        if len(some) == RECORDS_AT_ONCE:
            self._actor.after(0, RecordMore())
        else:
            self._devices.found(self._devices_found)

    def known_pods(self, message: KnownPods) -> None:
        """Every source is ready, and these are all the pods."""
        self._known = message.uids
        self._since_known.clear()
        self._devices.sources_are_ready()
        if not self._listing:
            self._listing = True
            uids = self._volumes.list_uids
            self._actor.attempt(
                lambda: self._lanes.local.submit("list", uids, deadline_ns=LIST_LIMIT_NS),
                lambda uids, error: PodsListed(uids or (), error),
            )

    def listed(self, message: PodsListed) -> None:
        self._listing = False
        if message.error:
            self._actor.log.warning("the directories of pods cannot be listed: %s", message.error)
        for uid in sorted({*message.uids, *self._actual.pods}.difference(self._known or ())):
            if self.is_orphan(uid):
                self._actor.log.info("removing the files of the unknown pod %s", uid)
                self._releases.begin(uid, None)

    def is_orphan(self, uid: str) -> bool:
        known = self._known
        taken = uid in self._since_known or self._is_wanted(uid) or uid in self._releases.uids()
        return known is not None and uid not in known and not taken


def _everything(scan: DiskScan) -> Iterator[PodDirectory | LocatedVolume]:
    for uid, volumes in scan.pods.items():
        yield PodDirectory(uid)
        yield from volumes
