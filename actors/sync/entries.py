"""What the sync loop knows of each pod: who desires it, who works on it, and what comes after."""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import RuntimePod
from config.objects import Pod
from config.pods.identity import full_name, is_static


class Standing(enum.Enum):
    """What the sources say of a pod."""

    DESIRED = "desired"
    GOING = "no longer desired; its worker is ending it"
    ORPHAN = "never desired; the runtime runs it; its worker is ending it"
    UNHEARD = "known from before a restart of the sync loop; the sources have not spoken since"


class PodEntry(msgspec.Struct, eq=False):
    """One pod. `pod`: its last known form. `restart`: the form to start anew with. `orphan`: what the runtime shows."""

    standing: Standing = Standing.UNHEARD
    pod: Pod | None = None
    orphan: RuntimePod | None = None
    static: bool = False
    name: str = ""
    source: str = ""
    worker: ActorRef | None = None
    lives: int = 0
    """How often a worker of it has begun, plus a start value."""
    restart: Pod | None = None
    waits_for: str = ""
    """Why it has no worker yet, as the historian was told."""
    ended: bool = False
    """It is to be deleted and its worker has finished: there is nothing to start any more."""
    released: bool = False
    """Nothing of it runs any more, and nothing will."""
    turned_away: bool = False
    """The node does not admit it."""
    finished: bool = False
    """Nothing is mounted for it any more either."""

    __repr__ = object.__repr__  # a close look shows the fields, each in short

    def adopt(self, pod: Pod, source: str) -> None:
        """The pod is desired in this form."""
        self.standing = Standing.DESIRED
        self.source = source
        self.pod = pod
        self.orphan = None
        self.restart = None
        self.static = is_static(pod)
        self.name = full_name(pod)

    def is_to_be_deleted(self) -> bool:
        """Whether its object in the API waits for its end."""
        return self.pod is not None and self.pod.metadata.deletion_timestamp is not None

    def is_ending(self) -> bool:
        return self.standing in (Standing.GOING, Standing.ORPHAN)

    def has_begun(self) -> bool:
        """False for one that was quarantined before it could begin."""
        return self.pod is not None or self.worker is not None
