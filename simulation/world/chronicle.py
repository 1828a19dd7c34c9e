"""Records what happens to pods, containers and nodes of a world, and finds violations.

It listens to the containers of each runtime and to the store of the API server. It keeps little data per pod. So every
change is judged at once, at a cost that does not grow with the number of pods. The rules themselves are in
`simulation.world.invariants`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from config.pods.identity import SYSTEM_CRITICAL_PRIORITY
from runtime.cri.messages import ContainerState
from simulation.apiserver.store.store import DELETED, Version
from simulation.chance.sometimes import Sometimes
from simulation.cri.state import ContainerRecord
from simulation.scenarios.pods import PodMix
from simulation.world import invariants
from simulation.world.seen import ContainerSeen, PodSeen
from simulation.world.statuses import is_ready, pressures_in, restarts_in, running_in
from simulation.world.timings import END, PROBE, START, Timings

VIOLATIONS_KEPT = 100
READY = "Ready"

Json = dict[str, Any]


class Violation(msgspec.Struct, frozen=True):
    """A violation of a rule."""

    invariant: str
    at_ns: int
    what: str


class Chronicle:
    """See the module. `now_ns`: the time of the world."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self.pods: dict[str, PodSeen] = {}
        """By uid: those that are in the API."""
        self.nodes_ready: dict[str, bool] = {}
        self.pressures: dict[str, list[str]] = {}
        """By node: which of its conditions of pressure are true."""
        self.violations: list[Violation] = []
        self._violated: set[str] = set()
        self.sometimes = Sometimes()
        self.startups_ns: list[int] = []
        self.timings = Timings()
        self.must_stay_ready = True
        self.on_violation: Callable[[str], object] = lambda _: None
        self.on_gone: Callable[[PodSeen], object] = lambda _: None
        self.mix_of: Callable[[str], PodMix | None] = lambda _: None
        self.on_stranger: Callable[[ContainerRecord], bool] = lambda _: False
        """Told of containers of pods that are not in the API; whether they may run nevertheless."""
        self._probed: dict[str, dict[tuple[str, str, str], int]] = {}
        """By uid: when each of its containers (name and id) was asked last, by kind.

        Or began, or its agent did.
        """
        self._standing: set[str] = set()
        """Nodes whose agents do nothing."""
        self._leases: dict[str, int] = {}
        self.leases_every_ns: int | None = None
        self._mean_to_fail: set[str] = set()
        """Node and actor."""
        self._ghosts: dict[str, PodSeen] = {}
        """By uid: pods with containers that run, and that the API does not have."""

    def violated(self, invariant: str, what: str) -> None:
        """Write a violation down; beyond a number they are not worth it, but for the first of each rule."""
        self.on_violation(invariant)
        if len(self.violations) < VIOLATIONS_KEPT or invariant not in self._violated:
            self.violations.append(Violation(invariant, self._now_ns(), what))
        self._violated.add(invariant)

    def judge(self, rule: Callable[..., str | None], *seen: Any) -> None:
        """Ask a rule of `simulation.world.invariants` what it says of that."""
        fault = rule(*seen)
        if fault:
            self.violated(invariants.name_of(rule), fault)

    def now_ns(self) -> int:
        return self._now_ns()

    def means_to_fail(self, actor: str) -> None:
        """A fault will make that actor fail next."""
        self._mean_to_fail.add(actor)

    def actor_failed(self, actor: str, message: str, outcome: str) -> None:
        """Record the failure of an actor, unless a fault of the world made it fail.

        No other fault is a reason to fail: the actor is restarted, but its operation was not done.
        """
        if actor in self._mean_to_fail:
            self._mean_to_fail.remove(actor)
            return
        self.violated("no-actor-fails", f"{actor} {outcome} on {message}")

    # --- runtimes ---------------------------------------------------------------------------------------------------

    def container_changed(self, record: ContainerRecord) -> None:
        """Called by a runtime when a container has changed."""
        uid, runs = record.sandbox.pod_uid, record.state is ContainerState.CONTAINER_RUNNING
        pod = self.pods.get(uid) or self._ghosts.get(uid)
        if pod is None:
            known = self.on_stranger(record)
            if not known and runs:
                self.violated("nothing-runs-of-the-gone", invariants.of_the_gone(record))
            return
        metadata = record.config.metadata
        name = metadata.name if metadata is not None else ""
        seen = pod.containers.get(name)
        if seen is None:
            seen = pod.containers[name] = ContainerSeen()
        if runs:
            if record.id in seen.live:
                return
            seen.live.add(record.id)
            seen.starts += 1
            self._note_change(pod)
            self._await_probes(pod, uid, name, record.id)
            if seen.starts > 1:
                self.sometimes.happened("container-restarted")
            for rule in invariants.OF_STARTS:
                self.judge(rule, pod, name, seen)
        elif record.id in seen.live:
            seen.live.discard(record.id)
            seen.exits += 1
            seen.exit_code = record.exit_code
            self._note_change(pod)
            self._judge_last_probes(pod, uid, record.id)
            if record.exit_code == 137:
                self.sometimes.happened("container-killed")

    def _note_change(self, pod: PodSeen) -> None:
        if pod.unshown_since_ns is None and pod.mix is not None and pod.mix.shown_within is not None:
            pod.unshown_since_ns = self._now_ns()

    # --- agents -----------------------------------------------------------------------------------------------------

    def disk_operation(self, uid: str, operation: str) -> None:
        """An agent is about to unmount or to remove something of that pod."""
        pod = self.pods.get(uid) or self._ghosts.get(uid)
        if pod is not None:
            self.judge(invariants.no_live_volume_is_touched, pod, operation)

    def probed(self, record: ContainerRecord, kind: str) -> None:
        """An agent asks a container."""
        uid = record.sandbox.pod_uid
        pod = self.pods.get(uid)
        if pod is None or not _is_probed_in_time(pod.mix) or record.config.metadata is None:
            return
        last_ns, name = self._probed.setdefault(uid, {}), record.config.metadata.name
        self._judge_probe(pod, name, kind, last_ns.get((name, record.id, kind)))
        last_ns[name, record.id, kind] = self._now_ns()

    def _judge_probe(self, pod: PodSeen, name: str, kind: str, before_ns: int | None) -> None:
        gap_ns = 0 if before_ns is None else self._now_ns() - before_ns
        if before_ns is not None:
            self.timings.waited(pod.mix, PROBE, gap_ns)
        self.judge(invariants.probes_come_in_time, pod, name, kind, gap_ns)

    def _await_probes(self, pod: PodSeen, uid: str, name: str, container_id: str) -> None:
        """Expect probes from now on: the container or its agent has begun."""
        if pod.mix is None or not _is_probed_in_time(pod.mix) or pod.node in self._standing:
            return
        for kind in invariants.probes_of(pod.mix, name):
            self._probed.setdefault(uid, {})[name, container_id, kind] = self._now_ns()

    def _judge_last_probes(self, pod: PodSeen, uid: str, container_id: str) -> None:
        """Judge the gap since the last probes of a container that has ended. Pods that are to go are exempt."""
        last_ns = self._probed.get(uid, {})
        for name, found, kind in [key for key in last_ns if key[1] == container_id]:
            before_ns = last_ns.pop((name, found, kind))
            if pod.deleted_ns is None and not pod.doomed:
                self._judge_probe(pod, name, kind, before_ns)

    def _note_missed_probes(self, pod: PodSeen, uid: str) -> None:
        """A pod is to go, and is probed no more: note the probes that it should have had before."""
        for (name, _, kind), before_ns in self._probed.get(uid, {}).items():
            gap_ns = self._now_ns() - before_ns
            if pod.mix is not None and gap_ns > invariants.probes_of(pod.mix, name)[kind] * invariants.SECOND_NS:
                self.timings.waited(pod.mix, PROBE, gap_ns)

    def unprobed(self) -> Iterator[str]:
        """Containers that are no longer probed although their agents are at work."""
        for uid, last_ns in self._probed.items():
            pod = self.pods.get(uid)
            if pod is None or pod.deleted_ns is not None or pod.doomed or pod.node in self._standing:
                continue
            for (name, _, kind), before_ns in last_ns.items():
                fault = invariants.probes_come_in_time(pod, name, kind, self._now_ns() - before_ns)
                if fault:
                    yield fault

    def agent_stands_still(self, node: str) -> None:
        """The agent of a node is paused: its work may be late from now on."""
        self._standing.add(node)
        for uid in [uid for uid in self._probed if (pod := self.pods.get(uid)) is None or pod.node == node]:
            del self._probed[uid]

    def agent_goes_on(self, node: str) -> None:
        """The agent of a node runs again: from now on its work must be in time."""
        self._standing.discard(node)
        for uid, pod in self.pods.items():
            if pod.node == node:
                for name, seen in pod.containers.items():
                    for container_id in sorted(seen.live):
                        self._await_probes(pod, uid, name, container_id)

    def stands_still(self, node: str) -> bool:
        """Whether its agent is dead, or gets no CPU."""
        return node in self._standing

    def renewed_ns(self, node: str) -> int:
        """When the lease of that node was written last."""
        return self._leases.get(node, -1)

    def lease_changed(self, kind: str, version: Version) -> None:
        """Told by the store."""
        now_ns, node = self._now_ns(), version.name
        before_ns, self._leases[node] = self._leases.get(node), now_ns
        if before_ns is None or self.leases_every_ns is None or now_ns - before_ns <= self.leases_every_ns:
            return
        late = f"the lease of {node} was renewed after {(now_ns - before_ns) / 10**9:g} s"
        self.violated("leases-are-renewed-in-time", f"{late}; at most {self.leases_every_ns / 10**9:g} s are allowed")

    # --- the API server ---------------------------------------------------------------------------------------------

    def pod_changed(self, kind: str, version: Version) -> None:
        """Told by the store."""
        value = version.object
        uid = value["metadata"]["uid"]
        if kind == DELETED:
            self._gone(uid)
            return
        pod = self.pods.get(uid)
        if pod is None:
            policy = value["spec"].get("restartPolicy", "Always")
            pod = PodSeen(version.name, policy, self._now_ns(), self.mix_of(version.name))
            pod.critical = (value["spec"].get("priority") or 0) >= SYSTEM_CRITICAL_PRIORITY
            pod.asks_of_statuses = invariants.asks_of_statuses(pod.mix)
            self.pods[uid] = pod
        if pod.mix is not None and pod.mix.writes_until_running is not None and pod.node:
            pod.writes += 1
        pod.node = version.node
        if pod.deleted_ns is None and "deletionTimestamp" in value["metadata"]:
            pod.deleted_ns = self._now_ns()
            self._note_missed_probes(pod, uid)
            if pod.running_ns is None:
                self.sometimes.happened("pod-deleted-before-it-ran")
                self.timings.waited(pod.mix, START, pod.deleted_ns - pod.created_ns)
                self.judge(invariants.starts_in_time, pod)
        status = value.get("status")
        if status:
            self._shown(pod, status)

    def _shown(self, pod: PodSeen, status: Json) -> None:
        if not self.nodes_ready.get(pod.node, True):
            pod.was_ready = False  # of pods on a node that it does not hear of the cluster says so by itself
        if pod.unshown_since_ns is not None and running_in(status) == pod.live_ids():
            pod.now_ns = self._now_ns()
            self.judge(invariants.the_truth_is_shown_in_time, pod, status)
            pod.unshown_since_ns = None
        pod.restarts_before, pod.restarts = pod.restarts, restarts_in(status)
        phase = status.get("phase", "")
        has_ended = phase in invariants.ENDED
        all_rules = has_ended or pod.asks_of_statuses
        for rule in invariants.OF_STATUSES if all_rules else invariants.OF_PLAIN_STATUSES:
            self.judge(rule, pod, status)
        if phase != pod.phase:
            pod.phase = phase
            has_run = phase == "Running" or (has_ended and bool(pod.containers))
            if has_run and pod.running_ns is None:  # one that was soon over is never shown while it runs
                pod.running_ns = self._now_ns()
                self.startups_ns.append(pod.running_ns - pod.created_ns)
                self.timings.waited(pod.mix, START, pod.running_ns - pod.created_ns)
                self.judge(invariants.starts_in_time, pod)
            if has_ended and pod.deleted_ns is None:
                self.sometimes.happened("pod-ended-by-itself")
        pod.ready = is_ready(status)
        pod.was_ready = pod.was_ready or pod.ready

    def pod_doomed(self, uid: str) -> None:
        """An agent has published that it ends this pod."""
        pod = self.pods.get(uid)
        if pod is None:
            return
        pod.doomed = True
        self.sometimes.happened("pod-evicted")
        self.judge(invariants.a_critical_pod_stays, pod)

    def _gone(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self._probed.pop(uid, None)
        if pod.deleted_ns is not None:
            self.timings.waited(pod.mix, END, self._now_ns() - pod.deleted_ns)
        for rule in invariants.OF_GONE:
            self.judge(rule, pod, self._now_ns())
        if pod.live():
            self._ghosts[uid] = pod
        self.on_gone(pod)

    def node_changed(self, kind: str, version: Version) -> None:
        """Told by the store."""
        name = version.name
        ready = kind != DELETED and is_ready(version.object.get("status") or {})
        self.pressures[name] = pressures_in(version.object.get("status") or {})
        if self.pressures[name]:
            self.sometimes.happened("node-under-pressure")
        was = self.nodes_ready.get(name)
        self.nodes_ready[name] = ready
        if was and not ready:
            self.sometimes.happened("node-not-ready")
            if self.must_stay_ready:
                self.violated("a-node-stays-ready", f"node {name} is shown not Ready any more")

    def evicts(self, node: str) -> bool:
        """Whether some pod of the node has been decided on and has not ended."""
        return any(pod.doomed and pod.node == node and pod.phase not in invariants.ENDED for pod in self.pods.values())

    def on_its_way(self, node: str) -> tuple[bool, bool]:
        """Whether some pod of the node is starting, and whether some pod of it is being deleted."""
        starts = ends = False
        for pod in self.pods.values():
            if pod.node == node:
                starts = starts or (pod.running_ns is None and pod.deleted_ns is None)
                ends = ends or pod.deleted_ns is not None
        return starts, ends


def _is_probed_in_time(mix: PodMix | None) -> bool:
    """Whether the mix has a limit for its probes."""
    return mix is not None and (mix.probed_within is not None or mix.slower_at_most is not None)
