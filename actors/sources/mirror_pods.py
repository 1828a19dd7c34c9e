"""`MirrorPodActor`: the only actor that creates and deletes mirror pods in the API (spec 1.7).

A mirror pod is a copy of the static pod that the node creates. An annotation has the hash of the static pod's
configuration, and the Node is its owner. It runs nothing. A mirror pod that is out of date or being deleted is deleted
and created again.

The actor hears which static pods run (`StaticPodDesired`, `StaticPodGone`), which mirror pods the API shows
(`MirrorPodChanged`), and which Node owns them. `mirror_operation` decides what to do about each name. Each name has one
call at a time, and is judged again when the call ends. Failures are retried with growing pauses. Static pods never wait
for any of this. The status manager hears which object shows which pod.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, MailboxOverflowed, Message, Pending, handles, outcome_of
from actors.messages.mirrors import (
    MirrorActorStarted,
    MirrorPodChanged,
    MirrorPodSeen,
    StaticPodDesired,
    StaticPodGone,
    StaticSourcesReady,
)
from actors.messages.pods import FollowNode, NodeObserved, Operation
from actors.messages.status import StatusManagerStarted
from config.api.resources import PODS
from config.objects import Node, ObjectMeta, OwnerReference, Pod
from config.pods.identity import CONFIG_MIRROR, config_hash, display_name, full_name, mirror_hash
from runtime.api import Api, ApiError, as_api_error, create, delete, get, in_turn_of

SECOND_NS = 1_000_000_000
FIRST_DELAY_NS = SECOND_NS
MAX_DELAY_NS = 60 * SECOND_NS
MAX_UNCONFIRMED_NS = 8 * SECOND_NS
"""The longest delay while the API server does not answer.

