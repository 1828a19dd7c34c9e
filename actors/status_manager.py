"""`StatusManagerActor`: the published status of every pod of this node (spec 4.5).

A status leaves the node through here and nowhere else. Workers tell what they compute; what is published follows the
rules of `actors.published_status`; each change has a version, and what changes nothing is not published. Nothing is
on disk: after a restart the workers are asked to tell again.

There is no API server yet. It will sit behind `_publish`: one patch in flight per pod, the newest version wins, and the
final deletion of a pod that is `final`.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, MailboxOverflowed, handles
from actors.messages import ListPods, PodForgotten, PodStatusChanged, StatusManagerStarted
from actors.published_status import next_status
from config.objects import Pod, PodStatus
from config.pod_identity import display_name

SECOND_NS = 1_000_000_000


class _Published:
    """The status of one pod as published; `version` counts its changes."""

    __slots__ = ("final", "pod", "status", "version")

    def __init__(self, pod: Pod, status: PodStatus) -> None:
        self.pod = pod
        self.status = status
        self.version = 0
        self.final = False


class StatusManagerActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._pods: dict[str, _Published] = {}

    def on_start(self) -> None:
        self._sync_loop.tell(StatusManagerStarted())

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        self._sync_loop.tell(StatusManagerStarted())

    @handles(PodStatusChanged)
    def pod_status_changed(self, message: PodStatusChanged) -> None:
        uid = message.pod.metadata.uid
        known = self._pods.get(uid)
        status = next_status(None if known is None else known.status, message.status)
        if known is None:
            known = self._pods[uid] = _Published(message.pod, message.status)
        elif status is None:
            self.log.warning(
                "pod %s has ended as %s; a status of phase %s is not published",
                display_name(message.pod),
                known.status.phase,
                message.status.phase,
            )
            status = known.status
        changed = known.version == 0 or status is not known.status or (message.final and not known.final)
        known.pod = message.pod
        known.final = known.final or message.final
        if changed and status is not None:
            known.status = status
            known.version += 1
            self._publish(known)

    @handles(PodForgotten)
    def pod_forgotten(self, message: PodForgotten) -> None:
        self._pods.pop(message.uid, None)

    @handles(ListPods)
    def list_pods(self, _: ListPods) -> tuple[Pod, ...]:
        return tuple(msgspec.structs.replace(each.pod, status=each.status) for each in self._pods.values())

    def _publish(self, published: _Published) -> None:
        """A new version of a pod's status leaves the node: for now it is only said."""
        self.log.debug(
            "pod %s: status %d, phase %s", display_name(published.pod), published.version, published.status.phase
        )
