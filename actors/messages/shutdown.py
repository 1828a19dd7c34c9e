"""Messages from `ShutdownActor`. See `actors/messages/pods.py`."""

from __future__ import annotations

from actors.kernel import SoleMessage


class NodeShutdownObserved(SoleMessage, frozen=True):
    """ShutdownActor -> ResourceManagerActor: whether the node is going down; then it takes no pod."""

    going_down: bool
