"""`World(seed)`: an API server, a scheduler, any number of nodes, and one clock for all of them.

Everything that is random comes from the seed: the order in which actors run, the faults, and what a scenario draws. The
nodes are whole ones (`SimulatedNode`); the API server is the embedded one, reached in process. Every change goes to the
chronicle, which judges it, and every message into the trace.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from actors.kernel import Dispatcher, SimulatedDispatcher
from config.island import IslandSettings
from config.kubelet import KubeletConfiguration
from config.objects import Pod, PodSpec
from runtime.api import Api, ApiCall, ApiLines
from runtime.api.limited import LimitedApi
from runtime.api.token_bucket import TokenBucket
from simulation.apiserver.access.authentication import user_named
from simulation.apiserver.core import Options
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.calls import ADMIN, ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.selection import EVERYTHING
from simulation.chance.call_faults import FaultPlan, Faults
from simulation.chance.chance import Chance
from simulation.chance.network import LinkFaults, NetworkLink
from simulation.controllers.resource_claims import ResourceClaims
from simulation.controllers.scheduler import Scheduler
from simulation.cri import Settings
from simulation.faults.failing import FailingActors
from simulation.faults.frozen import Frozen
from simulation.faults.narrow_mailboxes import NarrowMailboxes, Posted
from simulation.host.facts import MAX_PODS
from simulation.node.effort import forget_cached
from simulation.node.simulated_node import ROOT, SimulatedNode
from simulation.scenarios.faults import ActorFailures, names_of_nodes
from simulation.world.chronicle import Chronicle
from simulation.world.node_observer import NodeObserver
from simulation.world.passing_faults import PassingFaults
from simulation.world.remains import PLAIN_MACHINE, MachineSettings, leave_dead_containers
from simulation.world.static_pods import StaticPods
from simulation.world.trace import Moment, RollingTrace
from simulation.world.turns import TURNS_AT_MOST, EndlessMomentError, run_for

MS = 10**6
LATENCY_NS = 2 * MS
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
PODS_DIRECTORY = f"{ROOT}/pods/"
BURST = 100
IN_A_CLUSTER = KubeletConfiguration(cluster_dns=("10.0.0.10",), cluster_domain="cluster.local", max_pods=MAX_PODS)
"""The configuration of agents unless the world is given another."""
CHANGES_REMEMBERED = 2_000
"""History per resource: a watch that comes back later begins again."""


class NodeApi(Api, Protocol):
    """A node's way to the API server, with the faults of the world on it (`InProcessApi`)."""

    hangs: Callable[[ApiCall[Any]], bool] | None

    @property
    def is_down(self) -> bool: ...

    def hang_up(self) -> None: ...

    def down(self, for_ns: int) -> None: ...

    def come_back(self) -> None: ...


class RefusedError(Exception):
    """The API server refused what the world asked of it."""


