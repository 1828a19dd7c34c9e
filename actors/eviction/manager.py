"""`EvictionActor`: watches resources, publishes pressure, and evicts pods in time (spec 7).

It owns the pressure conditions and the choice of victims. This module has the control flow; the rules are in the other
modules of `actors.eviction`. It makes a pass every ten seconds while there is a threshold or a pod with a disk limit.
These are the steps of a pass, one per message:

    LOOKING    take a sample: of the machine alone, and of all pods only when one may have to go
    ASKING     ask the sync loop for the pods
    FREEING    remove images and dead containers first, where that frees what is short; then sample again
    SAVING     write the victims to disk before their workers are told, so that the next agent carries the decision out
    ENDING     wait until the pod has ended, half a minute at most; then begin the next pass at once

A step without an answer ends the pass; the next pass begins anew. A sample without pods, because the runtime did not
answer, also ends it: the choice would be random. If the runtime reports pods but not their usage, only pods whose usage
the kernel reports may go. Each reading of a signal evicts one pod at most.

A critical pod never goes. A disk that cannot be written to keeps no pod alive. The file also holds the conditions, so
that they last over a restart of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from actors.eviction.choice import candidates_among, first_to_go, over_their_limits, those_said
from actors.eviction.decisions import EvictionVictim, remembered_in, text_of
from actors.eviction.doomed import Doomed
from actors.eviction.pressure import PressureState, is_worth_writing, observe, recalled, seen_by_the_clock
from actors.eviction.reclaim import Reclaim, reclaimable
from actors.eviction.signals import SignalReading, signals_of
from actors.eviction.steps import (
    BeginEvictionPass,
    EvictionStep,
    EvictionTools,
    MemoryRead,
    MemorySaved,
    PollEnd,
    StepIsLate,
    memory_read_of,
)
from actors.eviction.thresholds import Layout, Threshold, configured_thresholds, is_met, thresholds_for
from actors.eviction.usage import Candidate
from actors.eviction.words import REASON, THRESHOLD_MET, threshold_words
from actors.kernel import Actor, Lane, handles
from actors.messages.admission import ResourceManagerStarted
from actors.messages.events import RecordEvent, pod_event
from actors.messages.eviction import LimitedPodSeen, MemoryRanShort, PodHere, PodsHere, WantPods
from actors.messages.node import NodePressureObserved, NodeStatusStarted
from actors.messages.pods import TerminatePod
from actors.messages.reclaim import ContainersReclaimed, ImagesReclaimed, ReclaimContainers, ReclaimImages
from actors.messages.stats import StatsTaken, WantStats
from config.kubelet import KubeletConfiguration
from config.pods.identity import is_critical
from config.pods.requests import has_disk_limits
from runtime.metrics import kubelet as names
from runtime.stats.samples import NodeSample

SECOND_NS = 1_000_000_000
PASS_NS = 10 * SECOND_NS
STEP_NS = 60 * SECOND_NS
"""The limit for an answer. If freeing takes longer, the pass goes on without it."""
SAVE_NS = 5 * SECOND_NS
END_NS = 30 * SECOND_NS
POLL_NS = SECOND_NS
LIMIT_BYTES = 4 * 1024 * 1024


class EvictionActor(Actor):
    """See the module. `path`: the file that the next agent reads."""

    health_limit_ns: ClassVar[int | None] = 300 * SECOND_NS

    def __init__(self, tools: EvictionTools, configuration: KubeletConfiguration, node_name: str, path: str) -> None:
        super().__init__()
        self._tools = tools
        self._configuration = configuration
        self._node_name = node_name
        self._path = path
        self._configured = configured_thresholds(configuration)
        self._has_limits = configuration.local_storage_capacity_isolation
        self._state = PressureState()
        self._step = EvictionStep.IDLE
        self._sample: NodeSample | None = None
        self._layout = Layout()
        self._decisive: tuple[Threshold, ...] = ()
        self._freed = False
        """Whether this pass has already freed what it can."""
        self._to_free: list[Reclaim] = []
        self._doomed = Doomed()
        self._read = False
        self._written: Mapping[str, int] | None = None
        """The conditions in the file; None when its content is unknown."""
        self._published: frozenset[str] | None = None

    def on_start(self) -> None:
        lane, read = self._file_lane(), self._tools.files.read_record
        self.attempt(
            lambda: lane.submit("evictions", read, self._path, remembered_in, LIMIT_BYTES, deadline_ns=SAVE_NS),
            memory_read_of,
        )

    @handles(MemoryRead)
    def memory_read(self, message: MemoryRead) -> None:
        """Work: the victims in the record."""
        if message.error:
            self.log.warning("the victims that an earlier agent chose cannot be read: %s", message.error)
        self._doomed.recall(message.victims)
        self._written = message.conditions
        if self._configured:
            self._state = recalled(message.conditions, self.now_ns(), self.wall_ns(), self._transition_ns)
            if self._state.conditions:
                self._publish()
        self._read = True
        self.begin_pass(BeginEvictionPass())

    # --- a pass -----------------------------------------------------------------------------------------------------

    @handles(LimitedPodSeen)
    def limited_pod_seen(self, _: LimitedPodSeen) -> None:
        """Work: constant."""
        if self._configuration.local_storage_capacity_isolation and not self._has_limits:
            self._has_limits = True
            if self._step is EvictionStep.IDLE and not self._configured:
                self.after(PASS_NS, BeginEvictionPass(), key="pass")

    @handles(MemoryRanShort)
    def memory_ran_short(self, _: MemoryRanShort) -> None:
        """Begin a pass now. The timer of the regular pass stays.

        Work: constant.
        """
        self.begin_pass(BeginEvictionPass())

    @handles(BeginEvictionPass)
    def begin_pass(self, _: BeginEvictionPass) -> None:
        """Work: constant."""
        if not self._read or self._step is not EvictionStep.IDLE:
            return
        self._freed = False
        if self._doomed or self._has_limits:
            self.ask_for_pods()
        elif self._configured:
            self._look(pods=bool(self._state.due))

    def end_pass(self, after_ns: int = PASS_NS) -> None:
        self._enter(EvictionStep.IDLE, 0)
        self._sample, self._decisive = None, ()
        if self._configured or self._has_limits or self._doomed:
            self.after(after_ns, BeginEvictionPass(), key="pass")

    def _enter(self, step: EvictionStep, late_ns: int = STEP_NS) -> None:
        self._step = step
        if late_ns:
            self.after(late_ns, StepIsLate(step), key="late")
        else:
            self.cancel_timer("late")

    @handles(StepIsLate)
    def step_is_late(self, message: StepIsLate) -> None:
        """Work: constant."""
        if message.step is not self._step:
            return
        if self._step is EvictionStep.FREEING:
            if not self._free_next():
                self._look_after_freeing()
        elif self._step is EvictionStep.SAVING:
            self.ask_for_pods()
        elif self._step is EvictionStep.ENDING:
            self.end_pass(0)
        else:
            self.log.warning("the shortages of the node are unknown now: %s", self._step.value)
            self.end_pass()

    # --- samples ----------------------------------------------------------------------------------------------------

    def _look(self, *, pods: bool) -> None:
        self._enter(EvictionStep.LOOKING)
        self._sample = None
        self._tools.stats.tell(WantStats(self.ref, 0, pods))

    @handles(StatsTaken)
    def stats_taken(self, message: StatsTaken) -> None:
        """Work: constant."""
        if self._step is not EvictionStep.LOOKING:
            return
        sample = message.sample
        self._layout = Layout(sample.image_fs_apart, sample.containers_apart)
        readings, decides = signals_of(sample), message.pods and not sample.blind
        if self._freed:
            self._decisive = tuple(each for each in self._decisive if _still_met(each, readings))
            self._state = msgspec.structs.replace(self._state, readings=readings)
        else:
            self._follow(readings, decides=decides)
        if not message.pods and self._state.due:
            self._look(pods=True)  # a pod may have to go: take a sample that shows the pods
        elif decides and (self._decisive or (self._has_limits and not self._freed)):
            self._sample = sample
            self.ask_for_pods()
        else:
            if message.pods and self._state.due and not decides:
                self.log.warning("the node is short, and no pod is evicted: the runtime does not list its pods")
            self.end_pass()

    def _follow(self, readings: Mapping[str, SignalReading], *, decides: bool) -> None:
        thresholds = thresholds_for(self._configured, self._layout)
        seen = observe(self._state, thresholds, readings, self.now_ns(), self._transition_ns)
        last = self._state.readings
        self._state = seen.state if decides else msgspec.structs.replace(seen.state, readings=last)
        self._decisive = seen.decisive if decides else ()
        if seen.state.conditions or self._published != seen.state.conditions:
            self._publish()  # a restarted listener hears it again
        if is_worth_writing(self._written, self._conditions_by_the_clock(), self._transition_ns):
            self.save()

    def _publish(self) -> None:
        found = self._published = self._state.conditions
        told = NodePressureObserved("MemoryPressure" in found, "DiskPressure" in found, "PIDPressure" in found)
        for listener in self._tools.listeners:
            listener.tell(told)

    @handles(NodeStatusStarted, ResourceManagerStarted)
    def publish_again(self, _: NodeStatusStarted | ResourceManagerStarted) -> None:
        """Publish the shortages at once: until then the node would look healthy.

        Work: constant.
        """
        if self._published is not None:
            self._publish()

    # --- the pods ---------------------------------------------------------------------------------------------------

    def ask_for_pods(self) -> None:
        self._enter(EvictionStep.ASKING)
        self._tools.sync_loop.tell(WantPods(self.ref))

    @handles(PodsHere)
    def pods_here(self, message: PodsHere) -> None:
        """Work: all pods; and their containers and volumes, if one may have to go."""
        self._doomed.notice(message.pods)
        if self._step is EvictionStep.ENDING:
            self._see_the_end(message)
            return
        if self._step is not EvictionStep.ASKING:
            return
        self._has_limits = self._configuration.local_storage_capacity_isolation and any(
            has_disk_limits(here.pod.spec) for here in message.pods
        )
        self._forget(message)
        if self._doomed.has_untold():
            self._remind(message)
        elif self._sample is not None:
            self._decide(message.pods, self._sample)
        elif self._configured or self._has_limits:
            self._look(pods=self._has_limits or bool(self._state.due))
        else:
            self.end_pass()

    def _forget(self, message: PodsHere) -> None:
        """Forget victims whose termination the API already shows."""
        if message.complete and self._doomed.forget_ended(message.pods):
            self.save()

    def _remind(self, message: PodsHere) -> None:
        """Tell the workers of all victims. No other victim is chosen before all of them are told."""
        for victim, there in self._doomed.to_tell(message.pods):
            self.tell_worker(victim, there)
        if self._doomed.has_untold():
            self.end_pass(POLL_NS)  # the pods of an earlier agent's decision are not here yet
        else:
            self._enter(EvictionStep.ENDING, END_NS)
            self.after(POLL_NS, PollEnd(), key="poll")

    # --- the choice of a victim -------------------------------------------------------------------------------------

    def _decide(self, pods: Sequence[PodHere], sample: NodeSample) -> None:
        candidates = candidates_among(pods, sample.pods, self._doomed.uids())
        over = over_their_limits(candidates, self._layout) if self._has_limits and not self._freed else ()
        if over:
            self.evict(over)
        elif not self._decisive:
            self.end_pass()
        elif not self._freed and self._free(self._decisive[0]):
            return
        else:
            self.choose(self._decisive[0], candidates, unsaid=sample.unsaid)

    def choose(self, threshold: Threshold, candidates: Sequence[Candidate], *, unsaid: bool) -> None:
        """Evict the first to go. `unsaid`: the runtime has not said what pods use."""
        reading = self._state.readings.get(threshold.signal)
        longest = self._configuration.eviction_max_pod_grace_period
        known = those_said(candidates, threshold, self._layout) if unsaid else candidates
        victim = first_to_go(threshold, reading, known, self._layout, longest)
        if victim is None:
            unknown = any(not is_critical(each.pod) for each in candidates)
            because = "the runtime does not report their usage" if unknown else "none may be evicted"
            self.log.warning("the node is short of %s, and no pod is evicted: %s", threshold.resource, because)
            self.end_pass()
            return
        if reading is not None:
            age_ns = max(0, self.wall_ns() - reading.at_ns)
            self._tools.meters.took(names.EVICTION_STATS_AGE, age_ns, threshold.signal)
        self.evict((victim,))

    def evict(self, chosen: Sequence[EvictionVictim]) -> None:
        """Save the decision, then carry it out."""
        for victim in chosen:
            self._tools.meters.count(names.EVICTIONS, victim.signal)
        self._doomed.add(chosen)
        self._enter(EvictionStep.SAVING, SAVE_NS + SECOND_NS)
        self.save(decides=True)

    def tell_worker(self, victim: EvictionVictim, there: PodHere) -> None:
        pod, worker = there.pod, there.worker
        if worker is None or is_critical(pod):
            return
        event = pod_event(pod, "Warning", REASON, victim.message)
        self._tools.events.tell(msgspec.structs.replace(event, annotations=victim.annotations))
        worker.tell(
            TerminatePod(
                grace_seconds=victim.grace_seconds,
                evicted=True,
                disrupted=victim.disrupted,
                reason=REASON,
                message=victim.message,
            )
        )

    # --- the end of the victims -------------------------------------------------------------------------------------

    @handles(PollEnd)
    def poll_end(self, _: PollEnd) -> None:
        """Work: constant."""
        if self._step is EvictionStep.ENDING:
            self._tools.sync_loop.tell(WantPods(self.ref))

    def _see_the_end(self, message: PodsHere) -> None:
        self._forget(message)
        if self._doomed.has_untold():
            self._remind(message)
        elif self._doomed.holds_resources(message.pods):
            self.after(POLL_NS, PollEnd(), key="poll")
        else:
            self.end_pass(0)

    # --- freeing ----------------------------------------------------------------------------------------------------

    def _free(self, threshold: Threshold) -> bool:
        """Report the shortage and begin to free; False when nothing can be freed."""
        text = threshold_words(threshold.resource)
        self._tools.events.tell(RecordEvent("Node", "", "", self._node_name, "Warning", THRESHOLD_MET, text))
        self._to_free = list(reclaimable(threshold.signal, self._layout))
        if self._tools.images is None and Reclaim.IMAGES in self._to_free:
            self._to_free.remove(Reclaim.IMAGES)
        return self._free_next()

    def _free_next(self) -> bool:
        if not self._to_free:
            return False
        self._enter(EvictionStep.FREEING)
        what = self._to_free.pop(0)
        if what is Reclaim.CONTAINERS:
            self._tools.containers.tell(ReclaimContainers(self.ref))
        elif self._tools.images is not None:
            self._tools.images.tell(ReclaimImages(self.ref))
        return True

    @handles(ContainersReclaimed, ImagesReclaimed)
    def reclaimed(self, message: ContainersReclaimed | ImagesReclaimed) -> None:
        """Work: constant."""
        if message.error:
            self.log.warning("some unused containers or images could not be removed: %s", message.error)
        if self._step is EvictionStep.FREEING and not self._free_next():
            self._look_after_freeing()

    def _look_after_freeing(self) -> None:
        self._freed = True
        self._look(pods=True)

    # --- the file for the next agent --------------------------------------------------------------------------------

    @property
    def _transition_ns(self) -> int:
        return self._configuration.eviction_pressure_transition_period

    def _conditions_by_the_clock(self) -> Mapping[str, int]:
        return seen_by_the_clock(self._state, self.now_ns(), self.wall_ns(), self._transition_ns)

    def _file_lane(self) -> Lane:
        """One write at a time, so that the file holds the last one."""
        return self.lane("evictions", size=1, per_key=1)

    def save(self, *, decides: bool = False) -> None:
        self._written = self._conditions_by_the_clock()
        text = text_of(self._doomed, self._written)
        lane, write = self._file_lane(), self._tools.files.write_record
        self.attempt(
            lambda: lane.submit("evictions", write, self._path, text, deadline_ns=SAVE_NS),
            lambda _, error: MemorySaved(error, decides),
        )

    @handles(MemorySaved)
    def memory_saved(self, message: MemorySaved) -> None:
        """Work: constant."""
        if message.error:
            self._written = None
            self.log.warning("the conditions of the node and the chosen victims cannot be saved: %s", message.error)
        if message.decides and self._step is EvictionStep.SAVING:
            self.ask_for_pods()  # tell the workers that exist by now


def _still_met(threshold: Threshold, readings: Mapping[str, SignalReading]) -> bool:
    reading = readings.get(threshold.signal)
    return reading is not None and is_met(threshold, reading, with_reclaim=True)
