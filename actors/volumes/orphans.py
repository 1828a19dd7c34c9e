"""What lies on disk and whom it belongs to: a part of the `VolumeReconcilerActor` (spec 8.5, 8.6).

When a life begins the whole disk is looked at once; all that is found is uncertain, until its pod asks for it again or
nobody does. Which pods there are at all is said by `KnownPods`, from when on every source has spoken. At each such word
the directories are listed, and what belongs to nobody is released. A pod that has asked since then, or is being
released, is not nobody's.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import Actor, Lane, Message, Pending, outcome_of
from actors.messages.pods import KnownPods
from actors.volumes.actual import ActualWorld, PodDirectory
from actors.volumes.devices import VolumeDevices
from actors.volumes.release import VolumeReleases
from actors.volumes.state import Found
from runtime.volumes.capability import DiskScan, NodeVolumes

SECOND_NS = 1_000_000_000
SCAN_LIMIT_NS = 123 * SECOND_NS
SCAN_RETRY_NS = 10 * SECOND_NS
LIST_LIMIT_NS = 60 * SECOND_NS


class ScanDisk(Message, frozen=True):
    """To the actor itself: look at the whole disk."""


class DiskScanned(Message, frozen=True):
    """To the actor itself: all that lay on disk."""

    scan: DiskScan | None
    error: str


class PodsListed(Message, frozen=True):
    """To the actor itself: the pods that have something on disk."""

    uids: tuple[str, ...]
    error: str


class VolumeOrphans:
    """See the module. `is_wanted`: whether a pod is to have volumes."""

    def __init__(
        self,
        actor: Actor,
        volumes: NodeVolumes,
        actual: ActualWorld,
        devices: VolumeDevices,
        releases: VolumeReleases,
        lane: Callable[[], Lane],
        is_wanted: Callable[[str], bool],
    ) -> None:
        self._actor = actor
        self._volumes = volumes
        self._actual = actual
        self._devices = devices
        self._releases = releases
        self._lane = lane
        self._is_wanted = is_wanted
        self._known: frozenset[str] | None = None
        self._since_known: set[str] = set()
        self._listing = False

    def asked(self, uid: str) -> None:
        """Somebody knows this pod."""
        self._since_known.add(uid)

    def scan(self) -> None:
        """Begin to look at the whole disk."""
        scan = self._volumes.scan
        self._actor.begin(lambda: self._lane().submit("scan", scan, deadline_ns=SCAN_LIMIT_NS), _scanned)

    def scanned(self, message: DiskScanned) -> None:
        if message.scan is None:
            self._actor.log.warning("what is on disk cannot be listed: %s", message.error)
            self._actor.after(SCAN_RETRY_NS, ScanDisk())
            return
        for uid, volumes in message.scan.pods.items():
            self._actual.found(volumes)
            self._actual.meet(PodDirectory(uid), Found())
        self._devices.found(message.scan.devices)

    def known_pods(self, message: KnownPods) -> None:
        """Every source has spoken, and these are all the pods."""
        self._known = message.uids
        self._since_known.clear()
        self._devices.sources_are_ready()
        if not self._listing:
            self._listing = True
            uids = self._volumes.list_uids
            self._actor.begin(lambda: self._lane().submit("list", uids, deadline_ns=LIST_LIMIT_NS), _listed)

    def listed(self, message: PodsListed) -> None:
        self._listing = False
        if message.error:
            self._actor.log.warning("the directories of pods cannot be listed: %s", message.error)
        for uid in sorted({*message.uids, *self._actual.pods}.difference(self._known or ())):
            if self.is_orphan(uid):
                self._actor.log.info("pod %s is known to nobody; removing what it has on disk", uid)
                self._releases.begin(uid, None)

    def is_orphan(self, uid: str) -> bool:
        known = self._known
        taken = uid in self._since_known or self._is_wanted(uid) or uid in self._releases.uids()
        return known is not None and uid not in known and not taken


def _listed(done: Pending[tuple[str, ...]]) -> PodsListed:
    outcome = outcome_of(done)
    return PodsListed(outcome.value or (), "" if outcome.error is None else str(outcome.error))


def _scanned(done: Pending[DiskScan]) -> DiskScanned:
    outcome = outcome_of(done)
    return DiskScanned(outcome.value, "" if outcome.error is None else str(outcome.error))
