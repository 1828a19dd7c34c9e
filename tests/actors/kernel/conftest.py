"""One suite for both dispatchers: every test that takes a `driver` runs on each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.actors.kernel.drivers import Driver, PoolDriver, SimulatedDriver
from tests.actors.kernel.gates import Gates


@pytest.fixture(params=["pool", "simulated"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    driver: Driver = PoolDriver() if request.param == "pool" else SimulatedDriver()
    yield driver
    assert driver.system.stop(), [actor for actor in driver.system.report().actors if actor.path]


@pytest.fixture
def gates(driver: Driver) -> Iterator[Gates]:
    gates = Gates(driver)
    yield gates
    gates.open_all()


@pytest.fixture
def simulated() -> Iterator[SimulatedDriver]:
    driver = SimulatedDriver()
    yield driver
    assert driver.system.stop()


@pytest.fixture
def pool() -> Iterator[PoolDriver]:
    driver = PoolDriver()
    yield driver
    assert driver.system.stop()
