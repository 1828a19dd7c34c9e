"""What the sync loop knows of each pod: who desires it, who works on it, and what is to come after."""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import RuntimePod
from config.objects import Pod
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
