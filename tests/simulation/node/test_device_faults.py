"""Faults of kubelets with devices of plugins that must not happen here.

Each scenario is played over some seeds. The agent is killed once, at a moment that the seed draws: before a turn,
around a call, before a change of the disk. An agent that was changed to have the fault is found out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import actors.resources.device_keeper as keeper
import actors.resources.devices.book as book
import actors.resources.devices.choosing as choosing
from actors.model.devices import DeviceBook, HeldDevices
from actors.resources.device_keeper import DeviceKeeper
from actors.resources.devices.checkpoint import KeptDevices
from actors.resources.devices.wanted import DeviceWant, device_wants
from config.frozen_map import FrozenMap
from config.objects import Node, Pod, PodSpec
from runtime.device_plugins.capability import PluginOptions
from simulation.host.device_plugins import SimulatedDevicePlugin, some_devices
from tests.seeds import over_seeds
from tests.simulation.node.test_devices import GPU, wants
from tests.simulation.node.worlds import SECOND, World, container, manifest

NIC = "vendor.example/nic"
RECOVERS_NS = 70 * SECOND
"""A new agent looks once a minute for pods that went while it was away."""
Mutate = pytest.MonkeyPatch


class Life:
    """A node with a plugin of four GPUs, which may hang, die or lie. With `kills`, its agent dies."""

    def __init__(self, seed: int, *, kills: bool = True, **options: Any) -> None:
        self.world = World(seed=seed).start()
        self.plugins = self.world.node.device_plugins
        self.options = PluginOptions(**options)
        self.gpu = self.restart()
        self._left = random.Random(seed).randrange(1, 900) if kills else 0
        self._recovers_ns = 0
        self.world.run(5 * SECOND)  # a node that never had the plugin refuses its pods
        self.world.node.tell_each_moment(self._moment)

    def restart(self, count: int = 4) -> SimulatedDevicePlugin:
        """The plugin begins, or begins anew."""
        self.gpu = self.plugins.add(GPU, some_devices(count), self.options)
        return self.gpu

    def _moment(self, _: str) -> None:
        self._left -= 1
        if not self._left:
            self._recovers_ns = self.world.dispatcher.now_ns() + RECOVERS_NS
            self.world.dispatcher.schedule(SECOND, self.world.node.restart_agent)
            self.world.node.kill()

    def put(self, name: str, *containers: Mapping[str, Any], **spec: Any) -> None:
        self.world.node.put_manifest(f"{name}.yaml", manifest(name, containers or [wants()], **spec))

    def remove(self, name: str) -> None:
        self.world.node.remove_manifest(f"{name}.yaml")

    def run(self, seconds: int) -> None:
        """Let time pass, and look at the running containers each half second.

        An agent that has just died gets the time to begin again.
        """
        until_ns = self.world.dispatcher.now_ns() + seconds * SECOND
        while self.world.dispatcher.now_ns() < max(until_ns, self._recovers_ns):
            self.world.run(SECOND // 2)
            self.check()

    def check(self) -> None:
        """No device is in two running pods, and every running container that asked for some has them."""
        owners: dict[str, str] = {}
        for each in self.world.running_records():
            pod, name = each.config.labels["io.kubernetes.pod.uid"], each.config.labels["io.kubernetes.container.name"]
            ids = [one.name for one in each.config.CDI_devices]
            assert ids or name == "plain", "a container runs without the devices that it asked for"
            for one in ids:
                assert owners.setdefault(one, pod) == pod, f"device {one} is in two pods"

    def books_agree(self) -> None:
        """After a while the agent has given what running containers have, and nothing else."""
        self.run(90)
        shares = self.world.node.node.shares()
        assert shares is not None
        given = {
            f"{resource}={one}"
            for has in shares.devices.book.values()
            for resources in has.values()
            for resource, held in resources.items()
            for one in held.ids
        }
        truth = {one.name for each in self.world.running_records() for one in each.config.CDI_devices}
        assert given == truth

    def phases(self) -> dict[str, str]:
        """An agent may die as it is asked; then the next one is."""
        phases = self.world.phases()
        if self.world.dispatcher.now_ns() < self._recovers_ns:
            self.run(0)
            phases = self.world.phases()
        return phases

    def runs(self, *names: str) -> None:
        phases = self.phases()
        assert {name: phases.get(name) for name in names} == dict.fromkeys(names, "Running")


def two_pods_at_once(life: Life) -> None:
    for name in "abcd":
        life.put(name)
    life.run(20)
    life.remove("a")
    life.put("e")
    life.run(90)
    life.put("f")
    life.run(60)
    life.runs("b", "c", "d")
    life.books_agree()


def hung_allocation(life: Life) -> None:
    life.plugins.add(NIC, some_devices(4))
    life.gpu.hangs.add("Allocate")
    for name in "abc":
        life.put(name)
    life.run(5)
    nic = container("app", resources={"limits": {NIC: "1"}})
    for name in "xyz":
        life.put(name, nic)
        life.put(f"{name}plain", container("plain"))
    life.run(25)
    life.runs("x", "y", "z", "xplain", "yplain", "zplain")


def init_devices(life: Life) -> None:
    life.put("a", wants(4), initContainers=[wants(3, "init")], behaviour={"run-for.init": "40s"})
    life.run(20)
    life.put("b", wants(1))
    life.run(90)
    life.runs("a")
    life.books_agree()


def late_plugin(life: Life) -> None:
    life.put("a", wants(2))
    life.run(20)
    life.world.node.kill()
    life.gpu.stop()
    life.world.node.restart_agent()
    life.put("b", wants(2))
    life.run(100)
    life.restart()
    life.run(60)
    life.runs("a", "b")
    life.books_agree()


def dying_plugin(life: Life) -> None:
    for name in "abcd":
        life.put(name)
        life.run(1)
        life.gpu.stop()
        life.run(2)
        life.restart()
    life.run(60)
    life.runs("a", "b", "c", "d")
    life.books_agree()


def lying_plugin(life: Life) -> None:
    life.gpu.preferred = ("device-0", "device-0", "no such device")
    life.put("a", wants(2))
    life.run(30)
    life.gpu.preferred = ("device-0",)
    life.put("b")
    life.put("c")
    life.run(60)
    life.runs("a", "b", "c")
    life.books_agree()


Scenario = Callable[[Life], None]
SCENARIOS: Mapping[str, tuple[Scenario, Mapping[str, Any]]] = {
    "137534-no-device-is-in-two-pods": (two_pods_at_once, {"pre_start": True}),
    "129249-a-hung-allocation-holds-up-no-other-pod": (hung_allocation, {}),
    "138446-devices-of-init-containers-are-used-again": (init_devices, {"prefers": True}),
    "139959-a-late-plugin-fails-no-pod": (late_plugin, {"pre_start": True}),
    "a-plugin-that-dies-all-the-time-fails-no-pod": (dying_plugin, {}),
    "a-plugin-that-lies-about-its-wishes-harms-nobody": (lying_plugin, {"prefers": True}),
}


def play(name: str, seed: int, *, kills: bool = True) -> None:
    scenario, options = next(each for full, each in SCENARIOS.items() if full.startswith(name))
    scenario(Life(seed, kills=kills, **options))


def is_found_out(name: str) -> bool:
    """Whether the scenario fails without a kill. It passes so with an agent that is as it should be."""
    try:
        play(name, 1, kills=False)
    except AssertionError:
        return True
    return False


@over_seeds(3)
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_fault_does_not_happen_whenever_the_agent_dies(name: str, seed: int) -> None:
    play(name, seed)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_fault_does_not_happen(name: str) -> None:
    play(name, 1, kills=False)


def test_137534_an_agent_that_forgets_devices_whose_plugin_is_being_asked_is_found_out(monkeypatch: Mutate) -> None:
    def confirmed_only(devices: DeviceBook, resource: str) -> frozenset[str]:
        held: list[HeldDevices] = [
            resources[resource] for has in devices.values() for resources in has.values() if resource in resources
        ]
        return frozenset(one for each in held if each.setup is not None for one in each.ids)

    monkeypatch.setattr(choosing, "held_ids", confirmed_only)
    assert is_found_out("137534")


def test_129249_an_agent_that_admits_nobody_while_a_plugin_is_asked_is_found_out(monkeypatch: Mutate) -> None:
    waits_for = DeviceKeeper.waits_for

    def one_after_the_other(self: DeviceKeeper, pod: Pod, here: Node | None) -> str:
        return "the plugin of another pod is asked" if self.due else waits_for(self, pod, here)

    monkeypatch.setattr(DeviceKeeper, "waits_for", one_after_the_other)
    assert is_found_out("129249")


def test_138446_an_agent_that_keeps_devices_of_init_containers_is_found_out(monkeypatch: Mutate) -> None:
    def never_end(spec: PodSpec) -> tuple[DeviceWant, ...]:
        return tuple(DeviceWant(each.name, False, each.amounts) for each in device_wants(spec))

    monkeypatch.setattr(choosing, "device_wants", never_end)
    assert is_found_out("138446")


def test_139959_an_agent_without_patience_is_found_out(monkeypatch: Mutate) -> None:
    monkeypatch.setattr(DeviceKeeper, "waits_for", lambda *_: "")
    assert is_found_out("139959")


def test_an_agent_that_loses_its_checkpoint_is_found_out(monkeypatch: Mutate) -> None:
    monkeypatch.setattr(keeper, "read_checkpoint", lambda _: KeptDevices(FrozenMap(), FrozenMap({GPU: ()})))
    assert is_found_out("139959")


def test_an_agent_that_takes_every_wish_is_found_out(monkeypatch: Mutate) -> None:
    monkeypatch.setattr(
        book,
        "preferred",
        lambda offer, taken, held, included, wish, **_: HeldDevices(
            tuple(each for each in offer.devices if each.id in wish) or held.devices
        ),
    )
    assert is_found_out("a-plugin-that-lies")
