"""What the sync loop knows of each pod: who desires it, who works on it, and what is to come after.

`NameLines`: one static pod of a full name runs at a time, first come, first served (spec 2.6, pains 7).
"""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import RuntimePod
from actors.pod_status.conditions import foreign
from actors.sync.census import has_ended
from config.objects import Pod, PodCondition
from config.pods.identity import full_name, is_static


class Standing(enum.Enum):
    """What the sources say of a pod that the node has to do with."""

    DESIRED = "desired"
    GOING = "desired no more; its worker is ending it"
    ORPHAN = "never desired; the runtime runs it; its worker is ending it"
    UNHEARD = "known before a restart of the sync loop; the sources have not spoken since"


DESIRED, GOING, ORPHAN, UNHEARD = Standing
"""The same by name: a member of an enum costs ten times a global name."""
_ENDING = (GOING, ORPHAN)


class Entry(msgspec.Struct, eq=False):
    """One pod this node has to do with. `pod` is the last object known of it; `restart` the one to start anew with."""

    standing: Standing = UNHEARD
    pod: Pod | None = None
    orphan: RuntimePod | None = None
    static: bool = False
    name: str = ""
    source: str = ""
    worker: ActorRef | None = None
    lives: int = 0
    """Grows as often as a worker of it begins."""
    restart: Pod | None = None
    waits_for: str = ""
    """Why it has no worker yet, as the historian was told."""
    ended: bool = False
    """Its worker has finished with a pod that is to be deleted: there is nothing to start any more."""
    released: bool = False
    """Nothing of it runs any more, and nothing will."""
    turned_away: bool = False
    """The node does not take it."""
    finished: bool = False
    """Nor is anything mounted for it."""

    __repr__ = object.__repr__  # a close look shows the fields, each in short

    def adopt(self, pod: Pod, source: str) -> None:
        """The pod is desired, in this form."""
        self.standing = DESIRED
        self.source = source
        self.pod = pod
        self.orphan = None
        self.restart = None
        self.static = is_static(pod)
        self.name = full_name(pod)

    def is_to_be_deleted(self) -> bool:
        """Its object in the API waits for its end."""
        return self.pod is not None and self.pod.metadata.deletion_timestamp is not None

    def is_ending(self) -> bool:
        return self.standing in _ENDING


def concerns_worker(before: Pod | None, now: Pod) -> bool:
    """Whether a change of the status alone says anything to the pod's worker. Pure.

    Nearly every one is the echo of what the worker has computed itself. Its end in the API it waits for; conditions of
    others are part of what it computes, be they gates of the pod's readiness or not.
    """
    return has_ended(now) or depends_on_others(before, now)


def depends_on_others(before: Pod | None, now: Pod) -> bool:
    """Whether what others write into the status, as far as that is different now, is part of what the node computes."""
    return bool(now.spec.readiness_gates) or _of_others(before) != _of_others(now)


def _of_others(pod: Pod | None) -> tuple[PodCondition, ...]:
    return () if pod is None or pod.status is None else foreign(pod.status.conditions)


class NameLines:
    """See the module."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def join(self, name: str, uid: str) -> None:
        """Stand at the end; one that stands in the line stays where it is."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.append(uid)

    def goes_first(self, name: str, uid: str) -> None:
        """It has run since before the others came; one that stands in the line already stays where it is."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.insert(0, uid)

    def first(self, name: str) -> str:
        """Whose turn it is; empty where nobody waits."""
        line = self._lines.get(name)
        return line[0] if line else ""

    def leave(self, name: str, uid: str) -> str:
        """Nothing of it is left. Whose turn it is now; empty where that is nobody, or the line did not know it."""
        line = self._lines.get(name)
        if line is None or uid not in line:
            return ""
        line.remove(uid)
        if not line:
            del self._lines[name]
        return self.first(name)