So all static pods show soon after an outage.
"""


class MirrorOperation(enum.Enum):
    """The operation on the mirror of one full name."""

    NOTHING = "nothing"
    CREATE = "create"
    DELETE = "delete"


class ConsiderMirror(Message, frozen=True):
    """To itself: judge this name again."""

    name: str

    def coalesce_key(self) -> Hashable:
        return self.name


class MirrorOperationEnded(Message, frozen=True):
    """To itself: a call has ended. `pod` is what the API shows after it; None if nothing or unknown."""

    name: str
    operation: MirrorOperation
    pod: Pod | None
    error: ApiError | None


class _Name:
    """The state of one full name."""

    __slots__ = ("busy", "failures", "mirror", "said", "static")

    def __init__(self) -> None:
        self.static: Pod | None = None
        self.mirror: Pod | None = None
        self.busy = False
        self.failures = 0
        self.said = ""


class MirrorPodActor(Actor):
    mailbox_capacity: ClassVar[int] = 20_000
    max_effects: ClassVar[int] = 8
    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(
        self, api: Api, node_name: str, sync_loop: ActorRef, status_manager: ActorRef, node_status: ActorRef
    ) -> None:
        super().__init__()
        self._api = api
        self._node_name = node_name
        self._sync_loop = sync_loop
        self._status_manager = status_manager
        self._node_status = node_status
        self._node: Node | None = None
        self._sources_ready = False
        self._names: dict[str, _Name] = {}
        self._static_names: dict[str, str] = {}
        """UID of a static pod -> its full name."""

    def on_start(self) -> None:
        self._node_status.tell(FollowNode(self.ref))
        self._sync_loop.tell(MirrorActorStarted())

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Work: constant."""
        self._sync_loop.tell(MirrorActorStarted())

    # --- what is told -----------------------------------------------------------------------------------------------

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: all static pods."""
        knew = self._node is not None and self._node.metadata.uid == message.node.metadata.uid
        self._node = message.node
        if not knew:
            self._consider_all()

    @handles(StaticSourcesReady)
    def sources_ready(self, _: StaticSourcesReady) -> None:
        """Work: all static pods."""
        self._sources_ready = True
        self._consider_all()

    @handles(StaticPodDesired)
    def static_pod_desired(self, message: StaticPodDesired) -> None:
        """Work: one pod, copied and encoded as a whole."""
        name = full_name(message.pod)
        self._static_names[message.pod.metadata.uid] = name
        known = self._names.setdefault(name, _Name())
        known.static = message.pod
        self._show(known)
        self._consider(name)

    @handles(StaticPodGone)
    def static_pod_gone(self, message: StaticPodGone) -> None:
        """Work: one pod, copied and encoded as a whole."""
        name = self._static_names.pop(message.uid, None)
        known = self._names.get(name) if name is not None else None
        if name is None or known is None or known.static is None or known.static.metadata.uid != message.uid:
            return
        known.static = None
        self._consider(name)

    @handles(MirrorPodChanged)
    def mirror_pod_changed(self, message: MirrorPodChanged) -> None:
        """Work: one pod, copied and encoded as a whole."""
        pod = message.pod
        name = full_name(pod)
        known = self._names.setdefault(name, _Name())
        if message.operation is not Operation.REMOVE:
            known.mirror = pod
        elif known.mirror is not None and known.mirror.metadata.uid == pod.metadata.uid:
            known.mirror = None
        self._show(known)
        self._consider(name)

    def _show(self, known: _Name) -> None:
        """Tell the status manager to which object it writes the status of the static pod."""
        static, mirror = known.static, known.mirror
        if static is not None:
            right = mirror if mirror is not None and shows(mirror, static) else None
            self._status_manager.tell(MirrorPodSeen(static.metadata.uid, right))

    @handles(StatusManagerStarted)
    def show_all_again(self, _: StatusManagerStarted) -> None:
        """The restarted status manager has lost the mirror pods; tell them again.

        Work: all static pods.
        """
        for known in self._names.values():
            self._show(known)

    # --- operations ---------------------------------------------------------------------------------------------------

    def _consider_all(self) -> None:
        for name in list(self._names):
            self._consider(name)

    @handles(ConsiderMirror)
    def consider_again(self, message: ConsiderMirror) -> None:
        """Work: one pod, copied and encoded as a whole."""
        self._consider(message.name)

    def _consider(self, name: str) -> None:
        known = self._names.get(name)
        if known is None or known.busy:
            return
        operation = mirror_operation(known.static, known.mirror, sources_ready=self._sources_ready)
        if operation is MirrorOperation.NOTHING:
            if known.static is None and known.mirror is None:
                del self._names[name]
                self.cancel_timer(name)
        elif operation is MirrorOperation.CREATE:
            self._create(name, known)
        else:
            self._delete(name, known)

    def _create(self, name: str, known: _Name) -> None:
        static, node = known.static, self._node
        if static is None or node is None or not node.metadata.uid or node.metadata.deletion_timestamp is not None:
            return  # the API rejects it without a Node as owner; `node_observed` judges again
        known.busy = True
        api, namespace = self._api, static.metadata.namespace
        mirror = mirror_of(static, self._node_name, node.metadata.uid)
        call = in_turn_of(create(PODS, namespace, mirror), static.metadata.uid, urgent=True)
        self.begin(lambda: api.call(call), lambda done: _ended(name, MirrorOperation.CREATE, done))

    def _delete(self, name: str, known: _Name) -> None:
        mirror = known.mirror
        assert mirror is not None, "only what is there is deleted"
        known.busy = True
        api, meta = self._api, mirror.metadata
        self.log.info("mirror pod %s is not what runs here; deleting it", display_name(mirror))
        call = in_turn_of(delete(PODS, meta.namespace, meta.name, grace_seconds=0, uid=meta.uid), meta.uid, urgent=True)
        self.begin(lambda: api.call(call), lambda done: _ended(name, MirrorOperation.DELETE, done))

    @handles(MirrorOperationEnded)
    async def operation_ended(self, message: MirrorOperationEnded) -> None:
        """Work: one pod, copied and encoded as a whole."""
        name, error = message.name, message.error
        known = self._names[name]
        known.busy = False
        if message.operation is MirrorOperation.DELETE and (error is None or error.not_found or error.conflict):
            known.mirror = None  # `MirrorPodChanged` reports any other pod
            error = None
        elif error is None:
            known.mirror = message.pod
            self._show(known)
        elif error.already_exists and known.static is not None:
            error = await self._look_who_is_there(known, known.static, error)
        if error is None:
            known.failures, known.said = 0, ""
            self._consider(name)
        else:
            self._try_later(name, known, error)

    async def _look_who_is_there(self, known: _Name, static: Pod, error: ApiError) -> ApiError | None:
        """A pod of that name exists.

        Adopt it if it is our mirror; otherwise return the error, as the name is taken.
        """
        meta = static.metadata
        try:
            call = in_turn_of(get(PODS, meta.namespace, meta.name), meta.uid, urgent=True)
            found = await self.wait(self._api.call(call))
        except ApiError as failure:
            return None if failure.not_found else failure
        if found.spec.node_name != self._node_name or not any(
            owner.kind == "Node" and owner.name == self._node_name for owner in found.metadata.owner_references
        ):
            return error
        known.mirror = found
        self._show(known)
        return None

    def _try_later(self, name: str, known: _Name, error: ApiError) -> None:
        known.failures += 1
        if str(error) != known.said:
            known.said = str(error)
            self.log.warning("the mirror pod of %s: %s", name, error)
        longest_ns = MAX_UNCONFIRMED_NS if error.outcome_unknown else MAX_DELAY_NS
        base_ns = min(longest_ns, FIRST_DELAY_NS << min(known.failures - 1, 10))
        delay_ns = int(base_ns * (1 + 0.5 * self.chance.random()))
        self.after(max(delay_ns, error.retry_after_ns or 0), ConsiderMirror(name), key=name)


def _ended(name: str, operation: MirrorOperation, done: Pending[Pod | None]) -> MirrorOperationEnded:
    outcome = outcome_of(done)
    error = as_api_error(outcome.error, f"{operation.value} mirror pod")
    return MirrorOperationEnded(name, operation, outcome.value, error)


# --- the rules, pure --------------------------------------------------------------------------------------------------


def mirror_operation(static: Pod | None, mirror: Pod | None, *, sources_ready: bool) -> MirrorOperation:
    """The operation on the mirror.

    `static`: the static pod of that name that runs or is ending; `mirror`: the mirror pod in the API.

    A mirror without a static pod is deleted only when every source is ready: its pod may not have been read yet.
    """
    if mirror is None:
        return MirrorOperation.NOTHING if static is None else MirrorOperation.CREATE
    if static is None:
        return MirrorOperation.DELETE if sources_ready else MirrorOperation.NOTHING
    return MirrorOperation.NOTHING if shows(mirror, static) else MirrorOperation.DELETE


def shows(mirror: Pod, static: Pod) -> bool:
    """Whether this API object shows this static pod as it is now, and is not being deleted."""
    return mirror.metadata.deletion_timestamp is None and mirror_hash(mirror) == config_hash(static)


def mirror_of(static: Pod, node_name: str, node_uid: str) -> Pod:
    """The object to create. The API server gives it its own UID; its status is written later."""
    meta = static.metadata
    owner = OwnerReference(api_version="v1", kind="Node", name=node_name, uid=node_uid, controller=True)
    return msgspec.structs.replace(
        static,
        metadata=ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            labels=meta.labels,
            annotations={**meta.annotations, CONFIG_MIRROR: config_hash(static) or ""},
            owner_references=(owner,),
        ),
        status=None,
    )
