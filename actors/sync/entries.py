"""What the sync loop knows of each pod: its source, its worker, and what follows after its end."""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import RuntimePod
from config.objects import Pod
from config.pods.identity import full_name, is_static


class Standing(enum.Enum):
    """Whether the sources desire a pod."""

    DESIRED = "desired"
    GOING = "no longer desired; its worker is ending it"
    ORPHAN = "never desired; the runtime runs it; its worker is ending it"
    UNREPORTED = "known from before a restart of the sync loop; the sources have not spoken since"


class PodEntry(msgspec.Struct, eq=False):
    """One pod. `pod`: its last known form. `restart`: the form to start anew with. `orphan`: what the runtime shows."""

    standing: Standing = Standing.UNREPORTED
    pod: Pod | None = None
    orphan: RuntimePod | None = None
    static: bool = False
    name: str = ""
    source: str = ""
    worker: ActorRef | None = None
    lives: int = 0
    """How many workers it has had, plus a start value."""
    restart: Pod | None = None
    waits_for: str = ""
    """The last reason told to the historian why it has no worker yet."""
    ended: bool = False
    """It is to be deleted, and its worker has finished: nothing is left to start."""
    released: bool = False
    """Nothing of it runs any more, and nothing will."""
    turned_away: bool = False
    """The node does not admit it."""
    finished: bool = False
    """Its volumes are taken down as well."""

    __repr__ = object.__repr__  # the default repr would show every field in full

    def adopt(self, pod: Pod, source: str) -> None:
        """A source desires the pod in this form."""
        self.standing = Standing.DESIRED
        self.source = source
        self.pod = pod
        self.orphan = None
        self.restart = None
        self.static = is_static(pod)
        self.name = full_name(pod)

    def is_to_be_deleted(self) -> bool:
        """Whether its API object waits for its end."""
        return self.pod is not None and self.pod.metadata.deletion_timestamp is not None

    def is_ending(self) -> bool:
        return self.standing in (Standing.GOING, Standing.ORPHAN)

    def has_begun(self) -> bool:
        """Whether it has begun. False for a pod quarantined before that."""
        return self.pod is not None or self.worker is not None
