"""The devices of a play: plugins and drivers on each node, their troubles, and what must hold of them.

Two rules hold at each change of a container. A device is in one pod at a time. A container that asked for devices has
them, and its driver has made them ready. At the end drivers have ready what pods need, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from runtime.cri.messages import ContainerState
from runtime.device_plugins.capability import PluginOptions
from simulation.allocation.results import results_of
from simulation.apiserver.store.store import Version
from simulation.controllers.device_slices import CLAIMS, DeviceSlices, devices_given
from simulation.cri.state import ContainerRecord
from simulation.host.device_plugins import some_devices
from simulation.host.dra_drivers import PREPARE, UNPREPARE, SimulatedDraDriver
from simulation.node.simulated_node import SimulatedNode
from simulation.scenarios import faults as kinds
from simulation.scenarios.devices import PluginDevices, templates_of
from simulation.scenarios.scenario import Scenario
from simulation.world.invariants import ENDED
from simulation.world.world import World

_TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
OPTIONS = PluginOptions(pre_start=True, prefers=True)
LIES = ("device-0", "device-0", "no such device")
GIVEN_ONCE, READY = "a-device-is-in-one-pod", "devices-are-ready-when-a-container-runs"


class PlayedDevices:
    """See the module. The world has not begun."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self._world = world
        self._scenario = scenario
        self._rules = scenario.node
        self._slices = DeviceSlices(world.server, world.dispatcher)
        for name, node in world.nodes.items():
            for plugin in self._rules.devices:
                self._start_plugin(name, plugin)
            for driver in self._rules.dra_drivers:
                reads = partial(devices_given, world.server.store, driver.driver)
                node.add_dra_driver(driver.driver).reads = reads
                offered = [{"name": f"device-{number}"} for number in range(driver.count)]
                self._slices.offer(name, driver.driver, offered)
            if self._rules.devices or self._rules.dra_drivers:
                node.cri.state.on_change = partial(self._changed, name, node.cri.state.on_change)

    def begin(self) -> None:
        """The nodes are ready: drivers offer devices, and there are templates of claims."""
        if not self._rules.dra_drivers:
            return
        self._slices.start()
        for mix in self._scenario.pods:
            for template in templates_of(mix.name, mix.claims):
                self._world.ask("POST", _TEMPLATES, template)

    # --- troubles ---------------------------------------------------------------------------------------------------

    def plugin_trouble(self, name: str, plugin: PluginDevices, what: str) -> None:
        """Something goes wrong with a plugin of that node."""
        self._happens(name, f"device plugin of {plugin.resource}", what, "device-plugin-in-trouble")
        plugins = self._world.nodes[name].device_plugins
        devices = some_devices(plugin.count, plugin.numa_nodes)
        now = plugins.running()[plugin.resource]
        if what == "hang":
            now.hangs |= {"Allocate", "GetPreferredAllocation"}
        elif what == "die":
            now.stop()
        elif what == "sick" and now.alive:
            now.offer(replace(each, healthy=number % 2 == 0) for number, each in enumerate(devices))
        elif what == "other-ids":
            now.stop("it begins anew")
            plugins.add(plugin.resource, (replace(each, id=f"other-{each.id}") for each in devices), OPTIONS)
        elif what == "lie":
            now.preferred = LIES

    def plugin_is_well(self, name: str, plugin: PluginDevices) -> None:
        """The plugin begins anew, with the devices that it had at first."""
        self._world.note(f"the device plugin of {plugin.resource} on {name} begins anew")
        self._start_plugin(name, plugin)

    def driver_trouble(self, name: str, driver: str, what: str) -> None:
        """Something goes wrong with a driver of that node."""
        self._happens(name, f"driver {driver}", what, "dra-driver-in-trouble")
        for each in self._drivers(name, driver):
            if what == "hang":
                each.hangs |= {PREPARE, UNPREPARE}
            elif what == "fail":
                each.fails = {PREPARE: "busy", UNPREPARE: "busy"}
            elif what == "slow":
                each.slow = True
            elif self._world.chance.bits() % 2:
                each.stop()
            else:
                self._world.nodes[name].stop_dra_driver(each)

    def driver_is_well(self, name: str, driver: str) -> None:
        """The driver answers again, or comes back."""
        self._world.note(f"driver {driver} on {name} is well")
        for each in self._drivers(name, driver):
            each.hangs.clear()
            each.fails = {}
            each.answer()
            if not each.alive:
                self._world.nodes[name].start_dra_driver(each)

    def heal(self) -> None:
        """All are well again."""
        for name in self._world.nodes:
            for plugin in self._rules.devices:
                self.plugin_is_well(name, plugin)
            for driver in self._rules.dra_drivers:
                self.driver_is_well(name, driver.driver)

    def troubles_of(self, fault: kinds.Fault) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
        """How a trouble begins (with what) and ends, for all plugins and drivers that the fault is about."""
        for name in self._world.nodes:
            if isinstance(fault, kinds.DevicePlugins):
                for plugin in self._rules.devices:
                    if fault.resource in (kinds.EVERYWHERE, plugin.resource):
                        yield partial(self.plugin_trouble, name, plugin), partial(self.plugin_is_well, name, plugin)
            elif isinstance(fault, kinds.DraDrivers):
                for driver in (each.driver for each in self._rules.dra_drivers):
                    if fault.driver in (kinds.EVERYWHERE, driver):
                        yield partial(self.driver_trouble, name, driver), partial(self.driver_is_well, name, driver)

    def _happens(self, name: str, who: str, what: str, event: str) -> None:
        self._world.note(f"{what}: the {who} on {name}")
        self._world.chronicle.sometimes.happened(event)

    def _start_plugin(self, name: str, plugin: PluginDevices) -> None:
        devices = some_devices(plugin.count, plugin.numa_nodes)
        self._world.nodes[name].device_plugins.add(plugin.resource, devices, OPTIONS)

    def _drivers(self, name: str, driver: str) -> Iterator[SimulatedDraDriver]:
        for each in self._world.nodes[name].dra_drivers.running().values():
            if each.name == driver:
                yield each

    # --- what must hold ---------------------------------------------------------------------------------------------

    def _changed(self, name: str, others: Callable[[ContainerRecord], None] | None, record: ContainerRecord) -> None:
        if others is not None:
            others(record)
        if record.state is ContainerState.CONTAINER_RUNNING:
            if record.config.CDI_devices:
                self._world.chronicle.sometimes.happened("devices-used")
            for invariant, fault in _faults_of(self._world, self._world.nodes[name], record):
                self._world.chronicle.violated(invariant, f"{name}: {fault}")


