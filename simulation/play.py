"""A scenario played in a world: pods come and go, things go wrong, then all is healed and must become as desired.

Two stretches of virtual time: what the scenario lasts; and then, healed, until nothing is left to be done.
The second has a bound.
`Play.advance` takes one step of it and returns, so that whoever drives it can show how far it is, and stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from config.kubelet import KubeletConfiguration
from simulation import invariants
from simulation.chronicle import PodSeen
from simulation.cri.behaviour_values import duration_ns
from simulation.faults import CallFaults, EventFaultPlan, FaultPlan
from simulation.scenario import (
    AgentKills,
    ApiCalls,
    ApiOutage,
    ApiWatches,
    ContainerMix,
    PodMix,
    Range,
    RuntimeCalls,
    RuntimeEvents,
    RuntimeOutage,
    Scenario,
    annotations_of,
)
from simulation.simulated_node import ROOT
from simulation.world import World

SECOND_NS = 10**9
LOOK_EVERY_NS = SECOND_NS
"""How often a healed world is asked whether it has become as desired."""
UNTIL_NODES_ARE_READY_NS = 60 * SECOND_NS
TOLD_AT_MOST = 10
"""What is not as desired at the end, at most so many lines of it by rule."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a play came to. Times in ns; `startups_ns` sorted."""

    pods: int
    virtual_ns: int
    messages: int
    trace_hash: str
    violations: tuple[dict[str, Any], ...]
    sometimes: dict[str, int]
    startups_ns: tuple[int, ...]
    converged: bool
    last_lines: tuple[str, ...]


