"""The worker's part of a pod's history: it notices events, words them, and tells the `HistorianActor`.

Otherwise pure.

The worker does not keep the history. A worker that waits for a slow stop or a hanging runtime cannot answer questions,
and a worker that fails forgets everything. That is just when people ask. So each pass sends its news as one message,
and announces slow work before it begins. A pass without news sends nothing, so an idle pod costs nothing.
"""

from __future__ import annotations

import msgspec

from actors.events.history_words import DETAIL_LIMIT, begins, cause_of, decision, end, found, past, shortened
from actors.kernel import Actor, ActorRef
from actors.messages.history import (
    WAITING_FIRST,
    WAITING_LAST,
    HistoryEntry,
    HistoryKind,
    NoteHistory,
    PodWait,
)
from actors.model.observed import ObservedPod
from actors.pod_rules.actions import PodActions
from actors.pod_rules.lifecycle import BEGINNING, Event, PodStep

_STAGE, _DECISION, _EVENT, _END, _WAIT, _FAILURE = HistoryKind
_NOTHING: frozenset[tuple[str, str]] = frozenset()
_NOBODY: frozenset[str] = frozenset()


WAITS_AT_MOST = 32
"""Waits of one pod that are told. Nobody reads more."""


class PodHistory:
    def __init__(self, worker: Actor, uid: str, historian: ActorRef) -> None:
        self._worker = worker
        self._historian = historian
        self._uid = uid
        self._namespace = self._name = self._decided = ""
        self._life = BEGINNING
        self._entries: list[HistoryEntry] = []
        self._waits: tuple[PodWait, ...] = ()
        self._said: tuple[PodWait, ...] | None = None
        self._looked = False
        self._seen: ObservedPod | None = None
        self._past: tuple[HistoryEntry, ...] = ()
        """Entries about the time before this worker, until they are told."""
        self._ended: frozenset[str] = _NOBODY
        """Ids of containers whose end has been noted, while the runtime lists them."""

    def named(self, namespace: str, name: str) -> None:
        """Set the namespace and name of the pod."""
        self._namespace, self._name = namespace, name

    # --- what happens -----------------------------------------------------------------------------------------------

    def note(self, kind: HistoryKind, text: str, detail: str = "", at_wall_ns: int = 0) -> None:
        """Add an entry for now or for a past time."""
        at_wall_ns = at_wall_ns or self._worker.wall_ns()
        self._decided = ""
        both = text + detail
        if len(both) > DETAIL_LIMIT or not both.isprintable():  # nearly all are short enough together
            text, detail = shortened(text), shortened(detail)
        self._entries.append(HistoryEntry(kind, text, detail, at_wall_ns, at_wall_ns))

    def moved(self, event: Event, step: PodStep) -> None:
        """Note that an event has moved the pod's life."""
        before, self._life = self._life, step.life
        if step.life is before:
            return
        if step.moved:
            self.note(_STAGE, f"{step.life.stage}: {step.why}", cause_of(event, step.life))
        elif before.grace_seconds is not None and step.life.grace_seconds != before.grace_seconds:
            text = f"it is hurried: {step.life.grace_seconds} s of grace instead of {before.grace_seconds} s"
            self.note(_STAGE, text, cause_of(event, step.life))

    def decided(self, actions: PodActions) -> None:
        """Note what a pass is about to do. An equal decision with nothing in between is not noted again."""
        if actions.idle:
            return
        text, detail = decision(actions)
        if text != self._decided:
            self.note(_DECISION, f"decided to {text}", detail)
            self._decided = text

    def said(self, event_type: str, reason: str, message: str, container: str) -> None:
        """An event was recorded about the pod."""
        kind = _FAILURE if event_type == "Warning" else _EVENT
        subject = f"container {container}: " if container and container not in message else ""
        decided = self._decided
        self.note(kind, f"{subject}{message}", reason)
        self._decided = decided

    def seen(self, observed: ObservedPod) -> None:
        """Note what a look has shown.

        Each end is noted once. Containers that run before this worker started any are noted as found.
        """
        if observed is self._seen:
            return
        self._seen = observed
        ended: list[str] = []
        if not self._looked:
            self._past = tuple([HistoryEntry(_EVENT, *each, each[2]) for each in past(observed)[-WAITING_LAST:]])
        for container in observed.containers():
            if container.exited:
                ended.append(container.id)
                if container.id not in self._ended:
                    self.note(_END, *end(container), at_wall_ns=container.finished_at_ns)
            elif not self._looked and container.running:
                self.note(_EVENT, *found(container))
        self._looked = True
        if ended or self._ended:
            self._ended = frozenset(ended)

    def waits(self, waits: tuple[PodWait, ...]) -> None:
        """Set everything that the pod waits for now. New waits become part of the history."""
        if waits:
            waits = _few(waits)
        if waits != self._waits:
            known = {(wait.subject, wait.text) for wait in self._waits} if waits and self._waits else _NOTHING
            for wait in waits:
                if (wait.subject, wait.text) not in known:
                    self.note(_WAIT, begins(wait), wait.text if wait.reason else "")
            self._waits = waits

    def waits_no_longer(self, subject: str) -> bool:
        """The wait of `subject` is over. Returns whether other waits were told."""
        self._waits = tuple([wait for wait in self._waits if wait.subject != subject])
        return bool(self._waits)

    def anew(self) -> None:
        """The historian has lost the history: tell again with the next look what can be seen."""
        self._looked, self._ended, self._said, self._seen = False, _NOBODY, None, None

    def over(self) -> None:
        """The pod is gone.

        The actor that notices tells it, and that all waits are over, so the worker need not.
        """
        self._said = ()

    # --- telling ----------------------------------------------------------------------------------------------------

    def tell(self) -> None:
        """Tell what is new, if anything is."""
        entries, waits, life = self._entries, self._waits, self._life
        if not entries and waits == self._said:
            return
        if len(entries) > WAITING_FIRST + WAITING_LAST:
            del entries[WAITING_FIRST:-WAITING_LAST]
        since_ns = life.finished_at_ns or life.terminated_at_ns or life.terminating_at_ns or life.started_at_ns or 0
        self._historian.tell(
            NoteHistory(self._uid, self._namespace, self._name, life.stage, since_ns, tuple(entries), waits, self._past)
        )
        self._entries, self._past = [], ()
        self._said = waits


_MORE = PodWait("the pod", "", "it waits for more than is told here", "the status shows each container")


def _few(waits: tuple[PodWait, ...]) -> tuple[PodWait, ...]:
    """The first of the waits, in short words.

    Those of a pod may be thousands, and name images of any length.
    """
    first = tuple(map(_short, waits[:WAITS_AT_MOST]))
    return (*first, _MORE) if len(waits) > WAITS_AT_MOST else first


def _short(wait: PodWait) -> PodWait:
    if len(wait.subject) + len(wait.text) <= DETAIL_LIMIT:
        return wait
    return msgspec.structs.replace(wait, subject=shortened(wait.subject), text=shortened(wait.text))
