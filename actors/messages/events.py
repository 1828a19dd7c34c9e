"""Messages to `EventRecorderActor`. See `actors/messages/pods.py`."""

from __future__ import annotations

import msgspec
from msgspec.structs import force_setattr

from actors.kernel import Message
from config.objects import Pod

MESSAGE_LIMIT = 1024
"""Characters of a message, as `events.k8s.io` has it. The name of an image alone may have a million."""
_TAIL = 256
"""The end of a long message stays: the reason often stands there."""


class RecordEvent(Message, frozen=True, cache_hash=True):
    """Anybody -> EventRecorderActor: an event about a pod or the node (spec 15).

    `type` is Normal or Warning; `field_path` is such as `spec.containers{web}`, empty for the pod as a whole; `uid`
    empty with `kind` Node means the node itself. `message` loses its middle beyond `MESSAGE_LIMIT`. `annotations`: of
    the event, for programs.
    """

    kind: str
    uid: str
    namespace: str
    name: str
    type: str
    reason: str
    message: str
    field_path: str = ""
    annotations: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if len(self.message) > MESSAGE_LIMIT:
            force_setattr(self, "message", _without_middle(self.message))


def _without_middle(text: str) -> str:
    hole = f" ...({len(text)} characters)... "
    return f"{text[: MESSAGE_LIMIT - _TAIL - len(hole)]}{hole}{text[-_TAIL:]}"


class PodEventsOver(Message, frozen=True):
    """SyncLoopActor -> EventRecorderActor: the pod's events will not come again.

    This node is done with the pod.
    """

    uid: str


def pod_event(pod: Pod, event_type: str, reason: str, message: str, field_path: str = "") -> RecordEvent:
    """An event about `pod`."""
    meta = pod.metadata
    return RecordEvent("Pod", meta.uid, meta.namespace, meta.name, event_type, reason, message, field_path)


class RecordedEvent(msgspec.Struct, frozen=True):
    """An event as it is kept: how often it came, and when first and last (ns since 1970)."""

    event: RecordEvent
    count: int
    first_wall_ns: int
    last_wall_ns: int
