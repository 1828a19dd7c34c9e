"""Plugins that register, fail, come back and go, seen by those who are told of them."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles
from actors.messages.counts import CountPlugins, PluginCount
from actors.messages.plugins import (
    AskDriverAgain,
    DriverPublished,
    DriversChanged,
    PublishDriver,
    WithdrawDriver,
)
from actors.messages.resource_claims import DraDriversChanged
from actors.volumes.plugins.watcher import PluginWatcherActor
from runtime.cri.errors import StatusCode
from runtime.csi.capability import NodeInfo
from runtime.plugins.errors import PluginError
from simulation.host.dra_drivers import SimulatedDraDrivers
from simulation.host.plugins import SimulatedPlugins

SECOND = 10**9
NAME = "disks.example.com"


class Cluster(Actor):
    """Hears of drivers. `refusal`: its answer to the next driver that is published."""

    def __init__(self, heard: list[Message], refusals: list[str]) -> None:
        super().__init__()
        self.heard = heard
        self.refusals = refusals

    @handles(PublishDriver)
    def publish(self, message: PublishDriver) -> None:
        self.heard.append(message)
        message.reader.tell(DriverPublished(message.tag, self.refusals.pop(0) if self.refusals else ""))

    @handles(WithdrawDriver, DriversChanged, DraDriversChanged)
    def hear(self, message: Message) -> None:
        self.heard.append(message)


class World:
    def __init__(self, seed: int = 1, dra: SimulatedDraDrivers | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.system = ActorSystem(self.dispatcher)
        self.plugins = SimulatedPlugins()
        self.heard: list[Any] = []
        self.refusals: list[str] = []
        self.cluster = self.system.spawn(Cluster, self.heard, self.refusals, name="cluster")
        drivers = (self.plugins, self.plugins)
        self.watcher = self.system.spawn(
            PluginWatcherActor,
            *drivers,
            self.cluster,
            (self.cluster,),
            dra=dra,
            dra_listeners=(self.cluster,),
            name="plugins",
        )
        self.run(1)

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND))

    def counted(self) -> PluginCount:
        counted: PluginCount = self.watcher.ask(CountPlugins())
        return counted

    def published(self) -> list[str]:
        return [each.info.node_id for each in self.heard if isinstance(each, PublishDriver)]

    def withdrawn(self) -> list[str]:
        return [each.name for each in self.heard if isinstance(each, WithdrawDriver)]

    def names(self) -> tuple[str, ...]:
        """As others were last told them."""
        return next((each.names for each in reversed(self.heard) if isinstance(each, DriversChanged)), ())


# (spec 10.12.1)
def test_a_driver_of_claims_that_went_while_this_actor_was_away_is_forgotten():
    drivers = SimulatedDraDrivers()
    for instance in ("", "-new"):
        drivers.register(NAME, drivers.add(NAME, instance).endpoint, "v1.DRAPlugin")
    world = World(dra=drivers)
    assert drivers.names() == ()
    assert world.heard[-1] == DraDriversChanged(())


# (spec 8.8.1)
def test_a_driver_registers_and_hears_it_and_goes_with_its_socket():
    world = World()
    world.plugins.add(NAME, NodeInfo("n"))
    world.run(1)
    assert (world.published(), world.plugins.told, world.names()) == (["n"], [(NAME, "")], (NAME,))
    assert world.plugins.names() == (NAME,)
    (socket,) = world.plugins.sockets()
    assert world.counted() == PluginCount((socket,), (socket,))
    world.plugins.remove(NAME)
    world.run(1)
    assert world.counted() == PluginCount((), ())
    assert (world.withdrawn(), world.names(), world.plugins.names()) == ([NAME], (), ())


def test_a_driver_that_restarts_at_its_socket_is_asked_anew_and_never_withdrawn():
    world = World()
    world.plugins.add(NAME, NodeInfo("old"))
    world.run(1)
    world.plugins.add(NAME, NodeInfo("new"))
    world.run(1)
    assert (world.published(), world.withdrawn()) == (["old", "new"], [])
    assert world.plugins.told == [(NAME, ""), (NAME, "")]


def test_a_registration_refused_by_the_cluster_is_retried_with_growing_pauses():
    world = World()
    world.refusals.extend(["no"] * 3)
    world.plugins.add(NAME, NodeInfo("n"))
    world.run(0.4)
    assert world.plugins.told == [(NAME, "no")]
    assert world.counted().registered == ()
    assert world.plugins.names() == ()
    world.run(1)
    assert len(world.plugins.told) == 2
    world.run(10)
    assert world.plugins.told == [(NAME, "no")] * 3 + [(NAME, "")]
    assert world.names() == (NAME,)


def test_a_driver_without_a_name_for_the_node_is_none():
    world = World()
    world.plugins.add(NAME, NodeInfo(""))
    world.run(1)
    assert all("nodeID is empty" in error for _, error in world.plugins.told)
    assert world.published() == []


def test_a_driver_whose_socket_goes_while_it_is_asked_is_not_registered(monkeypatch: pytest.MonkeyPatch):
    world = World()
    register = world.plugins.register

    def vanishing(name: str, endpoint: str) -> Any:
        driver = register(name, endpoint)
        world.plugins.remove(name)
        return driver

    monkeypatch.setattr(world.plugins, "register", vanishing)
    world.plugins.add(NAME, NodeInfo("n"))
    world.run(5)
    assert world.plugins.names() == ()
    assert world.plugins.told == []


# (spec 8.1.2)
def test_a_plugin_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch):
    world = World()
    ask, silent = world.plugins.ask, [True, True]

    def sometimes(socket: str) -> Any:
        if silent:
            silent.pop()
            raise PluginError(StatusCode.DEADLINE_EXCEEDED, "no answer", "GetInfo")
        return ask(socket)

    monkeypatch.setattr(world.plugins, "ask", sometimes)
    world.plugins.add(NAME, NodeInfo("n"))
    world.run(1)
    assert world.published() == []
    world.run(2)
    assert world.published() == ["n"]


def test_a_watch_that_tells_nothing_is_made_up_for_by_a_look_now_and_then():
    world = World()
    world.plugins.watches.clear()
    world.plugins.add(NAME, NodeInfo("n"))
    world.run(28)
    assert world.published() == []
    world.run(3)
    assert world.published() == ["n"]


# (spec 8.8.13)
def test_how_many_volumes_a_driver_takes_is_asked_again_on_demand():
    world = World()
    world.plugins.add(NAME, NodeInfo("n", 3))
    world.run(1)
    driver = world.plugins.find(NAME)
    assert driver is not None
    driver.node_info = NodeInfo("n", 2)
    world.watcher.tell(AskDriverAgain(NAME))
    world.run(1)
    counts = [each.info.max_volumes for each in world.heard if isinstance(each, PublishDriver)]
    assert counts == [3, 2]
    assert world.plugins.told == [(NAME, "")], "the plugin itself has nothing to hear"
