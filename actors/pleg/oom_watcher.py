"""`OomWatcherActor` reports the kernel's out-of-memory kills (spec 9.8).

If a process exceeds its pod's own limit, only the pod is concerned: its container says `OOMKilled`. If the whole
machine had no memory left, or the victim was in the root group, it becomes an event of the node. Every kill is counted
and logged. Reading the kernel's log costs no thread. If it may not be read, the actor warns once and does nothing. If
the log ends, it is opened again later.
"""

from __future__ import annotations

from typing import Any, ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.node_object.events import node_event
from runtime.cgroups.names import pods_paths
from runtime.io.pending import Subscription
from runtime.metrics import own as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.oom import OomKill, OomLog

PODS_GROUPS = pods_paths()
SYSTEM_OOM = "SystemOOM"
SECOND_NS = 1_000_000_000
AGAIN_NS = 60 * SECOND_NS
ROOT_GROUP = "/"


class ProcessKilled(Message, frozen=True):
    """To itself: the kernel has killed a process."""

    kill: OomKill


class KernelFellSilent(Message, frozen=True):
    """To itself: the kernel's log has ended."""

    reason: str


class ListenAgain(Message, frozen=True):
    """To itself: open the kernel's log."""


class OomWatcherActor(Actor):
    """See the module. `node`: its name."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, log: OomLog, events: ActorRef, node: str, meters: Meters = UNMEASURED) -> None:
        super().__init__()
        self._oom_log = log
        self._events = events
        self._node = node
        self._meters = meters
        self._following: Subscription | None = None

    def on_start(self) -> None:
        self.listen_again(ListenAgain())

    def on_stop(self) -> None:
        if self._following is not None:
            self._following.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life watches anew

    @handles(ListenAgain)
    def listen_again(self, _: ListenAgain) -> None:
        """Work: constant."""
        ref = self.ref
        try:
            self._following = self._oom_log.follow(
                lambda kill: ref.tell(ProcessKilled(kill)), lambda reason: ref.tell(KernelFellSilent(reason))
            )
        except OSError as failure:
            self.log.warning("out-of-memory kills cannot be observed: %s", failure)

    @handles(KernelFellSilent)
    def kernel_fell_silent(self, message: KernelFellSilent) -> None:
        """Work: constant."""
        self.log.warning("the kernel's log has ended: %s", message.reason)
        self._following = None
        self.after(AGAIN_NS, ListenAgain())

    @handles(ProcessKilled)
    def process_killed(self, message: ProcessKilled) -> None:
        """Work: constant."""
        kill = message.kill
        self._meters.count(names.OOM_KILLS, scope_of(kill))
        self.log.warning("%s", log_words(kill))
        if concerns_node(kill):
            self._events.tell(node_event(self._node, "Warning", SYSTEM_OOM, event_words(kill)))


def concerns_node(kill: OomKill) -> bool:
    """Whether the kill becomes an event of the node."""
    return kill.node_wide or kill.cgroup == ROOT_GROUP


def scope_of(kill: OomKill) -> str:
    """The metric label: `node`, `pod` for a limit of pods, `other` for any other limit."""
    if concerns_node(kill):
        return "node"
    of_pods = any(f"{group}/" in f"{kill.limited or kill.cgroup}/" for group in PODS_GROUPS)
    return "pod" if of_pods else "other"


def event_words(kill: OomKill) -> str:
    """The message of the event. Tools match it word for word."""
    return f"System OOM encountered, victim process: {kill.process}, pid: {kill.pid}"


def log_words(kill: OomKill) -> str:
    """The line for the agent's log."""
    where = f" in {kill.cgroup}" if kill.cgroup else ""
    if kill.node_wide:
        return f"the machine has no memory left: the kernel has killed {kill.process} (pid {kill.pid}){where}"
    limit = kill.limited or "its group"
    return f"{limit} has reached its limit of memory: the kernel has killed {kill.process} (pid {kill.pid}){where}"
