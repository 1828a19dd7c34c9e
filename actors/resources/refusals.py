"""A part of `ResourceManagerActor`: the pods that it refused, for `actorlet explain` and the Node.

It keeps what the node was like at the moment of each refusal. The functions of `explain --what-if` say later, on the
thread of whoever asks, what excluded the pod and who would have to go. A refused pod may wait for that question for
days, so only the last `REFUSALS_MAX` are kept; those of an unchanged node share one copy.

Owners whose pods are refused again and again are told to `NodeStatusActor`, which has a condition for them. An event of
the node counts these pods.
"""

from __future__ import annotations

from actors.kernel import Actor, ActorRef, SoleMessage, handles
from actors.messages.node import RefusedOwner, RefusedOwnersObserved
from actors.node_object.conditions import REFUSALS
from actors.node_object.events import node_event
from actors.resources.refused_owners import RefusedOwners
from actors.resources.verdict import Rejected
from actors.resources.what_if import KnownNode, Refusal, TellRefusal
from config.objects import Pod

REFUSALS_MAX = 64


class LookForCalm(SoleMessage, frozen=True):
    """To itself: an owner may have had no refused pod for a while."""


class Refusals:
    """See the module. `node_status` None: there is no Node object."""

    def __init__(self, manager: Actor, node_name: str, events: ActorRef, node_status: ActorRef | None) -> None:
        self._manager = manager
        self._node_name = node_name
        self._events = events
        self._node_status = node_status
        self._owners = RefusedOwners()
        self._told: tuple[RefusedOwner, ...] = ()
        self._kept: dict[str, Refusal] = {}
        """By UID of the pod; the last one is last."""

    def refused(self, pod: Pod, verdict: Rejected, node: KnownNode | None) -> None:
        """A pod was refused. `node`: what that was decided by, without the pod; None if that is not known."""
        if node is not None:
            self._keep(pod.metadata.uid, node)
        owner = self._owners.refuse(pod, verdict, self._manager.now_ns())
        if owner is not None:
            text = f"Pods of {owner.kind} {owner.name} are refused again and again: {verdict.reason}"
            self._events.tell(node_event(self._node_name, "Warning", REFUSALS, text))
            self._tell()

    def _keep(self, uid: str, node: KnownNode) -> None:
        last = next(reversed(self._kept.values())).node if self._kept else None
        self._kept.pop(uid, None)
        self._kept[uid] = Refusal(self._manager.wall_ns(), last if last is not None and last == node else node)
        if len(self._kept) > REFUSALS_MAX:
            del self._kept[next(iter(self._kept))]

    def admitted(self, pod: Pod) -> None:
        """A pod was admitted."""
        self._owners.admit(pod)
        if self._told:
            self._tell()

    def _tell(self) -> None:
        now_ns = self._manager.now_ns()
        told = self._owners.told(now_ns)
        if told != self._told:
            self._told = told
            self.tell()
        calm_in_ns = self._owners.calm_in_ns(now_ns)
        if calm_in_ns is not None:
            self._manager.after(calm_in_ns, LookForCalm())

    def tell(self) -> None:
        """Tell the node of all such owners."""
        if self._node_status is not None:
            self._node_status.tell(RefusedOwnersObserved(self._told))

    @handles(LookForCalm)
    def look_for_calm(self, _: LookForCalm) -> None:
        """Work: the owners that are counted."""
        self._tell()

    @handles(TellRefusal)
    def tell_refusal(self, question: TellRefusal) -> Refusal | None:
        """Work: constant."""
        return self._kept.get(question.uid)
