"""The ends of a pod's containers that are under way: preStop hook, stop, and no more than the grace (spec 3.10).

An end is asked for at every look, and begun once. It is never awaited: the hook is spawned, its end makes the stop
begin, and the end of that is a reason to look. Asked for again with less time, it is hurried; the hook is not run a
second time. What is left of the grace after the hook is the timeout of StopContainer, down to a floor.

Also kept here: why single containers were killed, until their successors are there. What comes after an end that we
have made is not the container's own doing, and its restart policy has no say in it where its definition has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from actors.history_messages import PodWait
from actors.hook_rules import HookImpossibleError, HookKind, hook_of, known_by_notes
from actors.hook_runner import HookEnded, HookRunner, HookTimeIsUp
from actors.kernel import Message, Pending
from actors.messages import LookAgain
from actors.observed import ObservedPod
from actors.pod_action_types import KillCause
from actors.pod_waits import stop_waits
from actors.termination import Ending, may_stop, pre_stop_deadline_ns, remaining_seconds
from config.objects import Container
from runtime.cri import CriError
from runtime.cri.messages import StopContainerResponse

if TYPE_CHECKING:
    from actors.kernel import Actor
    from actors.pod_view import PodView

SECOND_NS = 1_000_000_000
ASK_AGAIN_NS = 60 * SECOND_NS
RETRY_NS = 10 * SECOND_NS
"""A stop that has failed is tried again after this."""
NOT_GONE_RETRY_NS = SECOND_NS
"""The runtime says that it has stopped and shows it running: it is asked again after this."""


class StopEnded(Message, frozen=True):
    """To the worker itself: a StopContainer has ended. `error` is empty when the container is gone."""

    container_id: str
    number: int
    error: str = ""


class _End(msgspec.Struct):
    """One that is under way. Times are monotonic; `retry_at_ns`: nothing is in flight until then."""

    ending: Ending
    container: Container
    deadline_ns: int
    in_hook: bool = False
    number: int = 0
    timeout_seconds: int = 0
    asked_wall_ns: int = 0
    retry_at_ns: int | None = None


class ContainerStops:
    """See the module. One per worker."""

    def __init__(self, worker: Actor, view: PodView, hooks: HookRunner) -> None:
        self._worker = worker
        self._view = view
        self._hooks = hooks
        self._ends: dict[str, _End] = {}
        self._hooked: set[str] = set()
        """Ids of containers whose preStop hook has been begun; it is run once."""
        self.killed: dict[str, KillCause] = {}
        """Container id -> why it was killed while its pod lives on."""

    def busy(self) -> frozenset[str]:
        """Names of containers that are being ended: nothing is decided about them until that has come to something."""
        return frozenset(end.ending.name for end in self._ends.values() if end.retry_at_ns is None)

    def not_gone(self) -> frozenset[str]:
        """Names of containers that are to end and may still run, those included whose stop is to be tried again."""
        return frozenset(end.ending.name for end in self._ends.values())

    def under_way(self) -> bool:
        return bool(self._ends)

    def request(self, ending: Ending, container: Container, *, elapsed_ns: int = 0, ip: str = "") -> None:
        """End it, if that has not been begun, or faster than it was. `elapsed_ns`: of its grace, spent already."""
        now_ns = self._worker.now_ns()
        deadline_ns = now_ns + ending.grace_seconds * SECOND_NS - elapsed_ns
        end = self._ends.get(ending.id)
        if end is None:
            self._view.say("Normal", "Killing", ending.message, ending.name)
            end = self._ends[ending.id] = _End(ending, container, deadline_ns)
            if not self._begin_hook(end, ip):
                self._stop(end)
        elif end.retry_at_ns is not None:
            if now_ns >= end.retry_at_ns:
                end.ending, end.deadline_ns = ending, min(end.deadline_ns, deadline_ns)
                self._stop(end)
        elif deadline_ns < end.deadline_ns and ending.grace_seconds < end.ending.grace_seconds:
            end.ending, end.deadline_ns = ending, deadline_ns
            if end.in_hook:
                self._hooks.limit(ending.id, HookKind.PRE_STOP, deadline_ns - now_ns)
            else:
                self._stop(end)

    def hook_ended(self, message: HookEnded | HookTimeIsUp) -> None:
        """A preStop hook is over, one way or the other: the container is asked to stop."""
        end = self._ends.get(message.container_id)
        if not self._hooks.take(message) or end is None:
            return
        if isinstance(message, HookTimeIsUp):
            self._say_failed(end, "it has not ended within the grace period")
        elif message.error:
            self._say_failed(end, message.error)
        if isinstance(message, HookEnded) and message.fell_back:
            self._view.say("Warning", "LifecycleHTTPFallback", message.fell_back, end.ending.name)
        self._stop(end)

    def stop_ended(self, message: StopEnded) -> None:
        end = self._ends.get(message.container_id)
        if end is None or end.number != message.number:
            return
        wait_ns = NOT_GONE_RETRY_NS
        if message.error:
            wait_ns = RETRY_NS
            text = f"error killing container {end.ending.name}: {message.error}"
            self._view.say("Warning", "FailedKillPod", text)
        end.retry_at_ns = self._worker.now_ns() + wait_ns
        self._worker.after(wait_ns, LookAgain(), key=f"stop {message.container_id}")

    def settle(self, observed: ObservedPod) -> None:
        """Take note of those that have ended."""
        if not self._ends and not self.killed and not self._hooked:
            return
        known = {each.id: each for each in observed.containers()}
        for container_id in [each for each in self._ends if each not in known or not known[each].may_run]:
            del self._ends[container_id]
            self._hooks.drop(container_id, HookKind.PRE_STOP)
            self._worker.cancel_timer(f"stop {container_id}")
        self._hooked &= known.keys()
        newest = {group[0].id for group in observed.by_name.values()}
        self.killed = {each: cause for each, cause in self.killed.items() if each in newest}

    def waits(self) -> tuple[PodWait, ...]:
        """What is waited for, for people."""
        ahead_ns = self._worker.wall_ns() - self._worker.now_ns()
        return tuple(_wait(end, ahead_ns) for end in self._ends.values())

    def _begin_hook(self, end: _End, ip: str) -> bool:
        """Whether a preStop hook runs now."""
        grace = end.ending.grace_seconds
        elapsed_ns = self._worker.now_ns() - (end.deadline_ns - grace * SECOND_NS)
        handler, left_ns = end.ending.pre_stop, pre_stop_deadline_ns(grace, elapsed_ns)
        if handler is None or left_ns <= 0 or end.ending.id in self._hooked:
            return False
        self._hooked.add(end.ending.id)
        try:
            hook = hook_of(end.container, handler, ip)
        except HookImpossibleError as impossible:
            self._say_failed(end, str(impossible))
            return False
        end.in_hook = True
        self._hooks.begin(end.ending.id, HookKind.PRE_STOP, hook, left_ns)
        return True

    def _stop(self, end: _End) -> None:
        end.in_hook, end.retry_at_ns = False, None
        end.number += 1
        container_id, number = end.ending.id, end.number
        grace = end.ending.grace_seconds
        elapsed_ns = self._worker.now_ns() - (end.deadline_ns - grace * SECOND_NS)
        timeout = end.timeout_seconds = remaining_seconds(grace, elapsed_ns)
        end.asked_wall_ns = self._worker.wall_ns()
        deeds = self._view.deeds

        def then(done: Pending[StopContainerResponse]) -> StopEnded:
            return StopEnded(container_id, number, _failure(done))

        self._worker.begin(lambda: deeds.stop_container(container_id, timeout), then)

    def _say_failed(self, end: _End, why: str) -> None:
        self._view.say("Warning", HookKind.PRE_STOP.event, f"PreStopHook failed: {why}", end.ending.name)


def _failure(done: Pending[StopContainerResponse]) -> str:
    """Why a stop has failed; empty for success, and for what was gone already."""
    try:
        done.result(0)
    except CriError as failure:
        return "" if failure.not_found else str(failure)
    except BaseException as failure:  # the end of an effect; whatever it is, the stop is tried again
        return repr(failure)
    return ""


def _wait(end: _End, ahead_ns: int) -> PodWait:
    subject = f"the end of container {end.ending.name}"
    if end.retry_at_ns is not None:
        at_ns = end.retry_at_ns + ahead_ns
        return PodWait(subject, "Terminating", "the runtime has not stopped it", "it is asked again", at_ns)
    if end.in_hook:
        at_ns = end.deadline_ns + ahead_ns
        return PodWait(subject, "Terminating", "its preStop hook is running", "it is asked to stop after that", at_ns)
    [wait] = stop_waits([end.ending], {end.ending.id: end.timeout_seconds}, end.asked_wall_ns)
    return wait


def stop_in_turn(view: PodView, plan: tuple[Ending, ...], elapsed_ns: int) -> int | None:
    """Ask those to end who wait for nobody. After how many ns somebody's grace is used up; None: nobody runs.

    `elapsed_ns`: of the grace of all of them, spent already.
    """
    if not plan:
        return None
    spec = None if view.pod is None else view.pod.spec
    groups = () if spec is None else (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    known = {each.name: each for each in groups}
    found = {each.id: each for each in view.seen().containers()}
    running, ip = [each.name for each in plan], view.ip()
    turn = [each for each in plan if may_stop(each, running, elapsed_ns)] or list(plan)
    for ending in turn:
        container = known.get(ending.name) or known_by_notes(found[ending.id])
        view.stops.request(ending, container, elapsed_ns=elapsed_ns, ip=ip)
    waiting = [each.grace_seconds * SECOND_NS - elapsed_ns for each in plan if each not in turn]
    return max(1, min(waiting)) if waiting else ASK_AGAIN_NS
