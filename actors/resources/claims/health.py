"""A part of `ResourceClaimsActor`: what drivers say of the health of devices (KEP-4680, spec 10.12).

A driver is followed from its registration on. What it said counts for as long as it said, and no longer than the driver
tells: then nothing is known. A driver that tells nothing is asked again, with growing pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actors.kernel import Actor, Message, SoleMessage, handles
from actors.model.resource_claims import DeviceKey, HealthOfDevices
from config.frozen_map import FrozenMap
from runtime.dra.capability import DEVICES_AT_MOST, DeviceHealth, DraDrivers, WatchingHealth
from runtime.plugins.errors import PluginError

SECOND_NS = 1_000_000_000
FIRST_PAUSE_NS = 5 * SECOND_NS
LONGEST_PAUSE_NS = 60 * SECOND_NS


class HealthSaid(Message, frozen=True):
    """To itself: a driver tells of devices. `life`: counts the times that it was followed."""

    driver: str
    life: int
    devices: tuple[DeviceHealth, ...]


class HealthEnded(Message, frozen=True):
    """To itself: the driver tells no more."""

    driver: str
    life: int


class FollowAgain(Message, frozen=True):
    """To itself: the pause is over."""

    driver: str


class HealthIsOld(SoleMessage, frozen=True):
    """To itself: something that a driver said counts no longer."""


class DriverHealth:
    """See the module. `on_change` gets the devices of which something else is known now."""

    def __init__(self, actor: Actor, drivers: DraDrivers, on_change: Callable[[frozenset[DeviceKey]], None]) -> None:
        self._actor = actor
        self._drivers = drivers
        self._on_change = on_change
        self._following: dict[str, WatchingHealth] = {}
        self._failures: dict[str, int] = {}
        self._said: dict[DeviceKey, tuple[DeviceHealth, int]] = {}
        """With the monotonic time until which it counts."""
        self._life = 0
        self._lives: dict[str, int] = {}

    def of(self, devices: Iterable[DeviceKey]) -> HealthOfDevices:
        """What is known of these devices."""
        return FrozenMap({each: self._said[each][0] for each in sorted(devices) if each in self._said})

    def drivers_here(self, names: frozenset[str]) -> None:
        """Follow these drivers, and no other."""
        for name in sorted(self._lives.keys() - names):
            self._leave(name)
        for name in sorted(names - self._lives.keys()):
            self._follow(name)

    def close(self) -> None:
        """Follow nobody."""
        for name in sorted(self._lives):
            self._leave(name)

    def _follow(self, name: str) -> None:
        self._life += 1
        ref, life = self._actor.ref, self._life
        self._lives[name] = life
        driver = self._drivers.find(name)
        try:
            if driver is not None:
                self._following[name] = driver.watch_health(
                    lambda devices: ref.tell(HealthSaid(name, life, devices)),
                    lambda _: ref.tell(HealthEnded(name, life)),
                )
        except PluginError:
            ref.tell(HealthEnded(name, life))

    def _leave(self, name: str) -> None:
        self._lives.pop(name, None)
        self._failures.pop(name, None)
        self._actor.cancel_timer(("health", name))
        following = self._following.pop(name, None)
        if following is not None:
            following.close()
        self._forget(each for each in list(self._said) if each.driver == name)

    @handles(HealthSaid)
    def said(self, message: HealthSaid) -> None:
        """Work: the devices of one message, and those that are known."""
        if self._lives.get(message.driver) != message.life:
            return
        self._failures.pop(message.driver, None)
        now_ns, changed = self._actor.now_ns(), set[DeviceKey]()
        of_driver = sum(each.driver == message.driver for each in self._said)
        for device in message.devices:
            key = DeviceKey(message.driver, device.pool, device.device)
            before = self._said.get(key)
            if before is None:
                of_driver += 1
                if of_driver > DEVICES_AT_MOST:
                    continue
            if before is None or (before[0].health, before[0].message) != (device.health, device.message):
                changed.add(key)
            self._said[key] = (device, now_ns + device.believed_ns)
        self._look_at_age()
        if changed:
            self._on_change(frozenset(changed))

    @handles(HealthEnded)
    def ended(self, message: HealthEnded) -> None:
        """Work: the devices that are known."""
        name = message.driver
        if self._lives.get(name) != message.life:
            return
        self._following.pop(name, None)
        self._forget(each for each in list(self._said) if each.driver == name)
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        pause_ns = min(FIRST_PAUSE_NS << min(failures - 1, 10), LONGEST_PAUSE_NS)
        self._actor.after(pause_ns, FollowAgain(name), key=("health", name))

    @handles(FollowAgain)
    def follow_again(self, message: FollowAgain) -> None:
        """Work: constant."""
        if message.driver in self._lives:
            self._follow(message.driver)

    @handles(HealthIsOld)
    def is_old(self, _: HealthIsOld) -> None:
        """Work: the devices that are known."""
        now_ns = self._actor.now_ns()
        self._forget(each for each, (_, until_ns) in list(self._said.items()) if until_ns <= now_ns)
        self._look_at_age()

    def _look_at_age(self) -> None:
        until_ns = min((until_ns for _, until_ns in self._said.values()), default=None)
        if until_ns is not None:
            self._actor.after(max(0, until_ns - self._actor.now_ns()), HealthIsOld(), key="health is old")

    def _forget(self, devices: Iterable[DeviceKey]) -> None:
        gone = tuple(devices)
        for each in gone:
            del self._said[each]
        if gone:
            self._on_change(frozenset(gone))
