"""Device plugins that register, change, stop, come back, hang and lie, as the node's owner sees it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.devices.plugin import GRACE_NS
from actors.devices.registrar import PLUGINS_AT_MOST, DevicePluginsActor, name_fault
from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages.devices import (
    AllocateDevices,
    AnnounceStart,
    DevicesAllocated,
    DevicesOffered,
    DevicesPreferred,
    DevicesWithdrawn,
    PreferDevices,
    StartAnnounced,
)
from runtime.device_plugins.capability import Device, PluginOptions
from simulation.host.device_plugins import SimulatedDevicePlugins, some_devices

SECOND = 10**9
GPU, NIC = "vendor.example/gpu", "vendor.example/nic"
TWO = some_devices(2)


class Owner(Actor):
    """Hears of devices."""

    def __init__(self, heard: list[Message]) -> None:
        super().__init__()
        self.heard = heard

    @handles(DevicesOffered, DevicesWithdrawn, DevicesAllocated, DevicesPreferred, StartAnnounced)
    def hear(self, message: Message) -> None:
        self.heard.append(message)


class World:
    def __init__(self, seed: int = 1) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.plugins = SimulatedDevicePlugins()
        self.heard: list[Any] = []
        self.owner = self.system.spawn(Owner, self.heard, name="owner")
        self.actor = self.system.spawn(DevicePluginsActor, self.plugins, self.owner, name="devices")
        self.run(1)

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND))

    def of(self, kind: type[Message]) -> list[Any]:
        return [each for each in self.heard if isinstance(each, kind)]

    def offered(self, resource: str = GPU) -> DevicesOffered:
        """The last offer of the resource."""
        found: DevicesOffered = [each for each in self.of(DevicesOffered) if each.resource == resource][-1]
        return found

    def allocate(self, resource: str = GPU, *ids: str) -> None:
        self.actor.tell(AllocateDevices(self.owner, resource, "u", "c", ids or ("device-0",)))


def test_the_devices_of_a_plugin_are_offered_and_each_change_of_them():
    world = World()
    plugin = world.plugins.add(GPU, TWO)
    world.run(1)
    assert (world.offered().offer.devices, world.offered().offer.connected) == (TWO, True)
    plugin.offer([Device("device-0", healthy=False), Device("other")])
    world.run(1)
    assert world.offered().offer.devices == (Device("device-0", healthy=False), Device("other"))


def test_a_plugin_that_was_there_first_registers_when_the_agent_comes():
    world = World()
    world.plugins.add(GPU, TWO)
    world.run(1)
    world.actor.stop()
    world.run(1)
    world.heard.clear()
    world.system.spawn(DevicePluginsActor, world.plugins, world.owner, name="next")
    world.run(1)
    assert world.offered().offer.devices == TWO


def test_a_plugin_that_stopped_has_five_minutes():
    world = World()
    plugin = world.plugins.add(GPU, TWO)
    world.run(1)
    plugin.stop()
    world.run(1)
    offer = world.offered().offer
    assert not offer.connected
    assert [each.healthy for each in offer.devices] == [False, False]
    assert world.offered().trouble == "it was killed"
    world.run(GRACE_NS / SECOND - 10)
    assert not world.of(DevicesWithdrawn)
    world.run(20)
    assert world.of(DevicesWithdrawn) == [DevicesWithdrawn(GPU)]


def test_a_plugin_that_comes_back_in_time_is_never_withdrawn():
    world = World()
    world.plugins.add(GPU, TWO).stop()
    world.run(200)
    world.plugins.add(GPU, some_devices(3))
    world.run(600)
    assert not world.of(DevicesWithdrawn)
    assert world.offered().offer.devices == some_devices(3)


def test_what_the_plugin_before_says_late_counts_for_nothing():
    world = World()
    world.plugins.add(GPU, TWO)
    world.run(1)
    world.plugins.add(GPU, some_devices(5))  # it stops the one before, which tells its end
    world.run(1)
    assert world.offered().offer.connected
    assert len(world.offered().offer.devices) == 5


def test_a_list_that_flaps_is_read_ten_times_a_second():
    world = World()
    plugin = world.plugins.add(GPU, TWO)
    world.run(1)
    before = len(world.heard)
    for turn in range(1_000):
        plugin.offer([Device("device-0", healthy=turn % 2 == 1)])
        world.run(0.001)
    world.run(1)
    assert len(world.heard) - before <= 12
    assert world.offered().offer.devices == (Device("device-0"),)


def test_a_plugin_is_asked_and_its_answers_arrive():
    world = World()
    plugin = world.plugins.add(GPU, TWO, PluginOptions(pre_start=True, prefers=True))
    plugin.preferred = ("device-1",)
    world.run(1)
    world.actor.tell(PreferDevices(world.owner, GPU, "u", "c", ("device-0", "device-1"), (), 1))
    world.allocate()
    world.actor.tell(AnnounceStart(world.owner, GPU, "u", "c", ("device-0",)))
    world.run(1)
    (wish,), (allocated,) = world.of(DevicesPreferred), world.of(DevicesAllocated)
    (start,) = world.of(StartAnnounced)
    assert wish.ids == ("device-1",)
    assert allocated.setup.env == {"DEVICES": "device-0"}
    assert (allocated.error, start.error) == ("", "")
    assert ("PreStartContainer", ("device-0",)) in plugin.calls


def test_a_plugin_without_these_abilities_is_not_asked():
    world = World()
    plugin = world.plugins.add(GPU, TWO)
    world.run(1)
    world.actor.tell(PreferDevices(world.owner, GPU, "u", "c", ("device-0",), (), 1))
    world.actor.tell(AnnounceStart(world.owner, GPU, "u", "c", ("device-0",)))
    world.run(1)
    assert [each.ids for each in world.of(DevicesPreferred)] == [()]
    assert [each.error for each in world.of(StartAnnounced)] == [""]
    assert plugin.calls == []


@pytest.mark.parametrize("seed", range(20))
def test_a_plugin_that_hangs_in_allocate_holds_up_no_other(seed: int):
    """kubernetes/kubernetes#129249: and its own calls end after their deadline."""
    world = World(seed)
    world.plugins.add(GPU, TWO).hangs.add("Allocate")
    world.plugins.add(NIC, TWO)
    world.run(1)
    for _ in range(8):
        world.allocate(GPU)
    world.allocate(NIC)
    world.run(1)
    assert [each.resource for each in world.of(DevicesAllocated)] == [NIC]
    world.run(1_000)
    late = [each for each in world.of(DevicesAllocated) if each.resource == GPU]
    assert late
    assert all(each.setup is None and each.error for each in late)