class World:
    """See the module. `first_node`: the number in its name. `images` are on every node from the start;
    `runtime_faults`, `api_faults`, `links`, `lost_messages`, `actor_failures`: until `heal`. `mailboxes`: class of
    actors -> how many messages may wait. `late_calls`: see `SimulatedDispatcher`. `work_takes_time`: the work of
    agents takes virtual time. `island`: what nodes start from memory.
    """

    def __init__(
        self,
        seed: int,
        *,
        nodes: int = 1,
        first_node: int = 0,
        images: tuple[str, ...] = (),
        machine: MachineSettings = PLAIN_MACHINE,
        configuration: KubeletConfiguration = IN_A_CLUSTER,
        runtime_faults: FaultPlan | None = None,
        api_faults: FaultPlan | None = None,
        links: Mapping[str, LinkFaults] | None = None,
        qps: int = 0,
        mailboxes: Mapping[str, int] | None = None,
        lost_messages: Mapping[str, float] | None = None,
        actor_failures: Sequence[ActorFailures] = (),
        sink: Callable[[str], object] | None = None,
        posted: Posted | None = None,
        options: Options | None = None,
        late_calls: float = 1.0,
        work_takes_time: bool = False,
        island: IslandSettings | None = None,
    ) -> None:
        if work_takes_time:
            forget_cached()
        self.seed = seed
        self.dispatcher = SimulatedDispatcher(seed, late_calls)
        self.chance = Chance(f"world {seed}")
        self.trace = RollingTrace(sink)
        self.chronicle = Chronicle(self.dispatcher.now_ns)
        self.trace.on_failure = self.chronicle.actor_failed
        self.broken_at: dict[str, Moment] = {}
        """By invariant: where the world stood when it was first violated."""
        self.chronicle.on_violation = self._broken
        self.server = self.new_server(options or Options(seed=seed, history_at_most=CHANGES_REMEMBERED))
        self.scheduler = Scheduler(self.server, self.dispatcher)
        self.resource_claims = ResourceClaims(self.server, self.dispatcher)
        self.nodes: dict[str, SimulatedNode] = {}
        self.apis: dict[str, NodeApi] = {}
        self._faults: list[Faults] = []
        self._api_faults: list[Faults] = []
        self._plans = (runtime_faults, api_faults)
        self._links_faults = links or {}
        self.links: dict[str, NetworkLink] = {}
        self.frozen: dict[str, Frozen] = {}
        """By node: the actor that handles nothing."""
        self._mailboxes: NarrowMailboxes | None = None
        if mailboxes or lost_messages or posted is not None:
            self._mailboxes = NarrowMailboxes(mailboxes or {}, lost_messages or {}, str(seed), self.chronicle.sometimes)
            self._mailboxes.posted = posted
        self._actor_failures = actor_failures
        self._failing: list[FailingActors] = []
        self.static_pods = StaticPods(self)
        self.chronicle.on_stranger = self.static_pods.container_changed
        self._qps = qps
        self._work_takes_time = work_takes_time
        self._specs_read: dict[int, PodSpec] = {}
        """By identity, where work takes time.

        Otherwise the collector of rings decides what the API server knows.
        """
        self._island = island
        self._dark: set[str] = set()
        """Nodes without power."""
        self._images = images
        self._machine = machine
        self.healed = False
        self.turns_at_most = TURNS_AT_MOST
        """The limit of turns while time stands still."""
        self.healed_ns = 0
        self._passing = PassingFaults(self)
        self._configuration = configuration
        self._follow("pods", self.chronicle.pod_changed)
        self._follow("nodes", self.chronicle.node_changed)
        self._follow("leases.coordination.k8s.io", self.chronicle.lease_changed)
        for number, name in enumerate(self.names_of_nodes(nodes, first_node)):
            self._add_node(name, number)

    def _follow(self, what: str, told: Callable[..., None]) -> None:
        watcher = self.server.store.watch(what, "", EVERYTHING, None)
        watcher.start(told, lambda _: self._follow(what, told))

    def _add_node(self, name: str, number: int) -> None:
        runtime_plan, api_plan = self._plans
        seed = self.seed * 1009 + number
        faults = None if runtime_plan is None else Faults(runtime_plan, seed)
        api_faults = None if api_plan is None else Faults(api_plan, -seed - 1)
        link = self.links[name] = NetworkLink(
            self.now_ns, LATENCY_NS, f"{self.seed} {name}", self._links_faults.get(name)
        )
        api = self.new_api(name, api_faults, link)
        main: Any = api
        if self._qps:
            bucket = TokenBucket(self._qps, max(BURST, self._qps))
            main = LimitedApi(api, bucket, self.dispatcher.now_ns, self.dispatcher.schedule)
        failing = self._failing_actors(name)
        node = self.new_node(
            self.dispatcher,
            settings=Settings(
                seed=seed, images=self._images + self._machine.images(), image_size_bytes=self._machine.image_bytes
            ),
            faults=faults,
            configuration=self._configuration,
            name=name,
            api=ApiLines(main, api, api),
            trace=self.trace.of(name),
            mailboxes=self._mailboxes,
            failing=failing,
            told_answers=self.trace.told_answers(name, self.now_ns),
            work_takes_time=self._work_takes_time,
            island=self._island,
        )
        node.host.log_files.noted = self.chronicle.sometimes.happened
        node.usage.image_disk_bytes = self._machine.image_disk_bytes
        remains = leave_dead_containers(node.cri, self._machine.dead_containers, node.cri.sandbox_image)
        node.cri.state.on_change = self.chronicle.container_changed
        NodeObserver(node, self.chronicle, remains)
        self.nodes[name] = node
        self.apis[name] = api
        self._faults += [faults] if faults is not None else []
        self._api_faults += [api_faults] if api_faults is not None else []

    def names_of_nodes(self, count: int, first: int) -> list[str]:
        """The names of the nodes; a subclass may choose others."""
        return names_of_nodes(count, first)

    def _failing_actors(self, name: str) -> FailingActors | None:
        """The failing actors of a node; None if no fault causes failures."""
        if not self._actor_failures:
            return None
        chronicle = self.chronicle
        failing = FailingActors(
            self._actor_failures,
            f"{self.seed} {name}",
            chronicle.sometimes,
            lambda path: chronicle.means_to_fail(f"{name}{path}"),
        )
        self._failing.append(failing)
        return failing

    def new_server(self, options: Options) -> ApiServer:
        """How the API server is made; a subclass may make another one."""
        return ApiServer(self.dispatcher, options)

    def new_api(self, name: str, faults: Faults | None, link: NetworkLink) -> NodeApi:
        """How a node reaches the API server; a subclass may have another one."""
        user = ADMIN if self.server.options.authorization == "AlwaysAllow" else user_named(f"system:node:{name}")
        api = InProcessApi(self.dispatcher, self.server, user=user, latency_ns=LATENCY_NS, faults=faults, link=link)
        if self._work_takes_time:
            api.hold = self._hold_spec
        return api

    def _hold_spec(self, value: object) -> None:
        if isinstance(value, Pod) and value.spec is not None:
            self._specs_read[id(value.spec)] = value.spec

    def new_node(self, dispatcher: Dispatcher, **rest: Any) -> SimulatedNode:
        """How a node is made; a subclass may make others."""
        return SimulatedNode(dispatcher, **rest)

    # --- time -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Scheduler, controller of claims, and agents begin."""
        self.scheduler.start()
        self.resource_claims.start()
        for node in self.nodes.values():
            node.start()

    def now_ns(self) -> int:
        return self.dispatcher.now_ns()

    def run_for(self, ns: int) -> None:
        """Let `ns` ns of virtual time pass. Raises EndlessMomentError."""
        if not run_for(self.dispatcher, ns, self.turns_at_most):
            busiest = ", ".join(self.trace.busiest())
            raise EndlessMomentError(
                f"time stands still at {self.now_ns() / 10**9:g} s: actors had {self.turns_at_most:,} turns and send"
                f" more; the busiest of the last messages: {busiest}"
            )

    def after(self, ns: int, operation: Callable[[], object]) -> None:
        """Do it in `ns` ns."""
        self.dispatcher.schedule(ns, operation)

    def note(self, what: str) -> None:
        """Write an operation of the world into the trace."""
        self.trace.note(self.now_ns(), "world", what)

    def watch_probes(self) -> None:
        """Report every probe to the chronicle. There are many, so this is off by default."""
        for node in self.nodes.values():
            node.on_probe.append(self.chronicle.probed)

    # --- what people do ---------------------------------------------------------------------------------------------

    def create_pod(self, body: dict[str, Any]) -> str:
        """Ask the API server for a pod, in the namespace default; its uid.

        Nobody changes `body` afterwards. Raises `RefusedError`.
        """
        name = body["metadata"]["name"]
        self.note(f"creates {name}")
        self.ask("POST", PODS, body)
        made = self.server.store.get("pods", "default", name)
        assert made is not None
        return made.uid

    def delete_pod(self, name: str) -> None:
        """Ask for its end; one that is gone already is no matter."""
        if self.server.store.get("pods", "default", name) is not None:
            self.note(f"deletes {name}")
            self.ask("DELETE", f"{PODS}/{name}")

    def create_settings(self, name: str, plain: Mapping[str, str], secret: Mapping[str, str]) -> None:
        """A ConfigMap with these entries and a Secret with those, of that name, for volumes."""
        coded = {key: b64encode(text.encode()).decode() for key, text in secret.items()}
        self.ask("POST", f"{NAMESPACE}/configmaps", {"metadata": {"name": name}, "data": dict(plain)})
        self.ask("POST", f"{NAMESPACE}/secrets", {"metadata": {"name": name}, "data": coded})

    def events(self) -> Iterator[dict[str, Any]]:
        """Every event in the API."""
        for version in self.server.store.of["events"].all():
            yield version.object

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        """A request to the API server, which must be granted. Raises `RefusedError`."""
        answer = self.server.handle(ApiRequest(method, path, (), b"" if body is None else body))
        if isinstance(answer, JsonAnswer) and answer.code >= 300:
            raise RefusedError(f"{method} {path}: {answer.value.get('message')}")

    # --- what befalls nodes -----------------------------------------------------------------------------------------

    def kill_agent(self, name: str, away_ns: int) -> None:
        """The agent of a node dies, and a new one begins after a while.

        Where none lives, after that while at last.
        """
        self.after(away_ns, lambda: self._restart_agent(name))
        node = self.nodes[name]
        if not node.agent.alive:
            return
        starts, ends = self.chronicle.on_its_way(name)
        sometimes = self.chronicle.sometimes
        sometimes.happened("agent-killed")
        sometimes.happened("agent-killed-while-pods-started", int(starts))
        sometimes.happened("agent-killed-while-pods-ended", int(ends))
        sometimes.happened("agent-killed-while-pods-were-evicted", int(self.chronicle.evicts(name)))
        self.note(f"kills the agent of {name}")
        self.chronicle.agent_stands_still(name)
        self.frozen.pop(name, None)
        node.kill()
        self.apis[name].hang_up()

    def _restart_agent(self, name: str) -> None:
        if self.nodes[name].agent.alive or name in self._dark:
            return  # killed twice, and back already; or the node has no power
        self.chronicle.agent_goes_on(name)
        self.static_pods.agent_began(name)
        self.nodes[name].restart_agent()

    def cut_power(self, name: str, away_ns: int) -> None:
        """A node goes off, and boots after a while. Where it is dark already, nothing happens."""
        if name in self._dark:
            return
        self.note(f"cuts the power of {name}")
        self.chronicle.sometimes.happened("power-cut")
        if self.apis[name].is_down:
            self.chronicle.sometimes.happened("power-cut-without-api-server")
        self._dark.add(name)
        self.chronicle.agent_stands_still(name)
        self.frozen.pop(name, None)
        self.nodes[name].lose_power()
        self.apis[name].hang_up()
        self.after(away_ns, lambda: self._boot(name))

    def _boot(self, name: str) -> None:
        self._dark.discard(name)
        self.nodes[name].boot()
        self._restart_agent(name)

    def pause_agent(self, name: str, lasts_ns: int) -> None:
        """The agent of a node gets no CPU for a while; where none lives, nothing happens."""
        self._passing.pause_agent(name, lasts_ns)

    def freeze(self, path: str, lasts_ns: int) -> None:
        """Stop an actor of each node from handling messages for a while.

        `path` names the actor; without it, any that health watches.
        """
        self._passing.freeze(path, lasts_ns)

    def fill_disks(self, lasts_ns: int) -> None:
        """Keep all disks full for a while."""
        self._passing.fill_disks(lasts_ns)

    def runtime_outage(self, lasts_ns: int) -> None:
        """Make all runtimes unreachable for a while."""
        self._passing.take_runtimes_away(lasts_ns)

    def jump_clocks(self, by_ns: int) -> None:
        """Let the time of day jump, on all nodes."""
        self.note(f"the time of day jumps by {by_ns / 10**9:g} s")
        self.chronicle.sometimes.happened("clock-jumped-back" if by_ns < 0 else "clock-jumped-forward")
        self.dispatcher.wall_offset_ns += by_ns

    def cut_network(self, name: str, lasts_ns: int) -> None:
        """Cut a node off from the API server for a while."""
        self.note(f"cuts {name} off for {lasts_ns / 10**9:g} s")
        self.chronicle.sometimes.happened("network-cut")
        self.links[name].cut(lasts_ns)

    def disk_operation(self, operation: str) -> None:
        """Note what an agent is about to do to its disk."""
        what, _, path = operation.partition(" ")
        if what in ("unmount", "remove") and path.startswith(PODS_DIRECTORY):
            self.chronicle.disk_operation(path.removeprefix(PODS_DIRECTORY).partition("/")[0], operation)

    def api_outage(self, lasts_ns: int, *, forgets: bool = False) -> None:
        """Make the API server unreachable for a while."""
        self.note("takes the API server away")
        self.chronicle.sometimes.happened("api-outage")
        for api in self.apis.values():
            api.down(lasts_ns)
        if forgets:
            self.server.forget()

    def heal(self) -> None:
        """End all faults: from now on the world must converge. A dead agent comes back by itself."""
        self.note("is healed")
        self.healed = True
        self.healed_ns = self.now_ns()
        for faults in (*self._faults, *self._api_faults):
            faults.heal()
        if self._mailboxes is not None:
            self._mailboxes.heal()
        for failing in self._failing:
            failing.heal()
        for link in self.links.values():
            link.heal()
        for name, node in self.nodes.items():
            node.usage.taken.clear()
            self.apis[name].come_back()
        self._passing.heal()

    # --- looking ----------------------------------------------------------------------------------------------------

    def moment(self) -> Moment:
        """The current moment of the world: step, time, hash of the trace and its last line."""
        trace = self.trace
        return Moment(self.dispatcher.steps, self.now_ns(), trace.hash(), trace.last())

    def _broken(self, invariant: str) -> None:
        if invariant not in self.broken_at:
            self.broken_at[invariant] = self.moment()

    def sometimes(self) -> dict[str, int]:
        """Every count, those of drawn faults included."""
        counts = dict(self.chronicle.sometimes.counts)
        counts["network-loss"] = sum(link.lost for link in self.links.values())
        for drawn, names in ((self._faults, _RUNTIME_FAULTS), (self._api_faults, _API_FAULTS)):
            for faults in drawn:
                for kind, times in faults.counts.items():
                    if kind in names:
                        counts[names[kind]] += times
        return counts


_RUNTIME_FAULTS = {
    "fail": "runtime-call-failed",
    "lose": "runtime-call-lost",
    "hang": "runtime-call-hung",
    "slow_ns": "runtime-call-delayed",
    "late_ns": "runtime-call-delayed",
}
_API_FAULTS = {"fail": "api-call-failed", "lose": "api-call-lost"}
