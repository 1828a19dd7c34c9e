"""The data that the parts of the sync loop share. Each field says who changes it."""

from __future__ import annotations

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import KnownPods, RuntimePod
from actors.sync.entries import PodEntry
from actors.sync.name_lines import NameLines
from actors.sync.quarantine import Quarantine
from config.objects import Pod


class SyncState(msgspec.Struct, eq=False):
    """See the module. `sources`: the names of the sources that will tell their pods."""

    sources: frozenset[str]
    entries: dict[str, PodEntry] = {}
    """By UID. The sync loop adds and removes entries; the parts change their fields."""
    lines: NameLines = msgspec.field(default_factory=NameLines)
    quarantine: Quarantine = msgspec.field(default_factory=Quarantine)
    ready: set[str] = set()
    """The sources that have told all of their pods since the sync loop began. The sync loop adds them."""
    all_ready: bool = False
    """Whether every source has told all of its pods."""
    unreported: set[str] = set()
    """UIDs from before a restart that no source has named since."""
    unknown: tuple[RuntimePod, ...] | None = None
    """The pods that the runtime runs and no worker has announced; None until the first list."""

    def form_of(self, uid: str, entry: PodEntry) -> Pod | None:
        """The last known form of a pod, even of one in quarantine."""
        return entry.pod or self.quarantine.form_of(uid)

    def workers(self) -> tuple[tuple[str, ActorRef], ...]:
        """Every worker, with the UID of its pod."""
        workers = ((uid, entry.worker) for uid, entry in self.entries.items())
        return tuple((uid, worker) for uid, worker in workers if worker is not None)

    @property
    def is_complete(self) -> bool:
        """Whether all sources and the runtime have told their pods, so that no other can turn up."""
        return self.all_ready and self.unknown is not None

    def known_pods(self) -> KnownPods | None:
        """All pods; None while others may turn up."""
        return KnownPods(frozenset(self.entries)) if self.is_complete else None
