"""`ResolverCheckActor`: checks that the node's `resolv.conf` fits into those of pods (spec 14.1).

It reads the file every 30 seconds: one short read, however many pods there are. It reports each new problem as an event
of the node. Pods do not wait for it: what does not fit is left out of their files.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.node_object.events import node_event
from actors.start.names import CHECK, LIMIT_BYTES, ResolverError, host_faults, parse_resolv_conf
from runtime.logs.pod_files import PodFiles

SECOND_NS = 1_000_000_000
PERIOD_NS = 30 * SECOND_NS
READ_NS = 10 * SECOND_NS


class CheckResolver(SoleMessage, frozen=True):
    """To itself: time for a check."""


class ResolverRead(Message, frozen=True):
    """To itself: the result of a read; `error` empty on success."""

    text: str
    error: str


class ResolverCheckActor(Actor):
    """See the module. `path`: of the file; `domain`: of the cluster; `node`: the node's name."""

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(self, files: PodFiles, events: ActorRef, path: str, domain: str, node: str) -> None:
        super().__init__()
        self._files = files
        self._events = events
        self._path = path
        self._domain = domain
        self._node = node
        self._reading = False
        self._said: tuple[str, ...] = ()

    def on_start(self) -> None:
        self.every(PERIOD_NS, CheckResolver())
        self.ref.tell(CheckResolver())

    @handles(CheckResolver)
    def check(self, _: CheckResolver) -> None:
        """Work: constant."""
        if self._reading:
            return
        self._reading = True
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self.attempt(
            lambda: lane.submit("resolver", self._files.read_node_file, self._path, LIMIT_BYTES, deadline_ns=READ_NS),
            lambda text, error: ResolverRead(text or "", error),
        )

    @handles(ResolverRead)
    def read(self, message: ResolverRead) -> None:
        """Work: constant."""
        self._reading = False
        faults = self._faults(message)
        if faults != self._said:
            for fault in faults:
                self._events.tell(node_event(self._node, "Warning", CHECK, fault))
        self._said = faults

    def _faults(self, read: ResolverRead) -> tuple[str, ...]:
        if read.error:
            return (f"Resolv.conf file {self._path!r} cannot be read: {read.error}",)
        try:
            return host_faults(self._path, parse_resolv_conf(read.text), self._domain)
        except ResolverError as fault:
            return (f"Resolv.conf file {self._path!r} cannot be used: {fault}",)
