"""`RuntimeMonitorActor` checks that the runtime answers, is ready and has a network.

See spec 2.1, 2.2 and 2.12.

It asks the runtime for its version once and for its status every five seconds. It sends the result to the sync loop and
the node status. A restarted sync loop gets the last result at once, so no pod waits for the next answer. If the runtime
is missing or speaks another version, the actor logs it once and waits, since an upgrade may fix it.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, Message, handles
from actors.messages.node import RuntimeDescribed
from actors.messages.pods import RuntimeStateObserved, SyncLoopStarted
from runtime.cri import Cri, CriError
from runtime.cri.messages import StatusRequest, StatusResponse, VersionRequest, VersionResponse
from runtime.cri.readiness import troubles, version_fault
from runtime.cri.verbs import STATUS, VERSION

SECOND_NS = 1_000_000_000
POLL_NS = 5 * SECOND_NS
POLL_MISSING_NS = SECOND_NS
"""Period of tries while there is no runtime; trying a local socket costs nothing."""
TIMEOUT_NS = 20 * SECOND_NS
"""The timeout of one check, so that one hanging call does not make the node NotReady.

The next call is answered before 30 s of silence (spec 2.12).
"""


class PollRuntime(Message, frozen=True):
    """To itself: time to ask."""


class DescribeRuntime(Message, frozen=True):
    """Ask: the runtime's `VersionResponse`, or None before it has answered."""


class RuntimeMonitorActor(Actor):
    """See the module. `node_status` None: this node has no Node object."""

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(self, cri: Cri, sync_loop: ActorRef, node_status: ActorRef | None = None) -> None:
        super().__init__()
        self._cri = cri
        self._sync_loop = sync_loop
        self._node_status = node_status
        self._answered_at_ns = self.now_ns()
        """The time of the last answer, or of the start before the first one."""
        self._version: VersionResponse | None = None
        self._name = ""
        """The name of the runtime that answered last."""
        self._user_namespaces: tuple[str, ...] = ()
        self._groups_policy = False
        self._recursive: tuple[str, ...] = ()
        self._told: RuntimeStateObserved | None = None

    def on_start(self) -> None:
        self.ref.tell(PollRuntime())

    @handles(PollRuntime)
    async def poll(self, _: PollRuntime) -> None:
        """Work: constant."""
        silent_since_ns: int | None = None
        try:
            error, network_error = await self._ask()
            self._answered_at_ns = self.now_ns()
        except (CriError, DeadlineExceededError) as failure:
            error, network_error = str(failure), "not known: the runtime does not answer"
            silent_since_ns = self._answered_at_ns
        state = RuntimeStateObserved(
            error,
            network_error,
            self._name,
            silent_since_ns,
            self._user_namespaces,
            self._groups_policy,
            self._recursive,
            self._version.runtime_version if self._version is not None else "",
            self._told.since_ns if self._told is not None else 0,
        )
        if state != self._told:
            state = msgspec.structs.replace(state, since_ns=self.now_ns())
        self._tell(state)
        if self._node_status is not None:  # even if unchanged: it may have been restarted
            self._node_status.tell(state)
        self.after(POLL_MISSING_NS if error else POLL_NS, PollRuntime())

    async def _ask(self) -> tuple[str, str]:
        if self._version is None:
            version = await self.wait(
                self._cri.call(VERSION, VersionRequest(), timeout_ns=TIMEOUT_NS), what="the runtime's version"
            )
            if fault := version_fault(version):
                return fault, "not known"
            self._version = version
            self._name = version.runtime_name
            self.log.info("runtime: %s %s", version.runtime_name, version.runtime_version)
        response = await self.wait(
            self._cri.call(STATUS, StatusRequest(), timeout_ns=TIMEOUT_NS), what="the runtime's status"
        )
        self._describe(self._version, response)
        return troubles(response)

    def _tell(self, state: RuntimeStateObserved) -> None:
        self._sync_loop.tell(state)  # even if unchanged: it may have been restarted
        if state == self._told:
            return
        first_or_worse = self._told is None or not self._told.error
        self._told = state
        if state.error and first_or_worse:
            self.log.warning("waiting for the runtime: %s", state.error)
        elif not state.error:
            self.log.info("the runtime is ready%s", f", but: {state.network_error}" if state.network_error else "")
        if state.error:
            self._version = None  # another runtime may come back

    @handles(SyncLoopStarted)
    def sync_loop_started(self, _: SyncLoopStarted) -> None:
        """Work: constant."""
        if self._told is not None:
            self._sync_loop.tell(self._told)

    def _describe(self, version: VersionResponse, status: StatusResponse) -> None:
        """Report the runtime's identity and features. Handlers come in any order, so they are sorted."""
        handlers = tuple(sorted(status.runtime_handlers, key=lambda handler: handler.name))
        able = [(each.name, each.features) for each in handlers if each.features is not None]
        self._user_namespaces = tuple(name for name, features in able if features.user_namespaces)
        self._recursive = tuple(name for name, features in able if features.recursive_read_only_mounts)
        self._groups_policy = status.features is not None and status.features.supplemental_groups_policy
        described = RuntimeDescribed(version.runtime_name, version.runtime_version, handlers, status.features)
        if self._node_status is not None:
            self._node_status.tell(described)

    @handles(DescribeRuntime)
    def describe(self, _: DescribeRuntime) -> VersionResponse | None:
        """Work: constant."""
        return self._version
