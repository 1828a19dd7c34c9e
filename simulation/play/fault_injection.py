"""How the faults of a scenario are applied to a world.

Some are chances for each call, others come at their time.

Owns the chance of agents that die, clocks that jump and ways that are cut. `heal` ends all of it, but not what has been
done: an agent that is away comes back by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from errno import EIO
from functools import partial

from msgspec.structs import asdict

from runtime.volumes.capability import VolumeFailedError
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan
from simulation.chance.chance import Chance
from simulation.chance.network import LinkFaults
from simulation.cri.behaviour_values import duration_ns, size_bytes
from simulation.faults.shortages import give_back, leave
from simulation.node.killable import LOOKING, AgentKilledError
from simulation.play.devices import PlayedDevices
from simulation.scenarios import faults as kinds
from simulation.scenarios.scenario import Scenario
from simulation.scenarios.words import Range
from simulation.world.world import World

AGAIN_NS = 50 * 10**6
"""After which one asks again whether an agent is back."""


# --- plans ------------------------------------------------------------------------------------------------------------


def runtime_plan(faults: Iterable[kinds.Fault]) -> FaultPlan | None:
    """The faults of calls to the runtimes."""
    return _plan(faults, kinds.RuntimeCalls, kinds.RuntimeEvents)


def api_plan(faults: Iterable[kinds.Fault]) -> FaultPlan | None:
    """The faults of calls to the API server."""
    return _plan(faults, kinds.ApiCalls, kinds.ApiWatches)


def _plan(faults: Iterable[kinds.Fault], of_calls: type[kinds.Fault], of_events: type[kinds.Fault]) -> FaultPlan | None:
    """A fault of a scenario has the chances of a plan, under the same names."""
    calls: dict[str, CallFaults] = {}
    events: EventFaultPlan | None = None
    for fault in faults:
        chances = asdict(fault)
        if isinstance(fault, of_calls):
            verb = chances.pop("verb")
            calls[verb] = CallFaults(**chances)
        elif isinstance(fault, of_events):
            events = EventFaultPlan(**chances)
    return FaultPlan(calls, events) if calls or events else None


def link_faults(faults: Iterable[kinds.Fault], nodes: Sequence[str]) -> dict[str, LinkFaults]:
    """The faults of each node's link; a fault that names a node wins over one that does not."""
    found: dict[str, LinkFaults] = {}
    networks = [fault for fault in faults if isinstance(fault, kinds.Network)]
    for fault in sorted(networks, key=lambda each: each.node != kinds.EVERYWHERE):
        for name in nodes if fault.node == kinds.EVERYWHERE else [fault.node]:
            found[name] = LinkFaults((duration_ns(fault.delay[0]), duration_ns(fault.delay[1])), fault.loss)
    return found


def lost_messages(scenario: Scenario) -> dict[str, float]:
    """Type of message -> chance that it is lost."""
    return {fault.message: fault.share for fault in scenario.faults if isinstance(fault, kinds.LostMessages)}


def actor_failures(scenario: Scenario) -> tuple[kinds.ActorFailures, ...]:
    """The actor failures that are drawn at each message."""
    return tuple(fault for fault in scenario.faults if isinstance(fault, kinds.ActorFailures))


# --- what comes at its time -------------------------------------------------------------------------------------------


