"""One pass of a pod that is to run (spec 2.7, 3.6).

It walks the gates, decides, walks the steps, and acts on the outcome.

`actors.pod.parts` has the gates and steps in order; a pass ends at the first that does not return CONTINUE. Only this
module sets the timers of a pass, records the events of its outcome, and tells `explain` what the pod waits for.
"""

from __future__ import annotations

from actors.events.history_words import container_waits, decision
from actors.messages.history import PodWait
from actors.messages.pods import LookAgain
from actors.model.observed import ObservedPod
from actors.pod.one_pass import CONTINUE, Continue, Outcome, PassWait, PodPass, Refuse, Step
from actors.pod.parts import PodParts
from actors.pod.passes_in_a_row import PassesInARow
from actors.pod.steps.deadline import deadline_ns
from actors.pod_rules.actions import (
    PodActions,
    all_started,
    compute_pod_actions,
    in_flight_of,
)
from actors.pod_rules.back_off import back_off_event, back_off_message
from actors.pod_status.conditions import TERMINAL
from runtime.cri import CriError


class PodSync:
    def __init__(self, parts: PodParts) -> None:
        self._parts = parts
        self._backing_off: dict[str, int] = {}
        """Container name -> when its back-off ends, wall clock."""
        self._held_up: PodWait | None = None
        self._warned = ("", "")
        self._row = PassesInARow()
        self.is_over = False
        """Whether the last pass found a final phase: the rest of the pod is to be ended."""

    async def sync(self) -> Outcome:
        """Make one pass. Raises CriError if a call has failed, after the status is published."""
        parts, view = self._parts, self._parts.view
        assert view.pod is not None, "only a pod that is desired is synced"
        this = PodPass(view.pod, view.runtime, ObservedPod(view.uid))
        calls_before = parts.calls.begun
        self._held_up = None
        outcome: Outcome = CONTINUE
        failure: CriError | None = None
        try:
            outcome = await self._walk(parts.gates, this)
            if outcome is CONTINUE:
                self.decide(this)
                outcome = await self._walk(parts.steps, this)
        except CriError as raised:
            failure = raised
        self._note_outcome(outcome)
        if this.decided:
            this.observed = view.seen()
            this.phase = await parts.look.publish(this.observed)
        self._set_alarms(this)
        if this.decided and failure is None:
            self._plan_next_pass(this, has_done_something=parts.calls.begun > calls_before)
        if failure is not None:
            raise failure
        self.is_over = this.phase in TERMINAL
        return outcome

    async def _walk(self, steps: tuple[Step, ...], this: PodPass) -> Outcome:
        """The outcome of the first step that is not CONTINUE."""
        for step in steps:
            outcome = await step(this)
            if outcome is not CONTINUE:
                return outcome
        return CONTINUE

    def decide(self, this: PodPass) -> None:
        """Set `PodPass.actions`, which the steps carry out."""
        if self._parts.post_starts.hooked:
            self._parts.post_starts.end_failed()
        this.actions, this.decided = self._what_to_do(this), True
        self._tell_decision(this)

    def _what_to_do(self, this: PodPass) -> PodActions:
        parts, decided = self._parts, self._parts.view.decided
        busy = parts.containers.busy() | parts.stops.busy() if parts.stops.ends else parts.containers.busy()
        return compute_pod_actions(
            this.pod,
            this.observed,
            wall_ns=parts.worker.wall_ns(),
            crash_loop=parts.services.crash_loop,
            probes=parts.probes.results,
            in_flight=in_flight_of(parts.calls.under_way(), busy),
            resized=parts.resize.restarts(this.pod, this.observed),
            killed=decided.killed,
            owed=decided.owed,
        )

    def waits(self) -> tuple[PodWait, ...]:
        """The waits of the pod, after a pass."""
        parts, pod = self._parts, self._parts.view.pod
        if pod is None:
            return ()
        if self._held_up is not None:
            return (self._held_up,)
        stops = parts.stops.waits() if parts.stops.ends else ()
        hooks = parts.post_starts.waits() if parts.post_starts.hooked else ()
        under_way = parts.containers.under_way(self._backing_off)
        resize = parts.resize.waits()
        return (*stops, *hooks, *resize, *container_waits(pod, parts.view.seen(), under_way, parts.probes.results))

    # --- explain and events -----------------------------------------------------------------------------------------

    def _note_outcome(self, outcome: Outcome) -> None:
        """Keep what `explain` shows. Warn when the reason has changed, not at every pass."""
        if isinstance(outcome, Continue):
            return
        self._held_up = _shown(outcome, self._parts.worker.wall_ns())
        said = (outcome.reason, _warning(outcome))
        if said[1] and said != self._warned:
            self._warned = said
            self._parts.view.say("Warning", *said)

    def _tell_decision(self, this: PodPass) -> None:
        """Tell the decision before the calls to the runtime, which may take long."""
        history = self._parts.history
        self._note_back_off(this)
        history.decided(this.actions)
        if this.actions.idle:
            return
        if history.waits_no_longer("the pod"):
            history.waits(self.waits())  # the waits of its containers may be over too
        history.tell()

    def _note_back_off(self, this: PodPass) -> None:
        view, pod = self._parts.view, this.pod
        for each in this.actions.backing_off:
            view.waiting[each.name] = ("CrashLoopBackOff", back_off_message(pod, each.name, each.delay_ns))
            if self._backing_off.get(each.name) != each.until_ns:
                view.say("Warning", "BackOff", back_off_event(pod, each.name), each.name)
        self._backing_off = {each.name: each.until_ns for each in this.actions.backing_off}

    # --- timers -----------------------------------------------------------------------------------------------------

    def _set_alarms(self, this: PodPass) -> None:
        """Set timers for the active deadline of the pod and for the end of the first back-off."""
        worker, wall_ns = self._parts.worker, self._parts.worker.wall_ns()
        ends_at_ns = deadline_ns(this.pod, self._parts.view.published)
        if ends_at_ns is not None and ends_at_ns > wall_ns:  # after it, a failed look has a retry of its own
            worker.after(ends_at_ns - wall_ns, LookAgain(), key="deadline")
        if not this.decided:
            return
        back_off_at_ns, pull_ns = this.actions.wake_at_ns, self._parts.containers.wake_in_ns()
        waits = [] if back_off_at_ns is None else [max(0, back_off_at_ns - wall_ns)]
        waits += [] if pull_ns is None else [pull_ns]
        if waits:
            worker.after(min(waits), LookAgain(), key="look")

    def _plan_next_pass(self, this: PodPass, *, has_done_something: bool) -> None:
        """Begin the next pass at once if this one did something; after a pause if that changes nothing."""
        parts = self._parts
        if this.actions.idle:
            self._row.ended()
            if not parts.containers.busy():
                parts.references.rest()
            return
        if self._held_up is not None or not has_done_something:
            return  # an answer, or the end of a call, begins the next pass
        if all_started(this.pod, this.observed, this.actions):
            return
        actions = self._what_to_do(this)
        if actions.idle:
            return
        spec = this.pod.spec
        pause_ns = self._row.pause_ns(len(spec.init_containers) + len(spec.containers))
        if not pause_ns:
            parts.worker.go_on_soon()
            return
        text = f"what was done has changed nothing: it is still to {decision(actions)[0]}"
        at_ns = parts.worker.wall_ns() + pause_ns
        self._held_up = PodWait("the pod", "FailedSync", text, "it is tried again", at_ns)
        parts.worker.after(pause_ns, LookAgain(), key="in a row")


def _shown(outcome: PassWait | Refuse, wall_ns: int) -> PodWait | None:
    """The wait that `explain` shows; None: the waits of its containers."""
    if isinstance(outcome, Refuse):
        return PodWait("the pod", outcome.reason, outcome.message, outcome.then, wall_ns + outcome.retry_ns)
    return PodWait("the pod", outcome.reason, outcome.text, outcome.then) if outcome.text else None


def _warning(outcome: PassWait | Refuse) -> str:
    """The message of the warning event for this outcome; empty for no event."""
    if isinstance(outcome, Refuse):
        return outcome.event
    return outcome.text if outcome.warn else ""
