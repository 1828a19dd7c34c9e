"""The history of a pod as data, and what is said about it: by those who make it, and to those who ask.

Everything is immutable, and short: a history is for people, and a node has thousands of pods. Times are wall-clock
nanoseconds.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Self

import msgspec

from actors.kernel import Message, SoleMessage
from config.objects import Pod

WAITING_FIRST, WAITING_LAST = 16, 48
"""Limit of the waiting entries of one pod: its first and its last ones.

The history keeps no more, and a busy machine may let it wait for long.
"""


class HistoryKind(enum.StrEnum):
    """The subject of an entry."""

    STAGE = "stage"
    """The pod's life has moved on; the rule in `pod_lifecycle` gives the reason."""
    DECISION = "decision"
    """The next actions, and their reasons."""
    EVENT = "event"
    """Something was done or seen that is also an event."""
    END = "end"
    """A container has ended."""
    WAIT = "wait"
    """It began to wait for something."""
    FAILURE = "failure"
    """A call or a worker failed."""


class HistoryEntry(msgspec.Struct, frozen=True, gc=False):
    """Something that happened, `count` times, first and last at these times.

    `detail` is of the last time.
    """

    kind: HistoryKind
    text: str
    detail: str
    first_wall_ns: int
    last_wall_ns: int
    count: int = 1


class PodWait(msgspec.Struct, frozen=True, gc=False):
    """One wait of a pod: `subject` (the volumes, container app) waits because of `text`.

    `then` is the next step.

    `reason` is the reason in the status, if any. `until_wall_ns`: the time of `then`; None if it does not depend on
    time.
    """

    subject: str
    reason: str
    text: str
    then: str
    until_wall_ns: int | None = None


class NoteHistory(Message, frozen=True):
    """PodWorker, SyncLoopActor -> HistorianActor: this happened to the pod.

    `waits`: everything that it waits for from now on.

    `stage`: of its life, since `since_wall_ns`. An empty `stage` and `waits` None change nothing. `past`: earlier
    events that can still be seen; used only if the history has had none yet. `gone_wall_ns`: since when the node is
    done with the pod, or None. Waiting notes of one pod merge into one message.
    """

    uid: str
    namespace: str
    name: str
    stage: str
    since_wall_ns: int
    entries: tuple[HistoryEntry, ...] = ()
    waits: tuple[PodWait, ...] | None = None
    past: tuple[HistoryEntry, ...] = ()
    gone_wall_ns: int | None = None

    def coalesce_key(self) -> Hashable:
        return self.uid

    def merged(self, waiting: Self) -> Self:
        entries = waiting.entries + self.entries
        if len(entries) > WAITING_FIRST + WAITING_LAST:
            entries = entries[:WAITING_FIRST] + entries[-WAITING_LAST:]
        if self.name and self.stage and self.waits is not None:  # the form in which a worker tells it
            return msgspec.structs.replace(self, entries=entries, past=waiting.past or self.past)
        named, staged = (self if self.name else waiting), (self if self.stage else waiting)
        return type(self)(
            self.uid,
            named.namespace,
            named.name,
            staged.stage,
            staged.since_wall_ns,
            entries,
            waiting.waits if self.waits is None else self.waits,
            waiting.past or self.past,
            self.gone_wall_ns,
        )


def gone(uid: str, wall_ns: int) -> NoteHistory:
    """SyncLoopActor -> HistorianActor: this node is done with the pod, and nothing is waited for any more."""
    return NoteHistory(uid, "", "", "", 0, waits=(), gone_wall_ns=wall_ns)


class HistorianStarted(SoleMessage, frozen=True):
    """HistorianActor -> SyncLoopActor -> every PodWorker: I know nothing (any more).

    Tell what can be seen.
    """


def note_of(pod: Pod, kind: HistoryKind, text: str, detail: str, wall_ns: int) -> NoteHistory:
    """A note of one entry, from a sender that does not know the pod's stage."""
    meta = pod.metadata
    entry = HistoryEntry(kind, text, detail, wall_ns, wall_ns)
    return NoteHistory(meta.uid, meta.namespace, meta.name, "", 0, (entry,))


class PodStory(msgspec.Struct, frozen=True):
    """All that is remembered of one pod.

    `entries` oldest first; `dropped` of them, from the middle, are forgotten.

    `gone_wall_ns`: when this node was done with it, None while it is not.
    """

    uid: str
    namespace: str
    name: str
    stage: str
    since_wall_ns: int
    entries: tuple[HistoryEntry, ...]
    dropped: int
    waits: tuple[PodWait, ...]
    gone_wall_ns: int | None = None


class KnownPod(msgspec.Struct, frozen=True):
    """A pod that has a history. `gone`: this node is done with it."""

    uid: str
    namespace: str
    name: str
    gone: bool


class TellHistory(Message, frozen=True):
    """Edge -> HistorianActor (ask): the `PodStory` of this UID, or None."""

    uid: str


class ListHistories(Message, frozen=True):
    """Edge -> HistorianActor (ask): every pod that has a history, as `tuple[KnownPod, ...]`."""