class FaultInjector:
    """See the module. `lasts_ns`: the span in which faults at drawn moments happen."""

    def __init__(self, world: World, scenario: Scenario, lasts_ns: int, devices: PlayedDevices) -> None:
        self._world = world
        self._devices = devices
        self._lasts_ns = lasts_ns
        self._operations = Chance(f"operations {world.seed}")
        self._absences = Chance(f"absences {world.seed}")
        self._volumes: list[kinds.Volumes] = []
        self._kills: list[kinds.AgentKills] = []
        self._hung: dict[str, set[str]] = {name: set() for name in world.nodes}
        self._healed = False
        self._dying: set[str] = set()
        """Nodes whose agents die as soon as their operation is done."""
        self.moments: list[str] = []
        """What the agents were about to do, or had just done, at each moment at which they may die."""
        self._counts_moments = False
        for fault in scenario.faults:
            self._let_befall(fault)
        for name in world.nodes:
            self._stand_by(name)

    def heal(self) -> None:
        """Inject no more faults, and let hung disk operations finish."""
        self._healed = True
        self._devices.heal()
        for name, paths in self._hung.items():
            for path in sorted(paths):
                self._world.nodes[name].host.tree.heal(path)

    def hang(self, path: str) -> None:
        """Everything below that path hangs on every node, until the world is healed."""
        self._world.chronicle.sometimes.happened("disk-hung")
        for name in self._world.nodes:
            self._hang(name, path)

    def _hang(self, name: str, path: str) -> None:
        self._hung[name].add(path)
        self._world.nodes[name].host.tree.hang(path)

    def _let_befall(self, fault: kinds.Fault) -> None:
        world = self._world
        if isinstance(fault, kinds.ApiOutage):
            self._at(fault.at, partial(world.api_outage, duration_ns(fault.lasts), forgets=fault.forgets))
        elif isinstance(fault, kinds.RuntimeOutage):
            self._at(fault.at, partial(world.runtime_outage, duration_ns(fault.lasts)))
        elif isinstance(fault, kinds.DiskFull):
            self._at(fault.at, partial(world.fill_disks, duration_ns(fault.lasts)))
        elif isinstance(fault, kinds.FrozenActor):
            self._at(fault.at, partial(world.freeze, fault.path, duration_ns(fault.lasts)))
        elif isinstance(fault, kinds.ClockJumps):
            for _ in range(fault.times):
                by_ns = self._draw(fault.by)
                back = fault.direction == "back" or (fault.direction == "both" and world.chance.bits() % 2 == 0)
                self._sometime(partial(world.jump_clocks, -by_ns if back else by_ns))
        elif isinstance(fault, kinds.NetworkCuts):
            for name in world.nodes if fault.node == kinds.EVERYWHERE else [fault.node]:
                for _ in range(fault.times):
                    self._sometime(partial(world.cut_network, name, self._draw(fault.lasts)))
        elif isinstance(fault, kinds.AgentPauses):
            for name in world.nodes:
                for at_ns in self._moments(fault.times, fault.at):
                    self._in(at_ns, partial(world.pause_agent, name, self._draw(fault.lasts)))
        elif isinstance(fault, kinds.PowerCuts):
            for name in world.nodes:
                for at_ns in self._moments(fault.times, fault.at):
                    self._in(at_ns, partial(world.cut_power, name, self._draw(fault.away)))
        elif isinstance(fault, kinds.AgentKills):
            self._kills += [fault] if fault.at_operations else []
            if fault.at_moments:
                self._counts_moments = True
                for name in world.nodes:
                    world.nodes[name].tell_each_moment(partial(self._moment, name, fault))
            for name in world.nodes:
                for at_ns in self._moments(fault.times, fault.at):
                    self._in(at_ns, partial(self._kill, name, self._draw(fault.away)))
        elif isinstance(fault, kinds.NodeShortage):
            for name in world.nodes:
                self._be_short_again(name, fault)
        elif isinstance(fault, kinds.Volumes):
            self._volumes.append(fault)
        elif isinstance(fault, kinds.DevicePlugins | kinds.DraDrivers):
            for begin, end in self._devices.troubles_of(fault):
                for _ in range(fault.times):
                    what = fault.what[world.chance.between(0, len(fault.what) - 1)]
                    at_ns = world.chance.between(0, self._lasts_ns)
                    self._in(at_ns, partial(begin, what))
                    self._in(at_ns + self._draw(fault.lasts), end)

    def _moments(self, times: int, at: tuple[str, ...]) -> list[int]:
        drawn = [self._world.chance.between(0, self._lasts_ns) for _ in range(times)]
        return drawn + [duration_ns(each) for each in at]

    def _at(self, at: str, operation: Callable[[], object]) -> None:
        self._in(duration_ns(at), operation)

    def _sometime(self, operation: Callable[[], object]) -> None:
        self._in(self._world.chance.between(0, self._lasts_ns), operation)

    def _in(self, ns: int, operation: Callable[[], object]) -> None:
        """Act after a delay, unless the world was healed by then."""
        self._world.after(ns, lambda: None if self._healed else operation())

    def _draw(self, stretch: Range) -> int:
        return self._world.chance.between(duration_ns(stretch[0]), duration_ns(stretch[1]))

    def _moment(self, name: str, fault: kinds.AgentKills, what: str) -> None:
        """A moment of the agent of that node has come. Moments of all nodes are counted together."""
        if self._healed:
            return
        self.moments.append(what)
        number = len(self.moments)
        if number in fault.at_moments:
            self._world.note(f"{name} dies at moment {number}: {what}")
            away_ns = self._absences.between(duration_ns(fault.away[0]), duration_ns(fault.away[1]))
            self._world.kill_agent(name, away_ns)

    # --- at single operations ---------------------------------------------------------------------------------------

    def _stand_by(self, name: str) -> None:
        """Watch the operations of a node's agent on its disk, and its calls to the runtime.

        At each of them the agent may die, or meet a fault.
        """
        world = self._world
        volumes = world.nodes[name].volumes

        def before_operation(operation: str) -> None:
            agent = world.nodes[name].agent
            if self._dies_at(name, operation) or agent.dies_within_a_call(f"before {operation}"):
                raise AgentKilledError(f"killed before: {operation}")
            world.disk_operation(operation)

        def before_call(verb: str) -> bool:
            return verb.startswith(LOOKING) or not self._dies_at(name, verb)

        def trouble(kind: str, directory: str) -> None:
            self._trouble(name, kind, directory)

        volumes.before = before_operation if self._kills or self._counts_moments else world.disk_operation
        if self._volumes:
            volumes.trouble = trouble
        if self._kills:
            world.nodes[name].ask_before_calls(before_call)

    def _dies_at(self, name: str, operation: str) -> bool:
        """Whether the agent dies before the operation."""
        if self._healed or name in self._dying:
            return False
        for fault in self._kills:
            if self._operations.share() < fault.at_operations and self._world.nodes[name].agent.alive:
                self._world.chronicle.sometimes.happened("agent-killed-at-an-operation")
                self._world.note(f"{name}: {operation}")
                away_ns = self._operations.between(duration_ns(fault.away[0]), duration_ns(fault.away[1]))
                if self._operations.bits() % 2:
                    self._world.kill_agent(name, away_ns)
                    return True
                # it is done yet, and nobody hears of it
                self._dying.add(name)
                self._world.after(0, partial(self._kill_after_operation, name, away_ns))
        return False

    def _kill_after_operation(self, name: str, away_ns: int) -> None:
        self._dying.discard(name)
        self._world.kill_agent(name, away_ns)

    def _kill(self, name: str, away_ns: int) -> None:
        """Kill an agent. A dead one is killed when it is back, so that the number of kills is right."""
        if self._world.nodes[name].agent.alive:
            self._world.kill_agent(name, away_ns)
        else:
            self._in(AGAIN_NS, partial(self._kill, name, away_ns))

    def _trouble(self, name: str, kind: str, directory: str) -> None:
        if self._healed:
            return
        sometimes = self._world.chronicle.sometimes
        for fault in self._volumes:
            if fault.kind not in (kind, kinds.EVERYWHERE):
                continue
            share = self._operations.share()
            if share < fault.hang:
                if directory not in self._hung[name]:
                    sometimes.happened("volume-hung")
                    self._hang(name, directory)
            elif share < fault.hang + fault.fail:
                sometimes.happened("volume-failed")
                raise VolumeFailedError(f"a fault of the simulated world ({EIO})")

    # --- shortages: each comes, lasts and goes, again and again -----------------------------------------------------

    def _be_short_again(self, name: str, fault: kinds.NodeShortage) -> None:
        """After a pause; the first comes after one, too."""
        self._in(self._draw(fault.pauses), partial(self._be_short, name, fault))

    def _be_short(self, name: str, fault: kinds.NodeShortage) -> None:
        world = self._world
        left = world.chance.between(*map(size_bytes, fault.leaves))
        world.note(f"leaves {left} of {fault.what} on {name}")
        world.chronicle.sometimes.happened("node-short")
        leave(world.nodes[name].usage, fault.what, left)
        self._in(self._draw(fault.lasts), partial(self._have_enough, name, fault))

    def _have_enough(self, name: str, fault: kinds.NodeShortage) -> None:
        self._world.note(f"gives {fault.what} back to {name}")
        give_back(self._world.nodes[name].usage, fault.what)
        self._be_short_again(name, fault)
