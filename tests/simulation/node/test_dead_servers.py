"""Servers of volumes that do not answer, and the pods beside theirs, in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pytest

from actors.kernel.lanes import PATIENCE_NS
from actors.volumes.calls import LANE_SIZE
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container

DEAD = 10
OTHERS = 5
SLOWER = 1.2
MOUNTED, UNMOUNTED, PARTS = "MeasuredVolumes.prepare", "MeasuredVolumes.release", "SimulatedSubPaths.prepare"
CONFIG = {"name": "data", "configMap": {"name": "settings"}}
LOCAL = [
    CONFIG,
    {"name": "data", "emptyDir": {}},
    {"name": "data", "hostPath": {"path": "/srv"}},
    {"name": "data", "downwardAPI": {"items": [{"path": "below", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"name": "data", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
]
LIVING_SERVER = {"name": "data", "nfs": {"server": "alive", "path": "/"}}


def server(number: int) -> dict[str, Any]:
    return {"name": "data", "nfs": {"server": f"dead-{number}", "path": "/"}}


def using(volume: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod that mounts a part of a volume."""
    mount = {"name": "data", "mountPath": "/data", "subPath": "below"}
    return {"containers": [container(volumeMounts=[mount])], "volumes": [volume]}


class Servers(Cluster):
    """A node whose calls of one name hang, for the pods of dead servers."""

    def __init__(self) -> None:
        super().__init__(starts_at_once=0)
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"below": "x"}}
        self.ask("POST", "/api/v1/namespaces/default/configmaps", settings)
        self.run(5 * SECOND)
        self.hung = Counter[str]()
        self._uids: list[str] = []

    def pods_of_dead_servers(self, count: int) -> None:
        made = [self.create(f"dead-{number}", **using(server(number))) for number in range(count)]
        self._uids = [pod["metadata"]["uid"] for pod in made]

    def let_hang(self, what: str) -> None:
        def hangs(name: str, key: Hashable) -> bool:
            is_meant = name == what and any(uid in str(key) for uid in self._uids)
            self.hung[name] += is_meant
            return is_meant

        self.node.agent.hangs = hangs

    def others_run_after(self, volume: dict[str, Any]) -> int:
        """When five more pods run, each with such a volume."""
        for number in range(OTHERS):
            self.create(f"web-{number}", **using(volume))
        return self.until(self._others_run, step_ns=MS)

    def others_end_after(self) -> int:
        for number in range(OTHERS):
            self.delete(f"web-{number}")
        return self.until(lambda: not any(name.startswith("web-") for name in self.pods()), step_ns=MS)

    def _others_run(self) -> bool:
        phases = self.phases()
        return all(phases[f"web-{number}"] == "Running" for number in range(OTHERS))


def start_and_end(volume: dict[str, Any], hangs: str = "", dead: int = DEAD) -> tuple[int, int]:
    """How long others take to start and to end, beside pods of dead servers that came first."""
    cluster = Servers()
    if hangs != UNMOUNTED:
        cluster.let_hang(hangs)
    cluster.pods_of_dead_servers(dead)
    if hangs == UNMOUNTED:
        cluster.until(lambda: cluster.all_are("Running", dead))
        cluster.let_hang(hangs)
        for number in range(dead):
            cluster.delete(f"dead-{number}")
        cluster.until(lambda: cluster.hung[hangs] > 0, step_ns=MS)
    took = cluster.others_run_after(volume), cluster.others_end_after()
    assert cluster.hung[hangs] >= (min(dead, LANE_SIZE) if hangs else 0)
    return took


@pytest.mark.parametrize("hangs", [MOUNTED, UNMOUNTED, PARTS])
@pytest.mark.parametrize("volume", LOCAL, ids=lambda volume: next(reversed(volume)))
def test_ten_dead_servers_hold_up_no_pod_with_volumes_of_the_machine(volume: dict[str, Any], hangs: str):
    free, beside = start_and_end(volume), start_and_end(volume, hangs)
    for without, took in zip(free, beside, strict=True):
        assert took <= SLOWER * without


@pytest.mark.parametrize("hangs", [MOUNTED, UNMOUNTED, PARTS])
@pytest.mark.parametrize(("dead", "held_up"), [(LANE_SIZE - 1, 0), (LANE_SIZE, 1), (DEAD, DEAD // LANE_SIZE)])
def test_dead_servers_hold_up_other_servers_once_for_each_time_they_fill_the_lane(dead: int, held_up: int, hangs: str):
    free, beside = start_and_end(LIVING_SERVER), start_and_end(LIVING_SERVER, hangs, dead)
    assert sum(beside) <= SLOWER * sum(free) + held_up * PATIENCE_NS
