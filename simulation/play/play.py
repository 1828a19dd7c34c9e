"""Plays a scenario in a world.

Pods come and go, and things go wrong. Then the world is healed and must become as desired.

Stretches of virtual time: until the nodes are ready; what the scenario lasts; then, healed, until nothing is left to be
done; until newcomers run; and until they have gone. All have a bound but what the scenario lasts.
All of it is one world: a scenario whose nodes are apart is played by its `simulation.play.parts`.
`Play.advance` plays on for a while and `Play.step` does the next thing alone, so that whoever drives it can show how
far it is, look around, and stop. The world is looked at from outside at times of its own, so that it makes no
difference in which pieces a play is played.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from config.island import IslandSettings
from simulation.cri.behaviour_values import duration_ns, size_bytes
from simulation.faults.narrow_mailboxes import Posted
from simulation.node.simulated_node import ROOT
from simulation.play import fault_injection
from simulation.play.devices import PlayedDevices
from simulation.play.greedy_pods import GreedyPods, is_compared, without_greedy
from simulation.play.newcomers import NEWCOMER, Newcomers
from simulation.play.resizes import Resizes
from simulation.play.world_rules import AT_THE_END, EVERY_SECOND
from simulation.scenarios.faults import FrozenActor, names_of_nodes
from simulation.scenarios.pods import SETTINGS, PodMix, body_of, images_of, metadata_of
from simulation.scenarios.scenario import NodeRules, Scenario, configuration_of
from simulation.scenarios.words import Range
from simulation.world import invariants
from simulation.world.remains import MachineSettings
from simulation.world.seen import PodSeen
from simulation.world.timings import Timings
from simulation.world.trace import Moment
from simulation.world.world import World

SECOND_NS = 10**9
HOUR_NS = 3600 * SECOND_NS
LOOK_EVERY_NS = SECOND_NS
"""How often a healed world is asked whether it has become as desired."""
LATE_CALLS = 1 / 8
"""The share of the calls of lanes that are late, where nothing goes wrong.

