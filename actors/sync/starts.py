"""Which pods may start now, and why the others wait.

A pod starts at once, unless it is static. Static pods of one full name run one at a time, first come first served. The
next starts when nothing of the one before is left, neither a worker nor an orphan in the runtime (spec 2.6, pains 7).
That needs the pod's own source and the first list of the runtime, but never the API server.
"""

from __future__ import annotations

from actors.events.history_words import name_wait
from actors.kernel import Actor, Message, handles
from actors.messages.pods import Operation, PodChanged, RuntimeStateObserved
from actors.messages.status import PodStatusChanged
from actors.pod.services import PodServices
from actors.sync.entries import PodEntry
from actors.sync.failing_pods import FailingPods
from actors.sync.notes import waits_for_its_turn
from actors.sync.orphans import OrphanPods
from actors.sync.state import SyncState
from actors.sync.workers import PodWorkers
from config.objects import Pod, PodStatus


class EndOnceMore(Message, frozen=True):
    """SyncLoopActor to itself: find pods that should have left the API and have not."""


class PodStarts:
    """See the module."""

    def __init__(
        self,
        sync_loop: Actor,
        state: SyncState,
        services: PodServices,
        workers: PodWorkers,
        orphans: OrphanPods,
        failing: FailingPods,
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._workers = workers
        self._orphans = orphans
        self._failing = failing

    def start_if_allowed(self, uid: str, entry: PodEntry) -> None:
        pod = entry.pod
        if entry.worker is None and not entry.ended and pod is not None:
            change = PodChanged(Operation.ADD, pod, entry.source)
            self._failing.attempt(change, lambda: self.start_or_wait(uid, entry, pod))

    def start_all_allowed(self) -> None:
        for uid, entry in list(self._state.entries.items()):
            self.start_if_allowed(uid, entry)

    def start_next_of(self, name: str, uid: str) -> None:
        """Nothing of a pod is left: the next of its name may start."""
        following = self._state.lines.leave(name, uid)
        if following in self._state.entries:
            self.start_if_allowed(following, self._state.entries[following])

    def start_or_wait(self, uid: str, entry: PodEntry, pod: Pod) -> None:
        """Start the pod's worker, unless it is a static pod that must wait for its name."""
        if not entry.static or self.may_start_static(uid, entry):
            self._workers.start(uid, entry)
            return
        # Until its source and the runtime have spoken, the pod may be running, so it is not "Pending".
        known = self._state.unknown is not None and entry.source in self._state.ready
        self._note_name_wait(uid, entry)
        waits = PodStatus(phase="Pending") if known else PodStatus()
        self._services.status_manager.tell(PodStatusChanged(pod, waits, seen=known))

    def may_start_static(self, uid: str, entry: PodEntry) -> bool:
        """Whether it is the pod's turn: it is first in the line of its name, and no orphan of that name runs."""
        state = self._state
        state.lines.join(entry.name, uid)
        if state.unknown is None or entry.source not in state.ready or state.unreported:
            return False
        return state.lines.first(entry.name) == uid and not self._orphans.end_named(entry.name)

    def _note_name_wait(self, uid: str, entry: PodEntry) -> None:
        """Tell the historian why the pod waits: it has no worker to do that."""
        state = self._state
        first = state.lines.first(entry.name)
        text = name_wait(
            heard=entry.source in state.ready and not state.unreported,
            listed=state.unknown is not None,
            ahead=first if first != uid else "",
            orphan=first == uid,
            away=self._workers.why_runtime_is_away(),
        )
        if entry.pod is not None and text != entry.waits_for:
            entry.waits_for = text
            self._services.historian.tell(waits_for_its_turn(entry.pod, text, self._sync_loop.wall_ns()))

    @handles(RuntimeStateObserved)
    def runtime_state(self, message: RuntimeStateObserved) -> None:
        """Pods without a worker may wait for the runtime, so update their notes."""
        self._workers.runtime_state(message)
        if self._state.unknown is None:
            for uid, entry in self._state.entries.items():
                if entry.waits_for and entry.worker is None:
                    self._note_name_wait(uid, entry)

    @handles(EndOnceMore)
    def end_once_more(self, _: EndOnceMore) -> None:
        """Give ended pods that are still in the API a worker again: the status manager has restarted and lost their
        end. By now the API shows what was written last.
        """
        for uid, entry in list(self._state.entries.items()):
            if entry.ended and entry.worker is None:
                entry.ended = False
                self.start_if_allowed(uid, entry)
