"""One pass of a pod that is to run: takes the steps, and acts on their outcome (spec 2.7, 3.6).

The steps are in `actors.pod.steps`. Only this module sets the timers of a pass, records the events of its outcome, and
tells `explain` what the pod waits for.
"""

from __future__ import annotations

from actors.events.history_words import container_waits, decision
from actors.messages.history import PodWait
from actors.messages.pods import LookAgain
from actors.pod.outcome import CONTINUE, Continue, Outcome
from actors.pod.passes_in_a_row import PassesInARow
from actors.pod.pod_pass import PodParts, PodPass
from actors.pod.steps import STEPS
from actors.pod.steps.deadline import deadline_ns
from actors.pod.steps.decide import decide
from actors.pod_rules.action_types import back_off_message
from actors.pod_rules.actions import all_started
from runtime.cri import CriError


class PodSync:
    """See the module."""

    def __init__(self, parts: PodParts) -> None:
        self._parts = parts
        self._backing_off: dict[str, int] = {}
        """Container name -> when its back-off ends, wall clock."""
        self._held_up: PodWait | None = None
        self._warned = ("", "")
        self._row = PassesInARow()
        self.is_over = False
        """Whether the last pass found a final phase."""

    async def sync(self) -> Outcome:
        """One pass. Raises CriError if a call has failed, after the status is published."""
        pod = self._parts.view.pod
        assert pod is not None, "only a pod that is desired is synced"
        this = PodPass(self._parts, pod)
        calls_before = self._parts.calls.begun
        self._held_up = None
        outcome: Outcome = CONTINUE
        failure: CriError | None = None
        try:
            outcome = await self._take_steps(this)
        except CriError as raised:
            failure = raised
        self._note_outcome(outcome)
        if this.decided:
            this.observed = self._parts.view.seen()
            await this.publish()
        self._set_alarms(this)
        if this.decided and failure is None:
            self._plan_next_pass(this, has_done_something=self._parts.calls.begun > calls_before)
        if failure is not None:
            raise failure
        self.is_over = this.is_over
        return outcome

    async def _take_steps(self, this: PodPass) -> Outcome:
        """The outcome of the first step that is not CONTINUE."""
        for step in STEPS:
            outcome = await step(this)
            if outcome is not CONTINUE:
                return outcome
            if step is decide:
                self._tell_decision(this)
        return CONTINUE

    def waits(self) -> tuple[PodWait, ...]:
        """What the pod waits for, after a pass."""
        parts, pod = self._parts, self._parts.view.pod
        if pod is None:
            return ()
        if self._held_up is not None:
            return (self._held_up,)
        under_way = parts.starts.under_way(self._backing_off)
        started = container_waits(pod, parts.view.seen(), under_way, parts.probes.results)
        return (*parts.waits(), *started)

    # --- explain and events -----------------------------------------------------------------------------------------

    def _note_outcome(self, outcome: Outcome) -> None:
        """Keep what `explain` shows. Warn when the reason has changed, not at every pass."""
        if isinstance(outcome, Continue):
            return
        self._held_up = outcome.shown(self._parts.worker.wall_ns())
        said = (outcome.reason, outcome.warning)
        if outcome.warning and said != self._warned:
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
                text = f"Back-off restarting failed container {each.name} in pod {pod.metadata.name}"
                view.say("Warning", "BackOff", text, each.name)
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
        back_off_at_ns, pull_ns = this.actions.wake_at_ns, self._parts.starts.wake_in_ns()
        waits = [] if back_off_at_ns is None else [max(0, back_off_at_ns - wall_ns)]
        waits += [] if pull_ns is None else [pull_ns]
        if waits:
            worker.after(min(waits), LookAgain(), key="look")

    def _plan_next_pass(self, this: PodPass, *, has_done_something: bool) -> None:
        """Begin the next pass at once if this one did something; after a pause if that changes nothing."""
        parts = self._parts
        if this.actions.idle:
            self._row.ended()
            if not parts.starts.busy():
                parts.references.rest()
            return
        if self._held_up is not None or not has_done_something:
            return  # an answer, or the end of a call, begins the next pass
        if all_started(this.pod, this.observed, this.actions):
            return
        actions = this.what_to_do()
        if actions.idle:
            return
        spec = this.pod.spec
        pause_ns = self._row.pause_ns(len(spec.init_containers) + len(spec.containers))
        if not pause_ns:
            parts.worker.ref.tell(LookAgain(runtime=False))
            return
        text = f"what was done has changed nothing: it is still to {decision(actions)[0]}"
        at_ns = parts.worker.wall_ns() + pause_ns
        self._held_up = PodWait("the pod", "FailedSync", text, "it is tried again", at_ns)
        parts.worker.after(pause_ns, LookAgain(), key="in a row")
