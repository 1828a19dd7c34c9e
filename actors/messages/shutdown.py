"""What `ShutdownActor` says to others. See `actors/messages/pods.py`."""

from __future__ import annotations

from collections.abc import Hashable

from actors.kernel import Message


class NodeShutdownObserved(Message, frozen=True):
    """ShutdownActor -> ResourceManagerActor: whether the node is going down; then it takes no pod."""

    going_down: bool

    def coalesce_key(self) -> Hashable:
        return "shutdown"