class Play:
    """See the module. `lasts_ns`: instead of what the scenario says."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        lasts_ns: int | None = None,
        sink: Callable[[str], object] | None = None,
    ) -> None:
        self.scenario = scenario
        own_ns = None if scenario.lasts is None else duration_ns(scenario.lasts)
        self._lasts_ns = own_ns if lasts_ns is None else lasts_ns
        images = tuple(dict.fromkeys(c.image for mix in scenario.pods if not _pulls(mix) for c in mix.containers))
        self.world = World(
            seed,
            nodes=scenario.nodes,
            images=images,
            configuration=KubeletConfiguration(
                cluster_dns=("10.0.0.10",),
                cluster_domain="cluster.local",
                serialize_image_pulls=scenario.node.serialize_image_pulls,
            ),
            runtime_faults=_runtime_plan(scenario),
            api_faults=_api_plan(scenario),
            qps=scenario.node.api_requests_per_second,
            sink=sink,
        )
        self.world.chronicle.must_stay_ready = scenario.nodes_stay_ready
        self.world.chronicle.mix_of = self._mix_of
        self.world.chronicle.on_gone = self._gone
        self._mixes: dict[str, PodMix] = {}
        self._bodies = {mix.name: _body_of(mix) for mix in scenario.pods}
        self._came = 0
        self._to_come = 0
        self._to_go = 0
        self._healed = False
        self._hung: list[str] = []
        self._heal_by_ns = 0
        self.done = False
        self.converged = False
        self._begin()

    # --- the course of it -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        world = self.world
        world.start()
        until_ns = world.now_ns() + UNTIL_NODES_ARE_READY_NS
        while sum(world.chronicle.nodes_ready.values()) < len(world.nodes) and world.now_ns() < until_ns:
            world.run_for(SECOND_NS // 10)
        self._began_ns = world.now_ns()
        for mix in self.scenario.pods:
            for number in range(mix.count):
                self._let_come(mix, f"{mix.name}-{number}", self._draw(mix.arrives))
        for fault in self.scenario.faults:
            self._let_befall(fault)

    def advance(self, ns: int) -> None:
        """Play on for `ns` ns of virtual time, or until it is over."""
        until_ns = self.world.now_ns() + ns
        while not self.done and self.world.now_ns() < until_ns:
            if self._healed:
                self._settle()
            else:
                self._go_on(until_ns)

    def share(self) -> float:
        """How much of it is over, from 0 to 1."""
        if self._lasts_ns:
            return min(1.0, (self.world.now_ns() - self._began_ns) / self._lasts_ns)
        total = self._came + self._to_come
        return 1 - (self._to_come + self._to_go) / (2 * total) if total else 1.0

    def _go_on(self, until_ns: int) -> None:
        """The time in which things come, go, and go wrong."""
        world = self.world
        if self._lasts_ns is None:
            world.run_for(min(LOOK_EVERY_NS, until_ns - world.now_ns()))
            over = not (self._to_come or self._to_go)
        else:
            end_ns = self._began_ns + self._lasts_ns
            world.run_for(min(until_ns, end_ns) - world.now_ns())
            over = world.now_ns() >= end_ns
        if over:
            self._healed = True
            self._heal_by_ns = world.now_ns() + duration_ns(self.scenario.converges_within)
            for path, tree in ((path, node.host.tree) for node in world.nodes.values() for path in self._hung):
                tree.heal(path)
            world.heal()

    def _settle(self) -> None:
        """Healed: every second, whether anything is left to be done."""
        world = self.world
        if not any(True for rule in invariants.AT_THE_END for _ in rule(world)):
            self.done = self.converged = True
        elif world.now_ns() >= self._heal_by_ns:
            self.done = True
            for rule in invariants.AT_THE_END:
                for number, fault in enumerate(rule(world)):
                    if number < TOLD_AT_MOST:
                        world.chronicle.violated(invariants.name_of(rule), fault)
        else:
            world.run_for(LOOK_EVERY_NS)

    def outcome(self) -> Outcome:
        """What it has come to so far."""
        world = self.world
        trace_hash = world.trace.hash()
        violations = tuple(
            {"invariant": each.invariant, "at_seconds": each.at_ns / SECOND_NS, "what": each.what}
            for each in world.chronicle.violations
        )
        return Outcome(
            pods=self._came,
            virtual_ns=world.now_ns(),
            messages=world.trace.messages,
            trace_hash=trace_hash,
            violations=violations,
            sometimes=world.sometimes(),
            startups_ns=tuple(sorted(world.chronicle.startups_ns)),
            converged=self.converged,
            last_lines=world.trace.last(),
        )

    # --- pods -------------------------------------------------------------------------------------------------------

    def _draw(self, stretch: Range) -> int:
        return self.world.chance.between(duration_ns(stretch[0]), duration_ns(stretch[1]))

    def _mix_of(self, name: str) -> PodMix | None:
        return self._mixes.get(name)

    def _let_come(self, mix: PodMix, name: str, after_ns: int) -> None:
        self._to_come += 1
        self.world.after(after_ns, lambda: self._come(mix, name))

    def _come(self, mix: PodMix, name: str) -> None:
        self._to_come -= 1
        if self._healed:
            return
        self._came += 1
        self._mixes[name] = mix
        uid = self.world.create_pod({**self._bodies[mix.name], "metadata": _metadata_of(mix, name)})
        if mix.disk_hangs:
            self._hang(f"{ROOT}/pods/{uid}")
        if mix.lives is not None:
            self._to_go += 1
            self.world.after(self._draw(mix.lives), lambda: self._go(name))

    def _go(self, name: str) -> None:
        self._to_go -= 1
        self.world.delete_pod(name)

    def _gone(self, pod: PodSeen) -> None:
        mix = self._mixes.pop(pod.name, None)
        if mix is not None and mix.replaced and not self._healed:
            self._let_come(mix, f"{mix.name}-n{self._came}", 0)

    def _hang(self, path: str) -> None:
        self._hung.append(path)
        self.world.chronicle.sometimes.happened("disk-hung")
        for node in self.world.nodes.values():
            node.host.tree.hang(path)

    # --- faults -----------------------------------------------------------------------------------------------------

    def _let_befall(self, fault: object) -> None:
        world = self.world
        if isinstance(fault, ApiOutage):
            lasts_ns, forgets = duration_ns(fault.lasts), fault.forgets
            world.after(duration_ns(fault.at), lambda: world.api_outage(lasts_ns, forgets=forgets))
        elif isinstance(fault, RuntimeOutage):
            away_ns = duration_ns(fault.lasts)
            world.after(duration_ns(fault.at), lambda: world.runtime_outage(away_ns))
        elif isinstance(fault, AgentKills):
            for name in world.nodes:
                for _ in range(fault.times):
                    self._let_die(name, world.chance.between(0, self._lasts_ns or 0), self._draw(fault.away))

    def _let_die(self, name: str, after_ns: int, away_ns: int) -> None:
        self.world.after(after_ns, lambda: self.world.kill_agent(name, away_ns))


# --- what a scenario means --------------------------------------------------------------------------------------------


def _metadata_of(mix: PodMix, name: str) -> dict[str, Any]:
    return {"name": name, "labels": {"mix": mix.name}, "annotations": annotations_of(mix)}


def _body_of(mix: PodMix) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "automountServiceAccountToken": False,
            "restartPolicy": mix.restart_policy,
            "terminationGracePeriodSeconds": mix.grace_seconds,
            "containers": [_container_of(container) for container in mix.containers],
        },
    }


def _container_of(container: ContainerMix) -> dict[str, Any]:
    body: dict[str, Any] = {"name": container.name, "image": container.image, "imagePullPolicy": "IfNotPresent"}
    for kind, every in (("readiness", container.readiness_every), ("liveness", container.liveness_every)):
        if every:
            body[f"{kind}Probe"] = {"tcpSocket": {"port": 80}, "periodSeconds": every}
    return body


def _pulls(mix: PodMix) -> bool:
    """Whether its pods must pull: whoever says something of pulls wants them."""
    knobs = {**mix.behaviour}
    return any("PullImage" in text for text in knobs.values()) or "pull-rate" in knobs or "image-size" in knobs


def _runtime_plan(scenario: Scenario) -> FaultPlan | None:
    calls: dict[str, CallFaults] = {}
    events: EventFaultPlan | None = None
    for fault in scenario.faults:
        if isinstance(fault, RuntimeCalls):
            calls[fault.verb] = CallFaults(
                fail=fault.fail, lose=fault.lose, hang=fault.hang, slow=fault.slow, late=fault.late
            )
        elif isinstance(fault, RuntimeEvents):
            events = EventFaultPlan(double=fault.double, lose=fault.lose, delay=fault.delay, cut=fault.cut)
    return FaultPlan(calls, events) if calls or events else None


def _api_plan(scenario: Scenario) -> FaultPlan | None:
    calls: dict[str, CallFaults] = {}
    events: EventFaultPlan | None = None
    for fault in scenario.faults:
        if isinstance(fault, ApiCalls):
            calls[fault.verb] = CallFaults(fail=fault.fail, lose=fault.lose, slow=fault.slow, late=fault.late)
        elif isinstance(fault, ApiWatches):
            events = EventFaultPlan(delay=fault.delay, cut=fault.cut)
    return FaultPlan(calls, events) if calls or events else None


def with_nodes(scenario: Scenario, nodes: int) -> Scenario:
    """The same scenario on that many nodes."""
    return msgspec.structs.replace(scenario, nodes=nodes)
