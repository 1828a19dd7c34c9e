"""`ApiSourceActor`: the pods that the API server has bound to this node (spec 1.1).

It follows them with a watch. The storage gets the full set after each list, and only changes in between. Simultaneous
changes share a message: a thousand pods bound at once are a few merges, and one changed pod costs one pod. Before the
first list nothing is sent: unknown pods are not the same as no pods.

A change of only the status is nearly always the echo of this node's own write. Nobody waits for it, so it is told a
second later together with others, or not at all if the pod goes or changes meanwhile.

While the API server is away, the pods seen last stay desired. On an island node (`actors/island`) that also holds over
a restart: until the first list, the pods are those that are remembered.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec

from actors.cluster.list_watch import Follower
from actors.kernel import ActorRef, Message, SoleMessage, handles
from actors.messages.island import IslandStarted, Recall, Recalled, ServerHeard, SetSeen
from actors.messages.pods import ListProblems, ReadAgain, SourceChanged, SourceProblem, SourceRead, SourceRemembered
from actors.sources.pod_changes import is_echo
from config.api.resources import PODS
from config.documents.sharing import shared
from config.objects import Pod, PodStatus
from config.pods.identity import SOURCE_API
from runtime.api import Api, ApiError

SECOND_NS = 1_000_000_000
FOLLOWED = "pods"
ECHO_NS = SECOND_NS
"""How long the echo of a status may wait."""
HEARD_NS = 30 * SECOND_NS
"""How often the memory of an island node is told that the watch still lives."""


class TellChanges(SoleMessage, frozen=True):
    """To itself: tell what has changed since the last time.

    It queues behind the changes that have arrived already.
    """


class TellEchoes(Message, frozen=True):
    """To itself: time to tell the gathered status echoes."""


class ApiSourceActor(Follower):
    """See the module. `island`: who remembers the pods; None: nobody."""

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(self, storage: ActorRef, api: Api, node_name: str, island: ActorRef | None = None) -> None:
        super().__init__(api)
        self._storage = storage
        self._island = island
        self._remembered: tuple[Pod, ...] | None = None
        """The pods told from memory; None: none are, or the API server has told its own."""
        self._heard_ns: int | None = None
        self._node_name = node_name
        self._pods: dict[str, Pod] = {}
        self._changed: dict[str, Pod] = {}
        self._echoes: dict[str, Pod] = {}
        """Pods of which only the status has changed; they can wait."""
        self._last_forms: dict[str, Pod] = {}
        """Last objects of deleted pods, when their grace period has not been told yet."""
        self._gone: set[str] = set()
        self._known = False
        self._newest: Pod | None = None
        """The pod that became known last, while it is here."""
        self._last_status: PodStatus | None = None

    def on_start(self) -> None:
        self.follow(FOLLOWED, PODS, field_selector=f"spec.nodeName={self._node_name}")

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        self._pods = {pod.metadata.uid: self._alike(pod) for pod in objects}
        self._known, self._remembered = True, None
        self._tell_all()

    def failing(self, key: Hashable, error: ApiError) -> None:
        """An answer that refuses comes from a server that is there: only silence makes an island."""
        if self._island is None or self._known or not error.outcome_unknown:
            return
        if self._remembered is None:
            self._island.tell(Recall(self.ref, (Pod.__name__,)))
        else:
            self._tell_remembered()  # in case the storage has begun anew

    @handles(Recalled)
    def recalled(self, message: Recalled) -> None:
        """Work: one reference to each pod."""
        if not self._known and self._remembered is None:
            self._remembered = tuple(each for each in message.objects if isinstance(each, Pod))
            self._tell_remembered()

    def _tell_remembered(self) -> None:
        self._storage.tell(SourceRemembered(SOURCE_API, self._remembered or ()))

    @handles(IslandStarted)
    def island_started(self, _: IslandStarted) -> None:
        """Work: one reference to each pod."""
        if self._known:
            self._tell_island()
        elif self._remembered is not None and self._island is not None:
            self._island.tell(Recall(self.ref, (Pod.__name__,)))

    def _tell_island(self) -> None:
        if self._island is not None:
            self._heard_ns = self.now_ns()
            self._island.tell(SetSeen(Pod.__name__, tuple(self._pods.values())))

    def in_touch(self, key: Hashable) -> None:
        now_ns = self.now_ns()
        if self._island is not None and (self._heard_ns is None or now_ns - self._heard_ns >= HEARD_NS):
            self._heard_ns = now_ns
            self._island.tell(ServerHeard())

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        pod: Pod = value
        uid = pod.metadata.uid
        if event_type == "DELETED":
            known = self._pods.pop(uid, None)
            self._share_no_more(uid, known)
            unheard = self._changed.pop(uid, None) is not None
            self._drop_echo(uid)
            if known is not None and (unheard or _grace_of(known) != _grace_of(pod)) and _grace_of(pod) is not None:
                self._last_forms[uid] = pod  # tells the grace period
            self._gone.add(uid)
        elif uid not in self._pods:
            self._pods[uid] = self._changed[uid] = self._alike(pod)
            self._gone.discard(uid)
        else:
            before = self._pods[uid]
            if pod.spec is not before.spec:
                pod = self._with_known_status(shared(pod, before))
            self._pods[uid] = pod
            if uid not in self._changed and is_echo(before, pod):
                if not self._echoes:
                    self.after(ECHO_NS, TellEchoes())
                self._echoes[uid] = pod
                return
            self._changed[uid] = pod
            self._drop_echo(uid)
        if self.has_mail():
            self.ref.tell(TellChanges())
        else:
            self.tell_changes(TellChanges())

    def _alike(self, pod: Pod) -> Pod:
        """A new pod that shares what it can with the one before: pods of one template come together."""
        before, self._newest = self._newest, pod
        if before is None or before.spec is pod.spec:
            return pod
        self._newest = shared(pod, before)
        return self._newest

    def _with_known_status(self, pod: Pod) -> Pod:
        """A pod that shares what it can of the status that came last."""
        status = self._last_status = shared(pod.status, self._last_status)
        return pod if status is pod.status else msgspec.structs.replace(pod, status=status)

    def _share_no_more(self, uid: str, known: Pod | None) -> None:
        """The pod is gone: do not hold it for others that would be like it."""
        if self._newest is not None and self._newest.metadata.uid == uid:
            self._newest = None
        if known is not None and known.status is self._last_status:
            self._last_status = None

    def _drop_echo(self, uid: str) -> None:
        if self._echoes.pop(uid, None) is not None and not self._echoes:
            self.cancel_timer(TellEchoes)

    @handles(TellEchoes)
    def tell_echoes(self, _: TellEchoes) -> None:
        """Work: one reference to each changed pod."""
        self._changed.update(self._echoes)
        self._echoes.clear()
        self.tell_changes(TellChanges())

    @handles(TellChanges)
    def tell_changes(self, _: TellChanges) -> None:
        """Work: one reference to each changed pod; on an island node, to each pod."""
        if not self._changed and not self._gone:
            return
        if self._last_forms:
            self._storage.tell(SourceChanged(SOURCE_API, tuple(self._last_forms.values()), frozenset(), self.ref))
            self._last_forms.clear()
        self._tell_island()
        changed, gone = tuple(self._changed.values()), frozenset(self._gone)
        self._changed.clear()
        self._gone.clear()
        self._storage.tell(SourceChanged(SOURCE_API, changed, gone, self.ref))

    @handles(ReadAgain)
    def read_again(self, _: ReadAgain) -> None:
        """Tell the full set again: the storage has lost changes.

        Work: one reference to each pod.
        """
        if self._known:
            self._tell_all()
        elif self._remembered is not None:
            self._tell_remembered()

    def _tell_all(self) -> None:
        self._last_forms.clear()
        self._changed.clear()
        self._echoes.clear()
        self._gone.clear()
        self._tell_island()
        self._storage.tell(SourceRead(SOURCE_API, tuple(self._pods.values())))

    @handles(ListProblems)
    def list_problems(self, _: ListProblems) -> tuple[SourceProblem, ...]:
        """Work: constant."""
        return tuple(SourceProblem(SOURCE_API, "the API server", "", text, fatal=False) for text in self.trouble())


def _grace_of(pod: Pod) -> int | None:
    """The grace period of its deletion in seconds; None while it is not being deleted."""
    return pod.metadata.deletion_grace_period_seconds
