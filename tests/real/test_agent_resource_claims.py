"""Claims of devices on containerd, with a driver at its sockets (spec 10.12).

The test is the scheduler that allocates claims. containerd 1.6 does not know CDI devices, so what a container gets of
them is not seen here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.dra_driver.driver import SampleDriver
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.device_claims import DeviceClaims
from tests.real.waiting import until


class Claims(DeviceClaims):
    """Claims of the cluster, and the driver of the node."""

    def __init__(self, cluster: Cluster, agent: Agent) -> None:
        super().__init__(cluster)
        self.cluster = cluster
        self._agent = agent
        self.drivers: list[SampleDriver] = []

    def driver(self, **options: Any) -> SampleDriver:
        """A driver that starts, and is registered."""
        driver = SampleDriver(self._agent.root, **options).start()
        self.drivers.append(driver)
        assert driver.registered.result(60) == ""
        return driver

    def stop(self) -> None:
        for driver in self.drivers:
            driver.stop()


@pytest.fixture
def claims(agent: Agent, cluster: Cluster) -> Iterator[Claims]:
    cluster.join()
    found = Claims(cluster, agent)
    yield found
    found.stop()


def kept(agent: Agent) -> dict[str, set[str]]:
    """Claim -> pods, in the state file."""
    file = agent.root / "dra_manager_state"
    if not file.exists():
        return {}
    found = json.loads(json.loads(file.read_text())["Data"])["ClaimInfoStateList"] or ()
    return {each["ClaimName"]: set(each["PodUIDs"]) for each in found}


# (spec 10.12.1, 10.12.2)
def test_two_pods_share_a_claim_that_a_driver_prepares_and_unprepares_once(agent: Agent, claims: Claims) -> None:
    claims.make("gpu")
    for name in ("one", "two"):
        claims.run(name, "gpu")
    claims.give("gpu", "one", "two")
    agent.await_that(lambda: "is not registered" in agent.told("explain", "one"), "it does not say what it waits for")
    driver = claims.driver()
    claims.cluster.await_phase("Running", "one", "two")
    assert kept(agent) == {"gpu": {claims.uid("one"), claims.uid("two")}}
    claims.cluster.delete("one")
    claims.cluster.await_gone("one")
    assert len(driver.prepared) == 1
    claims.cluster.delete("two")
    claims.cluster.await_gone("two")
    assert [method for method, _ in driver.calls] == ["NodePrepareResources", "NodeUnprepareResources"]
    assert (driver.prepared, kept(agent)) == (set(), {})


def test_a_claim_outlives_an_agent_that_is_killed_and_a_driver_that_is_away(agent: Agent, claims: Claims) -> None:
    driver = claims.driver()
    claims.make("gpu")
    claims.run("one", "gpu")
    claims.give("gpu", "one")
    claims.cluster.await_phase("Running", "one")
    agent.kill()
    driver.stop()
    claims.drivers.remove(driver)
    claims.cluster.join()
    claims.cluster.delete("one")
    claims.cluster.await_gone("one")
    assert kept(agent) == {"gpu": set()}, "it is prepared, and nobody needs it"
    again = claims.driver()
    until(lambda: kept(agent) == {}, 30, "it stays in the book")
    assert [method for method, _ in again.calls] == ["NodeUnprepareResources"]