def _faults_of(world: World, node: SimulatedNode, record: ContainerRecord) -> Iterator[tuple[str, str]]:
    """What is wrong with the devices of a container that runs."""
    pod = next((each for each in world.server.store.of["pods"].all() if each.uid == record.sandbox.pod_uid), None)
    mix = None if pod is None else world.chronicle.mix_of(pod.name)
    had = {device.name for device in record.config.CDI_devices}
    if mix is not None and pod is not None and _container_name(record) == mix.containers[0].name:
        for name, count in (*mix.devices.items(), *mix.claims.items()):
            found = sum(one.startswith((f"{name}=", f"{name}/device=")) for one in had)
            if found != count:
                yield READY, f"{pod.name} asked for {count} devices of {name} and runs with {found}"
        yield from ((READY, fault) for fault in _unprepared(world, node, pod))
    for other in node.cri.state.containers.values():
        if other.state is ContainerState.CONTAINER_RUNNING and other.sandbox.pod_uid != record.sandbox.pod_uid:
            for one in sorted(had & {device.name for device in other.config.CDI_devices}):
                yield GIVEN_ONCE, f"device {one} is in {record.sandbox.name} and in {other.sandbox.name}"


def _unprepared(world: World, node: SimulatedNode, pod: Version) -> Iterator[str]:
    """Claims of a pod with a running container that its drivers have not made ready."""
    for claim in _claims_of(world, pod.uid):
        for driver in sorted({str(each["driver"]) for each in results_of(claim.object)}):
            if not any(claim.uid in one.prepared for one in _named(node, driver)):
                yield f"{pod.name} runs, and driver {driver} has not made claim {claim.name} ready"


def _claims_of(world: World, uid: str) -> Iterator[Version]:
    for claim in world.server.store.of[CLAIMS].all():
        if any(each["uid"] == uid for each in (claim.object.get("status") or {}).get("reservedFor") or ()):
            yield claim


def _named(node: SimulatedNode, driver: str) -> Iterator[SimulatedDraDriver]:
    return (each for each in node.dra_drivers.running().values() if each.name == driver)


def _container_name(record: ContainerRecord) -> str:
    metadata: Any = record.config.metadata
    return "" if metadata is None else str(metadata.name)


def prepared_in_vain(world: World) -> Iterator[str]:
    """Claims that a driver still has ready and no pod needs: their devices are lost to others."""
    needed = {
        claim.uid
        for pod in world.server.store.of["pods"].all()
        if (pod.object.get("status") or {}).get("phase") not in ENDED
        for claim in _claims_of(world, pod.uid)
    }
    for name, node in world.nodes.items():
        for driver in node.dra_drivers.running().values():
            for uid, claim in driver.prepared.items():
                if uid not in needed:
                    yield f"driver {driver.name} on {name} still has claim {claim.name} ready, which no pod needs"
