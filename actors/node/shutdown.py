"""`ShutdownActor`: delays the machine's shutdown for as long as pods need to end in order (spec 9.7).

It owns the hold on the machine and the order of the end; the rules are in `actors.node.shutdown_rules`. Its stages:

    WATCHING   the machine is held; it will announce a shutdown
    ENDING     a shutdown runs: the node is not ready and takes no pod; one group of pods after the other ends
    ENDED      no pod is waited for any more; the machine has been released

A group is over when nothing of its pods is left, volumes included, or when its time is up. At the end the actor waits
a moment for the statuses to reach the API server: the network is about to go. The beginning is on disk, so that the
next agent goes on with the rest of the time. A cancelled shutdown opens the node again; pods that were told to end by
then still end. A missing or lost bus is reported once and retried for ever: the node works without warnings, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.events import RecordEvent
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.node import NodeProblemObserved, NodeStatusStarted
from actors.messages.pods import TerminatePod
from actors.messages.shutdown import NodeShutdownObserved
from actors.messages.status import Unwritten, WantUnwritten
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.node.shutdown_rules import (
    BEGINS,
    CANCELLED,
    EVENT,
    MESSAGE,
    NO_SHUTDOWN,
    NOT_READY,
    REASON,
    Group,
    Shutdown,
    fitted,
    grace_seconds,
    group_of,
    shutdown_in,
    text_of,
    whole_ns,
)
from config.pods.identity import display_name, has_ended
from config.values.durations import format_duration_ns
from runtime.logs.pod_files import PodFiles
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.node_shutdown.capability import Hold, MachineShutdown

SECOND_NS = 1_000_000_000
RETRY_NS = SECOND_NS
LONGEST_RETRY_NS = 60 * SECOND_NS
POLL_NS = SECOND_NS // 4
TELL_AGAIN_NS = 5 * SECOND_NS
"""How often actors are told again, for those restarted meanwhile."""
SPARE_NS = 3 * SECOND_NS
"""Beyond the time of all groups.

