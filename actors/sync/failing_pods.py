"""Isolates pods on which the sync loop itself fails: each goes into quarantine (`quarantine`).

Without this, the sync loop would restart, ask for all pods, fail on the same one, and restart later each time. The pods
behind it would wait for minutes. A pod in quarantine keeps its worker, which goes on with what it knows. Nothing of the
pod counts as a leftover, and its name stays taken.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.kernel import Actor, Message, handles
from actors.messages.events import pod_event
from actors.messages.pods import PodChanged
from actors.pod.services import PodServices
from actors.sync.entries import PodEntry, Standing
from actors.sync.state import SyncState
from config.pods.identity import full_name, is_mirror, is_static


class RetryQuarantined(Message, frozen=True):
    """SyncLoopActor to itself: try the change of this pod again."""

    uid: str


class FailingPods:
    """See the module. `meet`: how the sync loop handles a change."""

    def __init__(
        self, sync_loop: Actor, state: SyncState, services: PodServices, meet: Callable[[PodChanged], None]
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._meet = meet

    def meet(self, change: PodChanged) -> None:
        """Handle a change, unless the pod is in quarantine in this very form."""
        if not self._state.quarantine.holds(change):
            self.attempt(change, lambda: self._meet(change))

    def attempt(self, change: PodChanged, action: Callable[[], None]) -> None:
        """Act for a pod. A failure puts only this pod into quarantine."""
        before = self._state.quarantine.find(change.pod.metadata.uid)
        try:
            action()
        except Exception as failure:
            self._quarantine(change, failure)
        else:
            if before is not None:
                self._state.quarantine.release(before)

    @handles(RetryQuarantined)
    def retry(self, message: RetryQuarantined) -> None:
        quarantined = self._state.quarantine.find(message.uid)
        if quarantined is not None:
            change = quarantined.change
            self.attempt(change, lambda: self._meet(change))

    def _quarantine(self, change: PodChanged, failure: Exception) -> None:
        """The pod stays known and keeps its worker; nothing else is done for it."""
        quarantined, pod, state = self._state.quarantine.failed(change, failure), change.pod, self._state
        uid = pod.metadata.uid
        # Log the stack of the first failure only.
        trace = failure if quarantined.failures == 1 else None
        self._sync_loop.log.error("failed on pod %s: %s", full_name(pod), quarantined.cause, exc_info=trace)
        self._sync_loop.after(quarantined.retry_in_ns, RetryQuarantined(uid), key=("try again", uid))
        if is_mirror(pod):
            return
        entry = state.entries.setdefault(uid, PodEntry())
        entry.pod = entry.restart = None
        entry.standing, entry.static, entry.name = Standing.DESIRED, is_static(pod), entry.name or full_name(pod)
        entry.worker = entry.worker or self._sync_loop.children.get(uid)
        state.unreported.discard(uid)
        if entry.static:
            (state.lines.join if entry.worker is None else state.lines.goes_first)(entry.name, uid)
        if quarantined.failures > 1:
            text = f"the agent fails on this pod and leaves it as it is, until it changes: {quarantined.cause}"
            self._services.events.tell(pod_event(pod, "Warning", "FailedSync", text))
