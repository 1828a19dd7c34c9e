"""`StorageActor`: the desired pods of this node, merged from all sources.

It owns the only record of what is desired and tells the sync loop each change, pod by pod, in the order of
`actors.sources.merge`. A source sends its full set after each reading. An unchanged set costs nothing, so the next
reading heals a lost message or a restart of this actor. A source with a watch sends only changes, and is asked for the
full set (`ReadAgain`) if this actor does not have it. The sync loop recovers with `PublishAgain`, which names the pods
it knows: it is then told every pod again, and the removal of those that are gone.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, MailboxOverflowed, handles
from actors.messages.events import pod_event
from actors.messages.pods import (
    Operation,
    PodChanged,
    PublishAgain,
    ReadAgain,
    SourceChanged,
    SourceRead,
    SourceReady,
    StorageStarted,
)
from actors.sources.merge import NOTHING, Duplicate, merge, merge_changes
from config.objects import Pod
from config.pods.identity import source_of

SECOND_NS = 1_000_000_000


class StorageActor(Actor):
    """See the module. `sources` names all sources; the node is ready when each has sent its first set."""

    mailbox_capacity: ClassVar[int] = 1_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef, events: ActorRef, sources: tuple[str, ...]) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._events = events
        self._sources = frozenset(sources)
        self._desire = NOTHING
        self._last_read: dict[str, tuple[Pod, ...]] = {}
        self._duplicates: dict[str, frozenset[tuple[str, str]]] = {}
        self._known_to_sync_loop: tuple[Pod, ...] = ()
        self._asked = 0
        """The number of the last question of the sync loop."""
        self._readers: dict[str, ActorRef] = {}
        """Sources that send changes -> the actor to ask for the full set."""

    def on_start(self) -> None:
        self._sync_loop.tell(StorageStarted())

    @handles(SourceRead)
    def source_read(self, message: SourceRead) -> None:
        source = message.source
        if message.pods is self._last_read.get(source):
            return
        merged = merge(self._desire, source, message.pods, self.wall_ns())
        self._desire = merged.desire
        self._last_read[source] = message.pods
        for change in merged.changes:
            self._sync_loop.tell(PodChanged(change.operation, change.pod, source))
        self._report(source, merged.duplicates)
        if merged.first:
            self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
            self._end_what_is_gone()

    @handles(SourceChanged)
    def source_changed(self, message: SourceChanged) -> None:
        source = message.source
        self._readers[source] = message.source_ref
        if source not in self._desire.sources:
            message.source_ref.tell(ReadAgain())
            return
        difference = merge_changes(self._desire, source, message.changed, message.gone, self.wall_ns())
        self._desire.take(source, difference)
        self._last_read.pop(source, None)
        for change in difference.changes:
            self._sync_loop.tell(PodChanged(change.operation, change.pod, source))

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        for reader in self._readers.values():
            reader.tell(ReadAgain())
        self._sync_loop.tell(StorageStarted())  # its `PublishAgain` may be lost too

    @handles(PublishAgain)
    def publish_again(self, message: PublishAgain) -> None:
        self._asked = message.number
        for source, pods in self._desire.sources.items():
            for desired in pods.values():
                self._sync_loop.tell(PodChanged(Operation.ADD, desired.pod, source))
            self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
        self._known_to_sync_loop = message.known
        self._end_what_is_gone()
        for reader in self._readers.values():
            reader.tell(ReadAgain())  # it may hold back status echoes, which are needed now

    def _end_what_is_gone(self) -> None:
        """Once every source is ready, remove the pods that the sync loop knows and nobody desires."""
        if not self._all_ready() or not self._known_to_sync_loop:
            return
        desired = self._desire.uids()
        for pod in self._known_to_sync_loop:
            if pod.metadata.uid not in desired:
                self._sync_loop.tell(PodChanged(Operation.REMOVE, pod, source_of(pod) or ""))
        self._known_to_sync_loop = ()

    def _all_ready(self) -> bool:
        return self._sources <= self._desire.sources.keys()

    def _report(self, source: str, duplicates: tuple[Duplicate, ...]) -> None:
        """Report each duplicate once, not at every reading."""
        known = self._duplicates.get(source, frozenset())
        for duplicate in duplicates:
            meta = duplicate.pod.metadata
            if (meta.uid, duplicate.reason) not in known:
                self.log.warning("pod %s/%s from %s: %s", meta.namespace, meta.name, source, duplicate.reason)
                self._events.tell(pod_event(duplicate.pod, "Warning", "FailedValidation", duplicate.reason))
        self._duplicates[source] = frozenset((each.pod.metadata.uid, each.reason) for each in duplicates)
