"""A part of `ResourceManagerActor`: long affinities are evaluated on the pod's key of a lane.

An affinity may have 15,000 terms. Its answer depends on the labels of the node, which no worker knows. It is kept with
the spec (`config.pods.node_selection.selected`), where admission finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from actors.kernel import Actor, Message, handles
from config.objects import Node, Pod
from config.pods.node_selection import is_long, selected


class AffinityRead(Message, frozen=True):
    """To itself: the affinity of this pod has been evaluated for this node. `again`: as the question said."""

    uid: str
    node: Node
    again: bool


class Affinities:
    """See the module. `on_read`: told of each that was evaluated."""

    def __init__(self, manager: Actor, on_read: Callable[[str, Node, bool], None]) -> None:
        self._manager = manager
        self._on_read = on_read
        self._read: dict[str, Mapping[str, str]] = {}
        """UID of a pod -> the labels that its affinity was evaluated for."""

    def are_known(self, pod: Pod, node: Node, *, again: bool = False) -> bool:
        """Whether the affinity has been evaluated for this node, or is short.

        If not, `on_read` is called later.
        """
        uid, labels = pod.metadata.uid, node.metadata.labels
        if not is_long(pod.spec) or self._read.get(uid) is labels:
            return True
        lane = self._manager.lane("affinities", size=1, per_key=1)
        self._manager.attempt(
            lambda: lane.submit(uid, selected, pod.spec, labels, node.metadata.name),
            lambda _, __: AffinityRead(uid, node, again),
        )
        return False

    @handles(AffinityRead)
    def affinity_read(self, message: AffinityRead) -> None:
        """Work: constant: the affinity has been evaluated."""
        self._read[message.uid] = message.node.metadata.labels
        self._on_read(message.uid, message.node, message.again)

    def forget(self, uid: str) -> None:
        """The pod has ended."""
        self._read.pop(uid, None)
