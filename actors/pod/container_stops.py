"""Ends the containers of a pod: preStop hook, then stop, within the grace (spec 3.10).

Every look may request an end, but it begins only once, and no pass awaits it. The hook is spawned; when it ends, the
stop begins; when the stop ends, the worker looks. A hook that outlasts the grace goes on while its container is being
stopped (`PRE_STOP_EXTRA_NS`). A repeated request with less time shortens the deadline and does not
run the hook again. StopContainer gets the rest of the grace as its timeout, down to a floor.

When all containers of a pod end, all hooks begin at once. The stop of a sidecar then waits for its turn.

An end is written to disk before it begins (`actors.pod.decided_ends`). So is the reason why a single container was
killed, until its successor exists. If the definition of a killed container has changed, its restart policy does not
decide about its successor.

An end that an earlier worker or agent began keeps its deadline. Its hook is not run again, because it ended with the
worker that began it. Only a sleep goes on for the rest of its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from actors.events.history_words import stop_wait
from actors.kernel import Message, Pending, handles, part
from actors.messages.history import HistoryKind, PodWait
from actors.messages.pods import LookAgain
from actors.model.observed import ObservedPod
from actors.pod.decided_ends import EndNote
from actors.pod.history import PodHistory
from actors.pod.hook_rules import Hook, HookImpossibleError, HookKind, SleepHook, hook_of, known_by_notes, words_of
from actors.pod.hook_runner import HookEnd, HookRunEnded, HookRunner, HookTimeIsUp
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.view import PodView
from actors.pod_rules.termination import PRE_STOP_EXTRA_NS, Ending, may_stop, pre_stop_deadline_ns, remaining_seconds
from config.objects import Container
from config.pods.identity import containers_by_name
from config.values.ages import spoken
from runtime.cri import CriError
from runtime.cri.messages import StopContainerResponse
from runtime.traces.spans import TraceContext, current, under

_NOBODY: frozenset[str] = frozenset()
_HELD = "it waits for the containers that it serves"
_HOOK_LATE = "it has not ended within the grace period"
SECOND_NS = 1_000_000_000
ASK_AGAIN_NS = 60 * SECOND_NS
RETRY_NS = 10 * SECOND_NS
"""A failed stop is retried after this."""
NOT_GONE_RETRY_NS = SECOND_NS
"""The runtime reports a container as stopped but still shows it running: stop it again after this."""


class EndsNoted(Message, frozen=True):
    """To the worker itself: the decisions to end these containers are on disk, or could not be written."""

    container_ids: tuple[str, ...]


class ContainerStopEnded(Message, frozen=True):
    """To the worker itself: a StopContainer has ended. `error` is empty when the container is gone."""

    container_id: str
    number: int
    error: str = ""


class _End(msgspec.Struct):
    """An end under way. Times are monotonic; `retry_at_ns`: nothing is in flight until then.

    `hook`: the preStop hook, until it has ended; `in_hook`: the stop waits for it. `noted`: the decision is on disk.
    `in_turn`: the container may be stopped; `held`: only that is missing. `outlived`: the container still ran after its
    stop had ended, and a timer triggers a look. `trace`: the pass that has ordered the end.
    """

    ending: Ending
    container: Container
    deadline_ns: int
    hook: Hook | None = None
    in_hook: bool = False
    hook_began_ns: int = 0
    noted: bool = False
    in_turn: bool = True
    held: bool = False
    number: int = 0
    timeout_seconds: int = 0
    asked_wall_ns: int = 0
    retry_at_ns: int | None = None
    outlived: bool = False
    trace: TraceContext | None = None


class ContainerStops:
    hooks = part(HookRunner)

    def __init__(
        self,
        worker: PodActor,
        view: PodView,
        history: PodHistory,
        observer: PodObserver,
        calls: PodCalls,
        hooks: HookRunner,
    ) -> None:
        self._worker = worker
        self._view = view
        self._history = history
        self._observer = observer
        self._calls = calls
        self._decided = view.decided
        self.hooks = hooks
        self.ends: dict[str, _End] = {}
        """By container id, until a look shows that it has ended."""
        self._begun: list[str] | None = None
        """Ids of containers whose ends have begun in the block `together`; None outside of one."""
        self._ending_all_since_ns: int | None = None
        self.stop_unsettled = False
        """A stop has ended, and no look has followed. `settle` must process the next look even if it shows no
        change.
        """

    def busy(self) -> frozenset[str]:
        """Names of containers that are being ended: nothing else is decided about them meanwhile."""
        return frozenset(end.ending.name for end in self.ends.values() if end.retry_at_ns is None)

    def not_gone(self) -> frozenset[str]:
        """Names of containers that are to end and may still run, including those whose stop will be retried."""
        return frozenset(end.ending.name for end in self.ends.values())

    def request(
        self, ending: Ending, container: Container, *, elapsed_ns: int = 0, ip: str = "", in_turn: bool = True
    ) -> None:
        """Begin to end a container, or shorten an end under way.

        `elapsed_ns`: the part of its grace already spent.

        `in_turn`: it may be stopped once its hook has ended; else a later request says so.
        """
        now_ns = self._worker.now_ns()
        deadline_ns = now_ns + ending.grace_seconds * SECOND_NS - elapsed_ns
        end = self.ends.get(ending.id)
        if end is None:
            self._view.say("Normal", "Killing", ending.message, ending.name)
            self._begin(ending, container, deadline_ns, ip, in_turn)
            return
        end.in_turn = end.in_turn or in_turn
        if end.retry_at_ns is not None:
            if now_ns >= end.retry_at_ns:
                end.ending, end.deadline_ns = ending, min(end.deadline_ns, deadline_ns)
                self.stop_container(end)
        elif deadline_ns < end.deadline_ns and ending.grace_seconds < end.ending.grace_seconds:
            end.ending, end.deadline_ns = ending, deadline_ns
            if not end.noted:
                return  # the end goes on with the new deadline
            if end.in_hook:
                self.hooks.limit(ending.id, HookKind.PRE_STOP, deadline_ns - now_ns)
            else:
                self._stop_in_turn(end)
        elif end.held:
            self._stop_in_turn(end)

    def end_all(self, plan: tuple[Ending, ...]) -> int | None:
        """End the containers of a pod that will continue.

        See `request_in_turn`; the grace runs from the first call.
        """
        if self._ending_all_since_ns is None:
            self._ending_all_since_ns = self._worker.now_ns()
        return self.request_in_turn(plan, self._worker.now_ns() - self._ending_all_since_ns)

    def all_ended(self) -> None:
        """The sandboxes have stopped too: the next `end_all` gets a new grace."""
        self._ending_all_since_ns = None

    def request_in_turn(self, plan: tuple[Ending, ...], elapsed_ns: int) -> int | None:
        """End the containers of the plan, and stop those whose turn it is.

        Returns the ns until the next turn; None: nothing runs.

        `elapsed_ns`: how much of the common grace has passed.
        """
        if not plan:
            return None
        view = self._view
        known = {} if view.pod is None else containers_by_name(view.pod.spec)
        running = {each.name for each in plan}
        turn = {each.id for each in plan if may_stop(each, running, elapsed_ns)} or {each.id for each in plan}
        ip = view.ip()
        with self.together():
            for ending in plan:
                container = known.get(ending.name) or self._known_by_notes(ending)
                self.request(ending, container, elapsed_ns=elapsed_ns, ip=ip, in_turn=ending.id in turn)
        if len(turn) == len(plan):
            return ASK_AGAIN_NS
        return max(1, min(each.grace_seconds * SECOND_NS - elapsed_ns for each in plan if each.id not in turn))

    def _known_by_notes(self, ending: Ending) -> Container:
        """A container that the spec of the pod does not name, by what it carries."""
        (found,) = (each for each in self._view.seen().by_name[ending.name] if each.id == ending.id)
        return known_by_notes(found)

    def _hook_ended(self, message: HookEnd) -> None:
        """A preStop hook has ended, with or without success: ask the container to stop when it is its turn."""
        end = self.ends.get(message.container_id)
        if end is None:
            return
        name = end.ending.name
        if isinstance(message, HookTimeIsUp):
            if not end.in_hook:
                self._say_failed(end, _HOOK_LATE)
                return
            text = f"container {name}: its preStop hook goes on after the grace period"
            self._history.note(HistoryKind.EVENT, text, "the container is asked to stop")
        elif message.error:
            self._say_failed(end, message.error)
        else:
            took = spoken(self._worker.now_ns() - end.hook_began_ns)
            follows = "it is asked to stop" if end.in_turn else _HELD
            text = f"container {name}: its preStop hook has ended" + (f"; {follows}" if end.in_hook else "")
            self._history.note(HistoryKind.EVENT, text, f"after {took}")
        if isinstance(message, HookRunEnded) and message.fell_back:
            self._view.say("Warning", "LifecycleHTTPFallback", message.fell_back, name)
        if end.in_hook:
            self._stop_in_turn(end)

    @handles(ContainerStopEnded)
    def stop_ended(self, message: ContainerStopEnded) -> Pass | None:
        self._observer.doubt(message.container_id)
        end = self.ends.get(message.container_id)
        if end is not None and end.number == message.number:
            self._note_stop(end, message)
        return self._worker.go_on()

    def _note_stop(self, end: _End, message: ContainerStopEnded) -> None:
        wait_ns = NOT_GONE_RETRY_NS
        if message.error:
            wait_ns = RETRY_NS
            text = f"error killing container {end.ending.name}: {message.error}"
            self._view.say("Warning", "FailedKillPod", text)
        end.retry_at_ns, end.outlived = self._worker.now_ns() + wait_ns, False
        self.stop_unsettled = True

    def settle(self, observed: ObservedPod) -> None:
        """Drop the ends of containers that the look shows as ended."""
        self.stop_unsettled = False
        decided = self._decided
        known = {each.id: each for each in observed.containers()}
        for container_id, end in tuple(self.ends.items()):
            if container_id in known and known[container_id].may_run:
                self._look_when_due(container_id, end)
                continue
            del self.ends[container_id]
            if self.hooks.under_way(container_id, HookKind.PRE_STOP):
                if not end.in_hook:
                    self._say_failed(end, _HOOK_LATE)
                self.hooks.drop(container_id, HookKind.PRE_STOP)
            if end.outlived:
                self._worker.cancel_timer(f"stop {container_id}")
        if decided.ends or decided.killed:
            newest = {group[0].id for group in observed.by_name.values()} if decided.killed else _NOBODY
            decided.forget_others_than(known, newest)

    def _look_when_due(self, container_id: str, end: _End) -> None:
        """The container still runs. If its stop has ended, schedule a look for the next try."""
        if end.retry_at_ns is not None and not end.outlived:
            end.outlived = True
            wait_ns = max(0, end.retry_at_ns - self._worker.now_ns())
            self._worker.after(wait_ns, LookAgain(), key=f"stop {container_id}")

    def waits(self) -> tuple[PodWait, ...]:
        """The waits of these ends, for people."""
        ahead_ns = self._worker.wall_ns() - self._worker.now_ns()
        return tuple([_wait(end, ahead_ns) for end in self.ends.values() if end.noted])

    # --- one end ----------------------------------------------------------------------------------------------------

    def _begin(self, ending: Ending, container: Container, deadline_ns: int, ip: str, in_turn: bool) -> None:
        """Decide the end and write it down; an earlier decision stays in force."""
        now_ns, wall_ns = self._worker.now_ns(), self._worker.wall_ns()
        before = self._decided.ends.get(ending.id)
        if before is not None:
            deadline_ns = min(deadline_ns, now_ns + before.grace_ns - before.passed_ns(now_ns, wall_ns))
        end = self.ends[ending.id] = _End(ending, container, deadline_ns, in_turn=in_turn, trace=current())
        end.hook = self._hook_of(end, before, ip)
        if before is None:
            until_wall_ns = wall_ns + deadline_ns - now_ns
            self._decided.ends[ending.id] = EndNote(wall_ns, until_wall_ns, end.hook is not None, now_ns)
        if self._begun is None:
            self._note((ending.id,))
        else:
            self._begun.append(ending.id)

    @contextmanager
    def together(self) -> Iterator[None]:
        """A block in which ends begin. They are written down at once after it: each write has all decisions."""
        if self._begun is not None:
            yield
            return
        begun = self._begun = []
        try:
            yield
        finally:
            self._begun = None
        if begun:
            self._note(tuple(begun))

    def _note(self, container_ids: tuple[str, ...]) -> None:
        """Write the decisions down."""
        decided = self._decided

        def then(done: Pending[Any]) -> EndsNoted:
            decided.written(done)
            return EndsNoted(container_ids)

        self._worker.begin(decided.write, then)

    @handles(EndsNoted)
    def ends_noted(self, message: EndsNoted) -> None:
        """The decisions are on disk: begin the ends."""
        for container_id in message.container_ids:
            end = self.ends.get(container_id)
            if end is not None and not end.noted:
                end.noted = True
                self._begin_noted(end)
        self._worker.explain()

    def _begin_noted(self, end: _End) -> None:
        """Run the hook first, then stop."""
        left_ns = self._left_ns(end)
        if end.hook is None or left_ns <= 0:
            self._stop_in_turn(end)
            return
        end.in_hook, end.hook_began_ns = True, self._worker.now_ns()
        text = f"container {end.ending.name}: its preStop hook is run"
        self._history.note(HistoryKind.EVENT, text, f"{words_of(end.hook)}; it has {spoken(left_ns)}")
        begin = partial(self.hooks.begin, end.ending.id, HookKind.PRE_STOP, end.hook)
        under(end.trace, partial(begin, left_ns, self._hook_ended, PRE_STOP_EXTRA_NS))

    def _left_ns(self, end: _End) -> int:
        """How long the hook may still take; 0: do not run it."""
        grace = end.ending.grace_seconds
        return pre_stop_deadline_ns(grace, self._worker.now_ns() - (end.deadline_ns - grace * SECOND_NS))

    def _hook_of(self, end: _End, before: EndNote | None, ip: str) -> Hook | None:
        """The hook to run before the stop, or None."""
        handler = end.ending.pre_stop
        if handler is None or self._left_ns(end) <= 0:
            return None
        try:
            hook = hook_of(end.container, handler, ip)
        except HookImpossibleError as impossible:
            if before is None:
                self._say_failed(end, str(impossible))
            return None
        if before is None or not before.hooked:
            return hook
        if isinstance(hook, SleepHook):
            left_ns = hook.ns - before.passed_ns(self._worker.now_ns(), self._worker.wall_ns())
            return SleepHook(min(hook.ns, left_ns)) if left_ns > 0 else None
        return None

    def _stop_in_turn(self, end: _End) -> None:
        """Stop a container whose hook is over, or hold it until its turn."""
        if end.in_turn:
            self.stop_container(end)
        else:
            end.hook, end.in_hook, end.held = None, False, True

    def stop_container(self, end: _End) -> None:
        end.hook, end.in_hook, end.held, end.retry_at_ns = None, False, False, None
        end.number += 1
        container_id, number = end.ending.id, end.number
        grace = end.ending.grace_seconds
        elapsed_ns = self._worker.now_ns() - (end.deadline_ns - grace * SECOND_NS)
        timeout = end.timeout_seconds = remaining_seconds(grace, elapsed_ns)
        end.asked_wall_ns = self._worker.wall_ns()
        calls = self._calls

        def then(done: Pending[StopContainerResponse]) -> ContainerStopEnded:
            return ContainerStopEnded(container_id, number, _failure(done))

        stop = partial(calls.stop_container, container_id, timeout)
        self._worker.begin(stop if end.trace is None else partial(under, end.trace, stop), then)

    def _say_failed(self, end: _End, why: str) -> None:
        self._view.say("Warning", HookKind.PRE_STOP.event, HookKind.PRE_STOP.failure, end.ending.name, detail=why)


def _failure(done: Pending[StopContainerResponse]) -> str:
    """Why a stop has failed; empty for success, and for a container that was already gone."""
    try:
        done.result(0)
    except CriError as failure:
        return "" if failure.not_found else str(failure)
    except BaseException as failure:  # whatever the failure, the stop is retried
        return repr(failure)
    return ""


def _wait(end: _End, ahead_ns: int) -> PodWait:
    name = end.ending.name
    if end.retry_at_ns is None and not end.in_hook and not end.held:
        return stop_wait(name, end.timeout_seconds, end.asked_wall_ns)
    subject = f"the end of container {name}"
    if end.retry_at_ns is not None:
        at_ns = end.retry_at_ns + ahead_ns
        return PodWait(subject, "Terminating", "the runtime has not stopped it", "it is asked again", at_ns)
    at_ns = end.deadline_ns + ahead_ns
    if end.held:
        return PodWait(subject, "Terminating", _HELD, "it is asked to stop after that, at the latest", at_ns)
    hook = words_of(end.hook) if end.hook is not None else ""
    text = f"its preStop hook is running: {hook}"
    return PodWait(subject, "Terminating", text, "it is asked to stop after that, at the latest", at_ns)