def test_a_plugin_that_fails_or_is_gone_says_why():
    world = World()
    plugin = world.plugins.add(GPU, TWO)
    world.run(1)
    plugin.fails["Allocate"] = "no power"
    world.allocate()
    world.run(1)
    plugin.stop()
    world.run(1)
    world.allocate()
    world.allocate(NIC)
    world.run(1)
    failed, gone, unknown = world.of(DevicesAllocated)
    assert "no power" in failed.error
    assert gone.error == f"endpoint {GPU} has been stopped"
    assert unknown.error == f"endpoint {NIC} has been stopped"


def test_plugins_without_number_cost_a_bounded_number_of_actors():
    world = World()
    for number in range(PLUGINS_AT_MOST + 10):
        world.plugins.add(f"vendor.example/r{number}", TWO)
    world.run(1)
    assert len(world.of(DevicesOffered)) == PLUGINS_AT_MOST


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("vendor.example/gpu", True),
        ("cpu", False),
        ("kubernetes.io/gpu", False),
        ("sub.kubernetes.io/gpu", False),
        ("requests.vendor.example/gpu", False),
        ("vendor.example/", False),
        ("vendor.example/a/b", False),
        ("vendor.example/" + "x" * 400, False),
        ("vendor.example/a\n", False),
    ],
)
def test_only_extended_resources_have_plugins(name: str, good: bool):
    assert name_fault(name) == ("" if good else f'the ResourceName "{name[:317]}" is invalid')
