"""Calls of lanes that end when the test lets them, on both dispatchers."""

from __future__ import annotations

import threading
from typing import Any

from actors.kernel import KeyReport, LaneReport, Promise
from tests.actors.kernel.drivers import Driver, SimulatedDriver


class Gates:
    """Calls that end when the test lets them: on threads they block, in simulation they give a promise."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.begun: list[str] = []
        self._gates: dict[str, Any] = {}

    def call(self, name: str) -> Any:
        if isinstance(self.driver, SimulatedDriver):
            promise: Promise[str] = Promise()
            self._gates[name] = promise
            self.begun.append(name)
            return promise
        gate = self._gates[name] = threading.Event()
        self.begun.append(name)
        assert gate.wait(60), "the test forgot to open the gate"
        return name

    def open(self, name: str) -> None:
        gate = self._gates[name]
        if isinstance(gate, Promise):
            gate.set_result(name)
        else:
            gate.set()

    def open_all(self) -> None:
        for name in list(self._gates):
            self.open(name)


def report_of(driver: Driver, name: str = "lane") -> LaneReport:
    return next(report for report in driver.dispatcher.lanes() if report.name == name)


def key_of(driver: Driver, key: str, name: str = "lane") -> KeyReport:
    """What the report says of this key."""
    return next(each for each in report_of(driver, name).keys if each.key == key)