A pod that uses all of it is killed at the very end; its volumes and status follow.
"""
STATUSES_NS = 2 * SECOND_NS
"""How long to wait until the API server has the statuses."""
SOURCES_NS = 5 * SECOND_NS
"""How long an agent that starts during a shutdown waits for all its sources."""
DISK_NS = 2 * SECOND_NS
LIMIT_BYTES = 64 * 1024
TROUBLE = "shutdown"


class ShutdownStage(Enum):
    WATCHING = "the machine is not going down"
    ENDING = "pods are being ended"
    ENDED = "the machine goes down"


class StateRead(Message, frozen=True):
    """To itself: the saved state of an earlier agent (None: none), or why its file is unusable."""

    shutdown: Shutdown | None
    error: str = ""


class StateSaved(Message, frozen=True):
    """To itself: the state is on disk, or the error."""

    error: str


class HoldMachine(Message, frozen=True):
    """To itself: try again to hold the machine."""


class MachineHeld(Message, frozen=True):
    """To itself: the machine is held, or the error."""

    hold: Hold | None
    error: str


class MachineChanged(Message, frozen=True):
    """To itself, from the machine: a shutdown begins, or is cancelled."""

    going_down: bool


class HoldLost(Message, frozen=True):
    """To itself, from the machine: it announces nothing any more."""

    why: str


class PollPods(Message, frozen=True):
    """To itself: check whether the pods have ended."""


class TellShutdownAgain(Message, frozen=True):
    """To itself: tell others again that the node is going down."""


class TimeIsOver(Message, frozen=True):
    """To itself: stop waiting for pods."""


class ShutdownTools(msgspec.Struct, frozen=True):
    """The actors that it asks and tells, and its capabilities."""

    machine: MachineShutdown
    sync_loop: ActorRef
    node_status: ActorRef
    resources: ActorRef
    status_manager: ActorRef
    events: ActorRef
    files: PodFiles
    meters: Meters = UNMEASURED


class ShutdownActor(Actor):
    """See the module. `groups`: not empty. `path`: of the state file."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, tools: ShutdownTools, groups: Sequence[Group], node_name: str, path: str) -> None:
        super().__init__()
        self._tools = tools
        self._groups = tuple(groups)
        self._whole_ns = whole_ns(groups)
        self._fitted = self._groups
        """The groups, cut to the time that the machine grants this time."""
        self._node_name = node_name
        self._path = path
        self._stage = ShutdownStage.WATCHING
        self._hold: Hold | None = None
        self._retry_ns = RETRY_NS
        self._shutdown = NO_SHUTDOWN
        self._presumed = False
        """The file says that a shutdown runs, but the machine has not told this agent yet."""
        self._lets_go = False
        self._group = -1
        self._group_until_ns = self._until_ns = self._sources_until_ns = 0
        self._statuses_until_ns: int | None = None
        """Set when no pod runs any more: how long the API server may take to get the statuses."""
        self._told: dict[str, int] = {}
        """UID -> the life of the worker that was told: a restarted worker has forgotten it."""
        self._awaited: set[str] = set()
        """The told pods of the present group."""

    def on_start(self) -> None:
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        read = self._tools.files.read_record
        self.attempt(
            lambda: lane.submit("shutdown", read, self._path, shutdown_in, LIMIT_BYTES, deadline_ns=DISK_NS), StateRead
        )

    @handles(StateRead)
    def state_read(self, message: StateRead) -> None:
        """Work: constant."""
        if message.error:
            self.log.warning("it is unknown whether the machine was going down: %s", message.error)
        self._shutdown = message.shutdown or NO_SHUTDOWN
        self._measure()
        if self._shutdown.runs_at(self.wall_ns(), self._whole_ns):
            self._presumed = True
            self._tell(True)
            self.after(self._whole_ns - (self.wall_ns() - self._shutdown.began_ns), TimeIsOver(), key="over")
        self.hold_machine(HoldMachine())

    # --- the machine ------------------------------------------------------------------------------------------------

    @handles(HoldMachine)
    def hold_machine(self, _: HoldMachine) -> None:
        """Work: constant."""
        machine, me, least_ns = self._tools.machine, self.ref, self._whole_ns

        def changed(going_down: bool) -> None:
            me.tell(MachineChanged(going_down))

        def lost(why: str) -> None:
            me.tell(HoldLost(why))

        self.attempt(lambda: machine.hold(least_ns, least_ns + SPARE_NS, changed, lost), MachineHeld)

    @handles(MachineHeld)
    def machine_held(self, message: MachineHeld) -> None:
        """Work: constant."""
        hold = message.hold
        if hold is None:
            self._say_once(f"this node is not told when the machine goes down: {message.error}")
            self._hold_later()
            return
        self._hold, self._retry_ns = hold, RETRY_NS
        if hold.delay_ns < self._whole_ns:
            self.log.warning(
                "the machine waits for %s only when it goes down, not the %s of shutdownGracePeriod: set "
                "InhibitDelayMaxSec of systemd-logind",
                format_duration_ns(hold.delay_ns),
                format_duration_ns(self._whole_ns),
            )
        if hold.going_down:
            self._begin()
        elif self._stage is not ShutdownStage.WATCHING or self._presumed:
            self._call_off()

    @handles(MachineChanged)
    def machine_changed(self, message: MachineChanged) -> None:
        """Work: constant."""
        if message.going_down:
            self._begin()
        elif self._stage is not ShutdownStage.WATCHING:
            self._call_off()
            self.hold_machine(HoldMachine())  # be ready for the next shutdown

    @handles(HoldLost)
    def hold_lost(self, message: HoldLost) -> None:
        """Work: constant."""
        self._say_once(f"this node is no longer told when the machine goes down: {message.why}")
        self._hold_later()

    def _say_once(self, text: str) -> None:
        if self._retry_ns == RETRY_NS:
            self.log.warning("%s; it is tried again", text)

    def _hold_later(self) -> None:
        self.after(self._retry_ns, HoldMachine(), key="hold")
        self._retry_ns = min(2 * self._retry_ns, LONGEST_RETRY_NS)

    # --- the beginning and the end of a shutdown --------------------------------------------------------------------

    def _begin(self) -> None:
        if self._stage is not ShutdownStage.WATCHING:
            return
        self._stage, self._presumed, self._lets_go = ShutdownStage.ENDING, False, False
        wall_ns, now_ns = self.wall_ns(), self.now_ns()
        if not self._shutdown.runs_at(wall_ns, self._whole_ns):
            self._shutdown = Shutdown(wall_ns)
            self._say(BEGINS)
            self._save()
        self._measure()
        delay_ns = self._whole_ns if self._hold is None else self._hold.delay_ns
        self._fitted = fitted(self._groups, delay_ns)
        self._until_ns = now_ns + min(delay_ns, self._whole_ns + SPARE_NS) - (wall_ns - self._shutdown.began_ns)
        self.log.warning("the machine goes down: pods have %s to end", format_duration_ns(whole_ns(self._fitted)))
        self._sources_until_ns = min(now_ns + SOURCES_NS, self._until_ns)
        self._group, self._statuses_until_ns = -1, None
        self._told, self._awaited = {}, set()
        self.after(self._until_ns - now_ns, TimeIsOver(), key="over")
        self._tell(True)
        self.poll(PollPods())

    @handles(TimeIsOver)
    def time_is_over(self, _: TimeIsOver) -> None:
        """Work: constant."""
        if self._stage is ShutdownStage.ENDING:
            self.log.warning("the time for the end of pods is over")
            self._end()
        elif self._presumed:
            self._call_off()  # the machine never answered, but no shutdown takes longer

    def _end(self) -> None:
        """Save the end, then release the machine."""
        self._stage = ShutdownStage.ENDED
        self._shutdown = Shutdown(self._shutdown.began_ns, self.wall_ns())
        self._measure()
        for key in ("poll", "group", "over"):
            self.cancel_timer(key)
        self._lets_go = True
        self._save()

    @handles(StateSaved)
    def state_saved(self, message: StateSaved) -> None:
        """Work: constant."""
        if message.error:
            self.log.warning("the state of the shutdown cannot be saved: %s", message.error)
        if self._lets_go and self._hold is not None:
            self._lets_go = False
            self._hold.release()
            self.log.info("the machine need not wait for pods any more")

    def _call_off(self) -> None:
        """Cancel the shutdown."""
        if self._stage is not ShutdownStage.WATCHING:
            self._say(CANCELLED)
        self._stage, self._presumed, self._lets_go = ShutdownStage.WATCHING, False, False
        self._shutdown = Shutdown(self._shutdown.began_ns, self._shutdown.ended_ns or self.wall_ns())
        for key in ("poll", "group", "over", "again"):
            self.cancel_timer(key)
        self._measure()
        self._save()
        self._tell(False)

    # --- the pods ---------------------------------------------------------------------------------------------------

    @handles(PollPods)
    def poll(self, _: PollPods) -> None:
        """Work: constant."""
        if self._stage is ShutdownStage.ENDING:
            self._tools.sync_loop.tell(WantPods(self.ref))
            self.after(POLL_NS, PollPods(), key="poll")

    @handles(PodsHere)
    def pods_here(self, message: PodsHere) -> None:
        """Work: all pods."""
        if self._stage is not ShutdownStage.ENDING:
            return
        now_ns = self.now_ns()
        if not message.complete and now_ns < self._sources_until_ns:
            return  # an agent that has just started does not know all of its pods yet
        there = {each.pod.metadata.uid: each for each in message.pods}
        left = {uid for uid in self._awaited if uid in there and not there[uid].finished}
        untold = [each for each in message.pods if self._has_to_end(each)]
        following = min((group_of(self._groups, each.pod) for each in untold), default=None)
        over_ns = self._group_until_ns + (SPARE_NS if following is None else 0)
        if left and now_ns >= over_ns:
            late = ", ".join(sorted(display_name(there[uid].pod) for uid in left))
            self.log.warning("these pods have not ended in the time of their group: %s", late)
            left = set()
        if not left:
            if following is None:
                self._see_statuses(now_ns)
                return
            self._statuses_until_ns = None
            self._turn_to(max(following, self._group), now_ns)
        self._tell_to_end([each for each in untold if group_of(self._groups, each.pod) <= self._group], now_ns)

    def _see_statuses(self, now_ns: int) -> None:
        if self._statuses_until_ns is None:
            self._statuses_until_ns = min(now_ns + STATUSES_NS, self._until_ns)
        if now_ns < self._statuses_until_ns:
            self._tools.status_manager.tell(WantUnwritten(self.ref, frozenset(self._told)))
        else:
            self.log.warning("the API server does not show all pods as ended yet")
            self._end()

    @handles(Unwritten)
    def unwritten(self, message: Unwritten) -> None:
        """Work: all pods."""
        if self._stage is ShutdownStage.ENDING and self._statuses_until_ns is not None and not message.uids:
            self._end()

    def _has_to_end(self, here: PodHere) -> bool:
        is_told = self._told.get(here.pod.metadata.uid) == here.lives
        return here.may_be_evicted() and not is_told and not has_ended(here.pod)

    def _turn_to(self, group: int, now_ns: int) -> None:
        if group != self._group:
            self._group, self._awaited = group, set()
            self._group_until_ns = min(now_ns + self._fitted[group].period_ns, self._until_ns)
            self.after(max(0, self._group_until_ns - now_ns), PollPods(), key="group")

    def _tell_to_end(self, pods: Sequence[PodHere], now_ns: int) -> None:
        for each in pods:
            uid = each.pod.metadata.uid
            self._told[uid] = each.lives
            self._awaited.add(uid)
            grace = grace_seconds(each.pod, self._group_until_ns - now_ns)
            assert each.worker is not None, "who has no worker has nothing to end"
            each.worker.tell(TerminatePod(grace_seconds=grace, disrupted=True, reason=REASON, message=MESSAGE))

    # --- reports ----------------------------------------------------------------------------------------------------

    def _tell(self, going_down: bool) -> None:
        self._tools.resources.tell(NodeShutdownObserved(going_down))
        self._tools.node_status.tell(NodeProblemObserved(TROUBLE, NOT_READY if going_down else ""))
        if going_down:
            self.after(TELL_AGAIN_NS, TellShutdownAgain(), key="again")

    @handles(TellShutdownAgain, NodeStatusStarted)
    def tell_again(self, _: TellShutdownAgain | NodeStatusStarted) -> None:
        """Work: constant."""
        if self._presumed or self._stage is not ShutdownStage.WATCHING:
            self._tell(True)

    def _say(self, text: str) -> None:
        self._tools.events.tell(RecordEvent("Node", "", "", self._node_name, "Normal", EVENT, text))

    def _measure(self) -> None:
        self._tools.meters.put(names.GRACEFUL_SHUTDOWN_START, self._shutdown.began_ns / SECOND_NS)
        self._tools.meters.put(names.GRACEFUL_SHUTDOWN_END, self._shutdown.ended_ns / SECOND_NS)

    def _save(self) -> None:
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        write, text = self._tools.files.write_record, text_of(self._shutdown)
        self.attempt(
            lambda: lane.submit("shutdown", write, self._path, text, deadline_ns=DISK_NS),
            lambda _, error: StateSaved(error),
        )
