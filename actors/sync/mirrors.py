"""What the sync loop tells `MirrorPodActor`: the static pods, and the mirror pods that the API server shows.

A mirror pod only represents a static pod in the API. The static pod runs under another UID, so a mirror pod never gets
a worker. A standalone node has no such actor, and nothing is told.
"""

from __future__ import annotations

from actors.kernel import Message, handles
from actors.messages.mirrors import MirrorActorStarted, MirrorPodChanged, StaticPodDesired, StaticSourcesReady
from actors.messages.pods import Operation, PodChanged
from actors.pod.services import PodServices
from actors.sync.state import SyncState
from config.objects import Pod


class MirrorPods:
    """See the module."""

    def __init__(self, state: SyncState, services: PodServices) -> None:
        self._state = state
        self._listener = services.mirrors
        self._mirrors: dict[str, Pod] = {}

    def __len__(self) -> int:
        return len(self._mirrors)

    def tell(self, message: Message) -> None:
        if self._listener is not None:
            self._listener.tell(message)

    def changed(self, change: PodChanged) -> None:
        """The API server shows a mirror pod in another form, or no longer."""
        uid = change.pod.metadata.uid
        if change.operation is Operation.REMOVE:
            self._mirrors.pop(uid, None)
        else:
            self._mirrors[uid] = change.pod
        self.tell(MirrorPodChanged(change.operation, change.pod))

    @handles(MirrorActorStarted)
    def mirror_actor_started(self, _: MirrorActorStarted) -> None:
        """Tell the actor the mirrors first, so that it does not create existing ones."""
        for mirror in self._mirrors.values():
            self.tell(MirrorPodChanged(Operation.ADD, mirror))
        for entry in self._state.entries.values():
            if entry.static and entry.worker is not None and entry.pod is not None and not entry.is_ending():
                self.tell(StaticPodDesired(entry.pod))
        if self._state.all_ready:
            self.tell(StaticSourcesReady())
