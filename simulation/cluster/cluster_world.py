"""The world behind a test's cluster: `World`, with nodes of given size.

Its machines lose power, and tests say what its pods do. Each node has an address and a pod network of its own.

Its calls are those of a test, at any moment of the world's time; nothing here makes time pass. Whatever names a pod or
a node that is not there raises `OrderError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from actors.kernel import Dispatcher
from config.values.nearest import did_you_mean
from runtime.cri.messages import ContainerState
from runtime.dra.capability import ClaimDevice, ClaimRef
from simulation.apiserver.core import Options
from simulation.apiserver.store.store import Version
from simulation.chance.call_faults import EventFaultPlan, FaultPlan
from simulation.cluster.explained import explained, is_well, one_line
from simulation.cluster.failing_requests import FailingRequests
from simulation.cluster.orders import Begin, Behave, Exit, FailRequests, Hang, OrderError, Say, Scale, StartLoad
from simulation.cluster.replicas import Replicas
from simulation.cluster.told_behaviour import BehaviourRule, ToldBehaviour
from simulation.controllers.device_slices import DeviceSlices, devices_given
from simulation.cri.behaviour_values import ProbeOperation, duration_ns, size_bytes
from simulation.cri.state import ContainerRecord
from simulation.host.device_plugins import devices_in, some_devices
from simulation.host.dra_drivers import drivers_in
from simulation.host.topologies import plain_topology
from simulation.node.addresses import pod_network_of
from simulation.node.hollow_nodes import address_of
from simulation.node.simulated_node import SimulatedNode
from simulation.play.fault_injection import api_plan, link_faults, runtime_plan
from simulation.scenarios import faults as kinds
from simulation.world.world import IN_A_CLUSTER, World

CHANGES_REMEMBERED = 20_000
"""History per resource: a client that lists thousands of pods must be able to watch from there."""
QUIET = FaultPlan(events=EventFaultPlan())
NAMES_SHOWN = 5


class ClusterWorld(World):
    """See the module. Nodes are `node-N`, and begin with `begin_nodes`."""

    def __init__(self, begin: Begin) -> None:
        self.told = ToldBehaviour()
        self._cpus = begin.cpus
        self._memory_bytes = size_bytes(begin.memory)
        self._pods_per_node = begin.pods_per_node
        self._devices = _devices_of(begin)
        self._dra_drivers = _drivers_of(begin)
        self.slices: DeviceSlices | None = None
        """What drivers offer; None without any."""
        self._loads: dict[tuple[str, str], Replicas] = {}
        self._faults_now: tuple[kinds.Fault, ...] = ()
        self._off: set[str] = set()
        self._healings = 0
        super().__init__(
            begin.seed,
            nodes=begin.nodes,
            runtime_faults=QUIET,
            api_faults=QUIET,
            options=Options(
                seed=begin.seed,
                authorization="RBAC" if begin.rbac else "AlwaysAllow",
                history_at_most=CHANGES_REMEMBERED,
                garbage_collection=True,
            ),
            configuration=msgspec.structs.replace(IN_A_CLUSTER, max_pods=begin.pods_per_node),
        )
        self.failing = FailingRequests(self.server)
        if self._dra_drivers:
            self.slices = DeviceSlices(self.server, self.dispatcher)
            for name in self.nodes:
                self._offer_devices(name)

    def names_of_nodes(self, count: int, first: int) -> list[str]:
        """More may come, so that no number is as wide as the last one."""
        return [f"node-{first + number}" for number in range(count)]

    def new_node(self, dispatcher: Dispatcher, **rest: Any) -> SimulatedNode:
        number = len(self.nodes)
        network = pod_network_of(number, self._pods_per_node)
        settings = msgspec.structs.replace(rest.pop("settings"), pod_cidr=network)
        node = super().new_node(dispatcher, settings=settings, address=address_of(number), **rest)
        node.cri.intercept(self.told.add)
        machine = node.machine
        machine.machine_facts = replace(machine.machine_facts, cpus=self._cpus, memory_bytes=self._memory_bytes)
        machine.machine_topology = plain_topology(self._cpus, self._memory_bytes)
        for resource, amount in self._devices.items():
            node.device_plugins.add(resource, some_devices(amount))
        for driver in self._dra_drivers:
            node.add_dra_driver(driver).reads = partial(self.devices_given, driver)
        return node

    # --- claims of devices --------------------------------------------------------------------------------------------

    @property
    def has_drivers(self) -> bool:
        return bool(self._dra_drivers)

    def devices_given(self, driver: str, claim: ClaimRef) -> tuple[ClaimDevice, ...]:
        """The devices of that driver that a claim has. Raises LookupError while that is not known."""
        return devices_given(self.server.store, driver, claim)

    def begin_drivers(self) -> None:
        """Drivers offer what they have, and each has a class."""
        if self.slices is not None:
            self.slices.start()

    def is_of_a_driver(self, version: Version) -> bool:
        """Whether an object is a slice of a simulated driver."""
        return self.slices is not None and self.slices.is_offered(version.object)

    def _offer_devices(self, node: str) -> None:
        if self.slices is not None:
            for driver, devices in self._dra_drivers.items():
                self.slices.offer(node, driver, devices)

    def ready_nodes(self) -> int:
        """How many the API server has as Ready."""
        return sum(self.chronicle.nodes_ready.values())

    def is_untainted(self) -> bool:
        """Whether no node has a taint: a node keeps its taint for a moment after it is ready."""
        return not any(node.object["spec"].get("taints") for node in self.server.store.of["nodes"].all())

    # --- nodes ------------------------------------------------------------------------------------------------------

    def add_nodes(self, count: int) -> list[str]:
        """Add nodes, which begin at once; return their names."""
        names = self.names_of_nodes(count, len(self.nodes))
        # What is wrong with every way to the API server is wrong with theirs.
        self._links_faults = link_faults(self._faults_now, names)
        for name in names:
            self._add_node(name, len(self.nodes))
            self.nodes[name].start()
            self._offer_devices(name)
        return names

    def kill_node(self, name: str) -> None:
        """Its power is gone."""
        node = self._with_power(name)
        self._off.add(name)
        node.lose_power()
        for driver in node.dra_drivers.running().values():
            node.stop_dra_driver(driver)
            driver.prepared.clear()
            if self.slices is not None:
                self.slices.withdraw(name, driver.name)
        self.apis[name].hang_up()

    def start_node(self, name: str) -> None:
        """Boot a node that is off."""
        node = self._node(name)
        if name not in self._off:
            raise OrderError(f"node {name} is not off")
        self._off.discard(name)
        node.boot()
        for driver in node.dra_drivers.running().values():
            node.start_dra_driver(driver)
        self._offer_devices(name)
        self._restart_agent(name)

    def kill_agent(self, name: str, away_ns: int) -> None:
        self._with_power(name)
        super().kill_agent(name, away_ns)

    def _restart_agent(self, name: str) -> None:
        if name not in self._off:
            super()._restart_agent(name)

    def pause_agent(self, name: str, lasts_ns: int) -> None:
        self._with_power(name)
        super().pause_agent(name, lasts_ns)

    def cut_network(self, name: str, lasts_ns: int) -> None:
        self._node(name)
        super().cut_network(name, lasts_ns)

    def why_unreachable(self, name: str) -> str:
        """The error of a connection to the agent of this node now.

        Empty if the agent is reachable.

        Only the API server asks that, and the node exists.
        """
        if name in self._off:
            return "no route to host"
        if self.links[name].is_cut() or (self.nodes[name].agent.alive and not self.nodes[name].agent.runs):
            return "i/o timeout"
        return "" if self.nodes[name].agent.alive else "connection refused"

    def _with_power(self, name: str) -> SimulatedNode:
        node = self._node(name)
        if name in self._off:
            raise OrderError(f"node {name} is off; start it first")
        return node

    def _node(self, name: str) -> SimulatedNode:
        node = self.nodes.get(name)
        if node is None:
            raise OrderError(f"there is no node {name!r}; there are {', '.join(self.nodes) or 'none'}")
        return node

    # --- pods -------------------------------------------------------------------------------------------------------

    def behave(self, order: Behave) -> None:
        """Set a behaviour from now on; running containers use it for later actions."""
        self.told.say(BehaviourRule(order.namespace, order.name, order.annotations()))
        for node in self.nodes.values():
            state = node.cri.state
            for sandbox in state.sandboxes.values():
                state.behaves(sandbox, self.told.behaviour_of(sandbox.config))

    def unmatched(self) -> list[str]:
        """The orders whose pods never existed or whose requests never came, one sentence each."""
        pods = [pod.key for pod in self.server.store.of["pods"].all()]
        names = sorted({name for _, name in pods})
        return [
            f"no pod has matched behave({rule.name!r}{_where(rule.namespace)}); "
            f"{did_you_mean(rule.name, names, 'there are ' + _some(names))}"
            for rule in self.told.unmet(pods)
        ] + self.failing.unmet()

    def explain(self, namespace: str, name: str) -> str:
        """Why the pod is in its state."""
        pod = self.server.store.get("pods", namespace, name)
        if pod is None:
            names = [other for _, other in (one.key for one in self.server.store.of["pods"].all())]
            hint = did_you_mean(name, names, f"there are {_some(sorted(set(names)))}")
            raise OrderError(f"there is no pod {namespace}/{name}; {hint}")
        return explained(pod.object, [event.object for event in self.server.store.of["events"].all()])

    def troubles(self) -> list[str]:
        """One line for each pod that is neither ready nor finished."""
        return [one_line(pod.object) for pod in self.server.store.of["pods"].all() if not is_well(pod.object)]

    def as_at_first(self) -> None:
        """No fault, no load, nothing said of pods, and every node with power."""
        self.heal()
        self.told.forget()
        for load in self._loads.values():
            load.stop()
        self._loads.clear()
        for name in sorted(self._off):
            self.start_node(name)

    def exit(self, order: Exit) -> None:
        """End the running containers of a pod."""
        node, containers = self._running(order.namespace, order.pod, order.container)
        for container in containers:
            node.cri.kill_container(container.id, order.code, "OOMKilled" if order.oom else "")

    def say(self, order: Say) -> None:
        """Let the containers of a pod write to their logs."""
        node, containers = self._running(order.namespace, order.pod, order.container)
        for container in containers:
            node.cri.write_log(container.id, order.text.splitlines())

    def hang(self, order: Hang) -> None:
        """Let the containers of a pod hang: they answer no probe, ignore the stop signal and do not exit."""
        _, containers = self._running(order.namespace, order.pod)
        silent = (ProbeOperation.HANG,)
        for container in containers:
            container.behaviour = replace(
                container.behaviour,
                ignore_stop_signal=True,
                startup_probe=silent,
                readiness_probe=silent,
                liveness_probe=silent,
            )
            if container.exit_timer is not None:
                container.exit_timer.cancel()

    def _running(self, namespace: str, name: str, container: str = "") -> tuple[SimulatedNode, list[ContainerRecord]]:
        """The node of the pod, and its running containers or the named one. Raises OrderError if none."""
        pod = self.server.store.get("pods", namespace, name)
        if pod is None:
            raise OrderError(f"there is no pod {namespace}/{name}")
        node = self.nodes.get(pod.object["spec"].get("nodeName", ""))
        if node is None:
            raise OrderError(f"pod {namespace}/{name} is on no simulated node yet")
        found = [each for each in _running_of(node, pod.uid) if container in ("", _name_of(each))]
        if not found:
            what = f"container {container}" if container else "container"
            raise OrderError(f"no {what} of pod {namespace}/{name} runs now")
        return node, found

    # --- loads ------------------------------------------------------------------------------------------------------

    def load(self, order: StartLoad) -> None:
        """Begin a load."""
        key = (order.namespace, order.name)
        if key in self._loads:
            raise OrderError(f"there is a load {order.name!r} in {order.namespace}; scale it")
        load = Replicas(self.server, self.dispatcher, order.namespace, order.name, order.template())
        load.start(order.replicas)
        self._loads[key] = load

    def scale(self, order: Scale) -> None:
        self._load(order.namespace, order.name).scale(order.replicas)

    def count_ready(self, namespace: str, name: str) -> int:
        """Pods of a load that are Ready."""
        return self._load(namespace, name).ready

    def _load(self, namespace: str, name: str) -> Replicas:
        load = self._loads.get((namespace, name))
        if load is None:
            raise OrderError(f"there is no load {name!r} in {namespace}")
        return load

    # --- faults -----------------------------------------------------------------------------------------------------

    def befall(self, fault: kinds.AnyFault) -> None:
        """Let a fault happen, from now on."""
        if faults := list(kinds.alone(fault, "$.fault")):
            raise OrderError("; ".join(faults))
        if isinstance(fault, kinds.ApiOutage):
            lasts_ns, forgets = duration_ns(fault.lasts), fault.forgets
            self._in(fault.at, lambda: self.api_outage(lasts_ns, forgets=forgets))
        elif isinstance(fault, kinds.RuntimeOutage):
            away_ns = duration_ns(fault.lasts)
            self._in(fault.at, lambda: self.runtime_outage(away_ns))
        elif isinstance(fault, kinds.DiskFull):
            full_ns = duration_ns(fault.lasts)
            self._in(fault.at, lambda: self.fill_disks(full_ns))
        elif isinstance(
            fault, kinds.RuntimeCalls | kinds.RuntimeEvents | kinds.ApiCalls | kinds.ApiWatches | kinds.Network
        ):
            self._befall_until_healed(fault)
        else:
            raise OrderError(f"a cluster knows no {type(fault).__struct_config__.tag}; a scenario does")

    def fail_requests(self, order: FailRequests) -> None:
        """Let requests of the test's own programs fail."""
        self.failing.add(order)

    def _in(self, time: str, operation: Callable[[], object]) -> None:
        """Act after a delay, unless the cluster was healed in between."""
        healings = self._healings
        self.after(duration_ns(time), lambda: operation() if self._healings == healings else None)

    def _befall_until_healed(self, fault: kinds.Fault) -> None:
        if isinstance(fault, kinds.Network) and fault.node != kinds.EVERYWHERE:
            self._node(fault.node)
        faults = (*self._faults_now, fault)
        runtime, api = runtime_plan(faults), api_plan(faults)
        links = link_faults(faults, tuple(self.nodes))
        self._faults_now = faults
        self._plans = (_with_events(runtime), _with_events(api))
        for drawn, plan in zip((self._faults, self._api_faults), self._plans, strict=True):
            for each in drawn:
                each.follow(plan)
        for name, link in self.links.items():
            link.follow(links.get(name))

    def heal(self) -> None:
        self._healings += 1
        self._faults_now = ()
        self._plans = (QUIET, QUIET)
        self.failing.forget()
        super().heal()


def _with_events(plan: FaultPlan | None) -> FaultPlan:
    """A runtime plan with events, so that other event faults can be set later."""
    return QUIET if plan is None else FaultPlan(plan.calls, plan.events or EventFaultPlan())


def _running_of(node: SimulatedNode, uid: str) -> Iterator[ContainerRecord]:
    for container in node.cri.state.containers.values():
        if container.sandbox.pod_uid == uid and container.state is ContainerState.CONTAINER_RUNNING:
            yield container


def _where(namespace: str) -> str:
    return "" if namespace == "*" else f", namespace={namespace!r}"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN]) or "none"
    return f"{shown} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else shown


def _name_of(container: ContainerRecord) -> str:
    metadata = container.config.metadata
    return metadata.name if metadata is not None else ""


def _drivers_of(begin: Begin) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Driver -> devices that it has on each node. Raises OrderError."""
    try:
        return drivers_in(begin.dra_drivers)
    except ValueError as fault:
        raise OrderError(f"dra_drivers: {fault}") from None


def _devices_of(begin: Begin) -> dict[str, int]:
    """Resource -> how many devices each node has. Raises OrderError."""
    try:
        return devices_in(begin.devices)
    except ValueError as fault:
        raise OrderError(str(fault)) from None
