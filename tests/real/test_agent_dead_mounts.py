"""Three volumes that hang for ever cost their own pods only (pain 4).

The servers of the mounts really do not answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.real.agent import Agent
from tests.real.dead_mount import DeadMount
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until

OTHERS = 100
AT_A_TIME = 10
DEAD = 3
SLOWER = 10.0
"""Two cores are shared with whatever else runs; a mount that held up others would cost minutes."""
VOLUMES: list[dict[str, Any]] = [
    {"name": "own", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory"}},
    {"name": "down", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
]


@pytest.fixture
def dead_mounts(tmp_path: Path) -> Iterator[list[DeadMount]]:
    made = [DeadMount(tmp_path / f"dead-{number}") for number in range(DEAD)]
    yield made
    for each in made:
        each.take_down()


def with_volumes(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    volumes = [*VOLUMES, *more]
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    return pod(name, container(volumeMounts=mounts), volumes=volumes)


def starts_and_ends(agent: Agent, prefix: str, count: int) -> list[float]:
    """How many seconds each ten of these pods took to come and go."""
    took: list[float] = []
    for first in range(0, count, AT_A_TIME):
        began = time.monotonic()
        names = [f"{prefix}-{number}" for number in range(first, min(first + AT_A_TIME, count))]
        files = [agent.drop(f"{name}.json", with_volumes(name)) for name in names]
        agent.await_running(*names)
        places = [agent.pod_directory(agent.pod(name).metadata.uid) for name in names]
        for file in files:
            file.unlink()
        until(lambda: not any(place.exists() for place in places), 60, f"directories stay: {places}")  # noqa: B023
        took.append(time.monotonic() - began)
    return took


def test_pods_beside_dead_mounts_start_and_stop_at_their_normal_speed(
    agent: Agent, truth: Truth, dead_mounts: list[DeadMount]
) -> None:
    agent.start()
    free_s = max(starts_and_ends(agent, "free", 3 * AT_A_TIME))
    for number, mount in enumerate(dead_mounts):
        share = {"name": "share", "hostPath": {"path": str(mount.path), "type": "Directory"}}
        agent.drop(f"dead-{number}.json", with_volumes(f"dead-{number}", share))
    beside_s = median(starts_and_ends(agent, "beside", OTHERS))
    assert beside_s <= free_s * SLOWER, f"{beside_s:.2f} s for ten pods, without dead mounts {free_s:.2f} s"
    for number in range(DEAD):
        assert agent.status(f"dead-{number}").phase == "Pending"
    assert not [life for life in truth.lives() if life.running]

    assert agent.terminate() == 0, "and the agent ends cleanly"
    agent.start()
    agent.drop("later.json", with_volumes("later"))
    agent.await_running("later")
    for mount in dead_mounts:
        mount.heal()
    agent.await_that(
        lambda: any(
            "hostPath type check failed" in each.event.message or "not connected" in each.event.message
            for each in agent.events()
        ),
        "it is not said what is wrong with the mounts",
    )


def test_a_pod_whose_own_mount_is_dead_goes_with_its_directory(agent: Agent, truth: Truth) -> None:
    file = agent.drop("web.json", with_volumes("web"))
    agent.drop("stays.json", with_volumes("stays"))
    agent.start()
    agent.await_running("web", "stays")
    uid = agent.pod("web").metadata.uid
    stays = truth.running("stays").key
    mount = DeadMount(agent.pod_directory(uid) / "volumes" / "kubernetes.io~empty-dir" / "own")
    try:
        file.unlink()
        agent.await_that(lambda: uid not in listed(agent), "its directory stays")
        assert truth.running("stays").key == stays
    finally:
        mount.take_down()


def listed(agent: Agent) -> set[str]:
    """The pods that have a directory, found without a look into any."""
    return {each.name for each in (agent.root / "pods").iterdir()}