It is enough for a few seeds to meet every order. With faults each call is late, since a fault can strike while the
actor waits.
"""
LOOK_AT_NODES_EVERY_NS = SECOND_NS // 10
UNTIL_NODES_ARE_READY_NS = 60 * SECOND_NS
TOLD_AT_MOST = 10
"""Limit of the lines per rule about the state at the end."""


class _Stretch(enum.Enum):
    NODES_BEGIN = enum.auto()
    THINGS_HAPPEN = enum.auto()
    HEALED = enum.auto()
    NEWCOMERS_RUN = enum.auto()
    NEWCOMERS_GO = enum.auto()
    OVER = enum.auto()


@dataclass(frozen=True, slots=True)
class PlayOutcome:
    """The outcome of a play. Times in ns; `startups_ns` sorted."""

    pods: int
    virtual_ns: int
    messages: int
    trace_hash: str
    violations: tuple[dict[str, Any], ...]
    sometimes: dict[str, int]
    startups_ns: tuple[int, ...]
    converged: bool
    broken_at: Mapping[str, Moment]
    """By invariant: the moment of its first violation."""


class Play:
    """See the module. `sink` gets the lines of the trace, `posted` each message that an actor is sent.

    `usual`: how long pods wait without the greedy ones; None: another play finds out.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        *,
        sink: Callable[[str], object] | None = None,
        posted: Posted | None = None,
        usual: Timings | None = None,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self._lasts_ns = None if scenario.lasts is None else duration_ns(scenario.lasts)
        self.world = World(
            seed,
            nodes=scenario.nodes,
            first_node=scenario.first_node,
            images=images_of(scenario.pods),
            machine=_machine_of(scenario.node),
            configuration=configuration_of(scenario.node)[0],
            runtime_faults=fault_injection.runtime_plan(scenario.faults),
            api_faults=fault_injection.api_plan(scenario.faults),
            links=fault_injection.link_faults(scenario.faults, names_of_nodes(scenario.nodes, scenario.first_node)),
            qps=scenario.node.api_requests_per_second,
            mailboxes=scenario.node.mailboxes,
            lost_messages=fault_injection.lost_messages(scenario),
            actor_failures=fault_injection.actor_failures(scenario),
            sink=sink,
            posted=posted,
            late_calls=1.0 if scenario.faults else LATE_CALLS,
            work_takes_time=scenario.node.work_takes_time,
            island=IslandSettings() if scenario.node.island else None,
        )
        self.world.chronicle.must_stay_ready = scenario.nodes_stay_ready
        self.world.chronicle.mix_of = self._mix_of
        if scenario.leases_every is not None:
            self.world.chronicle.leases_every_ns = duration_ns(scenario.leases_every)
        self.world.chronicle.on_gone = self._gone
        if any(mix.probed_within is not None or mix.slower_at_most is not None for mix in scenario.pods):
            self.world.watch_probes()
        self._mixes: dict[str, PodMix] = {}
        self._staying: dict[str, dict[str, None]] = {mix.name: {} for mix in scenario.pods if mix.replaced_hourly}
        """Names of the living pods of mixes that are replaced by the hour, eldest first."""
        self._forms = {mix.name: _form_of(mix) for mix in scenario.pods}
        self._came = 0
        self._followers = 0
        self._to_come = 0
        self._to_go = 0
        self._injector: fault_injection.FaultInjector | None = None
        self._devices = PlayedDevices(self.world, scenario)
        self._newcomers = Newcomers(self.world, _form_of(NEWCOMER))
        self._resizes = Resizes(self.world)
        self.greedy = GreedyPods(self.world, scenario, seed)
        self._usual = usual
        self._startups_ns: Sequence[int] = self.world.chronicle.startups_ns
        """How long the pods of the scenario took to start."""
        self._heal_by_ns = 0
        self.converged = False
        self.world.start()
        self._stretch = _Stretch.NODES_BEGIN
        self._began_ns = self.world.now_ns()
        self._look_ns = self._began_ns
        """When the world is looked at next, and what comes then is decided."""

    # --- the course of it -------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the play is over."""
        return self._stretch is _Stretch.OVER

    def advance(self, ns: int) -> None:
        """Play on for `ns` ns of virtual time, or until it is over."""
        now_ns = self.world.dispatcher.now_ns
        until_ns = now_ns() + ns
        while not self.done and now_ns() < until_ns:
            self.world.run_for(min(until_ns, self._look_ns) - now_ns())
            if now_ns() >= self._look_ns:
                self._look_if_due()

    def step(self) -> None:
        """Give one actor its turn, or let time pass to what comes next: a timer, a look."""
        if self.done:
            return
        world = self.world
        if not world.dispatcher.step(self._look_ns):
            world.run_for(self._look_ns - world.now_ns())
            self._look_if_due()

    def share(self) -> float:
        """How much of it is over, from 0 to 1."""
        if self._stretch is _Stretch.NODES_BEGIN:
            return 0.0
        if self._lasts_ns:
            return min(1.0, (self.world.now_ns() - self._began_ns) / self._lasts_ns)
        total = self._came + self._to_come
        return 1 - (self._to_come + self._to_go) / (2 * total) if total else 1.0

    def _look_if_due(self) -> None:
        while not self.done and self.world.now_ns() >= self._look_ns:
            if self._stretch is _Stretch.NODES_BEGIN:
                self._await_nodes()
            elif self._stretch is _Stretch.THINGS_HAPPEN:
                self._go_on()
            else:
                self._settle()

    def _await_nodes(self) -> None:
        """Wait for the nodes. Before that, no pods come, and only random faults happen."""
        world = self.world
        ready = sum(world.chronicle.nodes_ready.values()) >= len(world.nodes)
        if not ready and world.now_ns() < self._began_ns + UNTIL_NODES_ARE_READY_NS:
            self._look_ns = world.now_ns() + LOOK_AT_NODES_EVERY_NS
            return
        self._stretch = _Stretch.THINGS_HAPPEN
        self._began_ns = world.now_ns()
        if any(volume.kind in ("configMap", "secret") for mix in self.scenario.pods for volume in mix.volumes):
            world.create_settings(SETTINGS, {"mode": "plain"}, {"word": "sesame"})
        self.greedy.prepare()
        self._devices.begin()
        for mix in self.scenario.pods:
            for first in range(0, mix.count, mix.together):
                if mix.static:
                    self._let_be_written(mix, f"{mix.name}-{first}", first)
                else:
                    numbers = range(first, min(first + mix.together, mix.count))
                    self._let_come(mix, [f"{mix.name}-{number}" for number in numbers], self._draw(mix, mix.arrives))
            if mix.replaced_hourly:
                self._begin_hour(mix)
        self._injector = fault_injection.FaultInjector(world, self.scenario, self._lasts_ns or 0, self._devices)
        if self._is_looked_into():
            world.after(SECOND_NS, self._look_into)
        self._look_ns = self._began_ns + (LOOK_EVERY_NS if self._lasts_ns is None else self._lasts_ns)

    def _is_looked_into(self) -> bool:
        """Whether some rule must be checked every second."""
        return any(mix.logs_at_most is not None or mix.resized for mix in self.scenario.pods) or any(
            isinstance(fault, FrozenActor) for fault in self.scenario.faults
        )

    def _look_into(self) -> None:
        world = self.world
        for rule in EVERY_SECOND:
            for fault in rule(world):
                world.chronicle.violated(invariants.name_of(rule), fault)
        world.after(SECOND_NS, self._look_into)

    def _go_on(self) -> None:
        """The time in which things come, go, and go wrong; is it over?"""
        world = self.world
        if self._lasts_ns is None and (self._to_come or self._to_go):
            self._look_ns += LOOK_EVERY_NS
            return
        self._stretch = _Stretch.HEALED
        self._resizes.over = True
        self._heal_by_ns = world.now_ns() + duration_ns(self.scenario.converges_within)
        if self._injector is not None:
            self._injector.heal()
        world.heal()

    def _settle(self) -> None:
        """Healed: every second, whether anything is left to be done."""
        world = self.world
        if not any(True for rule in AT_THE_END for _ in rule(world)):
            self._all_is_as_desired()
        elif world.now_ns() >= self._heal_by_ns:
            self._stretch = _Stretch.OVER
            for rule in AT_THE_END:
                for number, fault in enumerate(rule(world)):
                    if number < TOLD_AT_MOST:
                        world.chronicle.violated(invariants.name_of(rule), fault)
            self._compare()
        else:
            self._look_ns += LOOK_EVERY_NS

    def _all_is_as_desired(self) -> None:
        """All is as desired: let newcomers come, then let them go, and then end the play."""
        world = self.world
        if self._stretch is _Stretch.HEALED:
            self._stretch = _Stretch.NEWCOMERS_RUN
            self._startups_ns = tuple(world.chronicle.startups_ns)
            self._mixes.update(dict.fromkeys(self._newcomers.draw_up(), NEWCOMER))
            self._newcomers.come()
        elif self._stretch is _Stretch.NEWCOMERS_RUN:
            self._stretch = _Stretch.NEWCOMERS_GO
            self._newcomers.go()
        else:
            self._stretch = _Stretch.OVER
            self.converged = True
            self._compare()
            return
        self._heal_by_ns = world.now_ns() + duration_ns(self.scenario.converges_within)
        self._look_ns += LOOK_EVERY_NS

    def _compare(self) -> None:
        """Other pods must fare as without the greedy ones: play the same without them, and compare."""
        if not is_compared(self.scenario):
            return
        if self._usual is None:
            usual = Play(without_greedy(self.scenario), self.seed)
            while not usual.done:
                usual.advance(HOUR_NS)
            self._usual = usual.world.chronicle.timings
        for fault in self.greedy.took_turns_of_others(self.scenario, self._usual):
            self.world.chronicle.violated("no-pod-takes-anothers-turn", fault)

    def moments(self) -> tuple[str, ...]:
        """What agents did at each moment of a possible kill; empty without a fault that goes by their numbers."""
        return () if self._injector is None else tuple(self._injector.moments)

    def outcome(self) -> PlayOutcome:
        """The outcome so far."""
        world = self.world
        trace_hash = world.trace.hash()
        violations = tuple(
            {"invariant": each.invariant, "at_seconds": each.at_ns / SECOND_NS, "what": each.what}
            for each in world.chronicle.violations
        )
        return PlayOutcome(
            pods=self._came,
            virtual_ns=world.now_ns(),
            messages=world.trace.messages,
            trace_hash=trace_hash,
            violations=violations,
            sometimes=world.sometimes(),
            startups_ns=tuple(sorted(self._startups_ns)),
            converged=self.converged,
            broken_at=world.broken_at,
        )

    # --- pods -------------------------------------------------------------------------------------------------------

    def _draw(self, mix: PodMix, stretch: Range) -> int:
        draws = self.world.chance if mix.greedy is None else self.greedy
        return draws.between(duration_ns(stretch[0]), duration_ns(stretch[1]))

    def _mix_of(self, name: str) -> PodMix | None:
        return self._mixes.get(name)

    def _let_come(self, mix: PodMix, names: Sequence[str], after_ns: int) -> None:
        self._to_come += len(names)
        self.world.after(after_ns, lambda: self._come(mix, names))

    def _come(self, mix: PodMix, names: Sequence[str]) -> None:
        self._to_come -= len(names)
        if self._stretch is not _Stretch.THINGS_HAPPEN:
            return
        for name in names:
            self._create(mix, name)
        if mix.lives is not None:
            self._to_go += len(names)
            self.world.after(self._draw(mix, mix.lives), lambda: self._go(names))

    def _create(self, mix: PodMix, name: str) -> None:
        self._came += 1
        self._mixes[name] = mix
        form = self.greedy.form_of(mix) or self._forms[mix.name]
        uid = self.world.create_pod({**form, "metadata": {**form["metadata"], "name": name}})
        self._resizes.plan(mix, name, self._began_ns, self._look_ns)
        if mix.updated is not None:
            self.world.after(self._draw(mix, mix.updated), lambda: self.greedy.update(mix, name))
        if mix.disk_hangs and self._injector is not None:
            self._injector.hang(f"{ROOT}/pods/{uid}")
        if mix.replaced_hourly:
            self._staying[mix.name][name] = None

    def _go(self, names: Sequence[str]) -> None:
        self._to_go -= len(names)
        for name in names:
            self.world.delete_pod(name)

    def _gone(self, pod: PodSeen) -> None:
        mix = self._mixes.pop(pod.name, None)
        if mix is not None and (mix.replaced or mix.replaced_hourly) and self._stretch is _Stretch.THINGS_HAPPEN:
            self._followers += 1
            self._let_come(mix, [f"{mix.name}-n{self._followers}"], 0)

    def _begin_hour(self, mix: PodMix) -> None:
        """Draw when pods of the mix are replaced in the hour that begins now."""
        if self._stretch is not _Stretch.THINGS_HAPPEN:
            return
        for _ in range(round(mix.count * mix.replaced_hourly)):
            self.world.after(self.world.chance.between(0, HOUR_NS), lambda: self._replace_one(mix))
        self.world.after(HOUR_NS, lambda: self._begin_hour(mix))

    def _replace_one(self, mix: PodMix) -> None:
        """Delete one pod of the mix, drawn at random; another one follows it."""
        names = self._staying[mix.name]
        if names and self._stretch is _Stretch.THINGS_HAPPEN:
            name = list(names)[self.world.chance.between(0, len(names) - 1)]
            del names[name]
            self.world.delete_pod(name)

    # --- manifests --------------------------------------------------------------------------------------------------

    def _let_be_written(self, mix: PodMix, name: str, number: int) -> None:
        """A static pod: its manifest comes, changes and goes."""
        world = self.world
        node = list(world.nodes)[number % len(world.nodes)]
        comes_ns = self._draw(mix, mix.arrives)
        end_ns = self._lasts_ns or 0
        self._to_come += 1
        world.after(comes_ns, lambda: self._write(mix, name, node))
        if mix.lives is not None:
            end_ns = comes_ns + self._draw(mix, mix.lives)
            self._to_go += 1
            world.after(end_ns, lambda: self._remove(name, node))
        for _ in range(mix.changed):
            world.after(world.chance.between(comes_ns, max(comes_ns, end_ns)), lambda: self._change(name, node))

    def _write(self, mix: PodMix, name: str, node: str) -> None:
        self._to_come -= 1
        if self._stretch is _Stretch.THINGS_HAPPEN:
            self._came += 1
            self.world.static_pods.put(mix, name, node)

    def _change(self, name: str, node: str) -> None:
        if self._stretch is _Stretch.THINGS_HAPPEN:
            self.world.static_pods.change(name, node)

    def _remove(self, name: str, node: str) -> None:
        self._to_go -= 1
        self.world.static_pods.remove(name, node)


def _form_of(mix: PodMix) -> dict[str, Any]:
    """The common form of all pods of the mix, without their names, as JSON data."""
    form: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({**body_of(mix), "metadata": metadata_of(mix, "")}))
    return form


def _machine_of(node: NodeRules) -> MachineSettings:
    return MachineSettings(
        image_disk_bytes=None if node.image_disk is None else size_bytes(node.image_disk),
        image_bytes=size_bytes(node.image_size),
        spare_images=node.spare_images,
        dead_containers=node.dead_containers,
    )
