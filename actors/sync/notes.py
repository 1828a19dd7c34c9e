"""What the sync loop tells the historian about pods without a worker that could tell it. Pure."""

from __future__ import annotations

from actors.events.history_words import shortened
from actors.messages.history import HistoryEntry, HistoryKind, NoteHistory, PodWait
from actors.pod_rules.lifecycle import PodStage
from config.objects import Pod


def waits_for_its_turn(pod: Pod, why: str, wall_ns: int) -> NoteHistory:
    """The pod has no worker yet, because others of its name come first."""
    entry = HistoryEntry(HistoryKind.WAIT, f"the pod waits for its turn: {why}", "", wall_ns, wall_ns)
    wait = PodWait("the pod", "", why, "it is started then")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, PodStage.WAITING.value, wall_ns, (entry,), (wait,))


def worker_failed(pod: Pod, text: str, wall_ns: int) -> NoteHistory:
    """A worker has failed. It forgets all it knew, so the sync loop tells this."""
    why = shortened(text)
    entry = HistoryEntry(HistoryKind.FAILURE, why, "", wall_ns, wall_ns)
    wait = PodWait("the pod", "FailedSync", why, "the worker is started again, and looks for itself")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, "", 0, (entry,), (wait,))
