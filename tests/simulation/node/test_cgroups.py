"""Cgroups of a whole node in virtual time (spec 7.1, 10.2 to 10.7).

The kernel here kills the processes of a removed cgroup.
"""

from __future__ import annotations

import random
from typing import Any

from config.kubelet import KubeletConfiguration
from simulation.cri.state import SandboxRecord
from simulation.host.facts import MAX_PODS
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_eviction import MEMORY, MINUTE, asking, evicted
from tests.simulation.node.worlds import SECOND, World, container, manifest

BURSTABLE = [container(resources={"requests": {"cpu": "100m"}})]
TRUSTED = ("FailedNodeAllocatableEnforcement", "FailedCreatePodContainer")


def parents(world: World) -> dict[str, str]:
    """UID of each sandbox that is there -> the cgroup that it was made in."""
    found: dict[str, str] = {}
    for sandbox in world.cri.state.sandboxes.values():
        found[sandbox.pod_uid] = sandbox.config.linux.cgroup_parent if sandbox.config.linux is not None else ""
    return found


def told(world: World) -> list[str]:
    return [each.event.reason for each in world.node.node.events() if each.event.reason in TRUSTED]


def test_every_pod_is_in_its_cgroup_and_a_new_agent_changes_nothing() -> None:
    pods = {"some": manifest("some", BURSTABLE), "free": manifest("free")}
    world = World(pods).start()
    world.until(lambda: len(world.running()) == 2)
    world.run(5 * SECOND)
    there = world.node.cgroups.pods()
    assert parents(world) == there
    assert sorted(path.rpartition("/")[0] for path in there.values()) == ["/kubepods/besteffort", "/kubepods/burstable"]
    made = set(world.made)
    world.node.restart_agent()
    world.run(2 * MINUTE)
    assert world.node.cgroups.pods() == there
    assert set(world.made) == made
    world.node.remove_manifest("some")
    world.until(lambda: len(world.running()) == 1)
    world.run(5 * SECOND)
    assert list(world.node.cgroups.pods().values()) == [each for each in there.values() if "besteffort" in each]
    assert told(world) == []


# (spec 2.7.4)
def test_a_pod_that_was_begun_without_a_cgroup_gets_one_with_its_next_sandbox() -> None:
    world = World({"web": manifest("web")})
    world.node.cgroups.broken = "Permission denied"
    world.start()
    world.until(lambda: len(world.running()) == 1)
    world.run(5 * SECOND)
    assert list(parents(world).values()) == [""]
    assert told(world) == ["FailedNodeAllocatableEnforcement"]
    world.node.cgroups.broken = ""
    world.run(2 * MINUTE)
    assert len(world.made) == 1, "what runs is left alone"
    [sandbox] = world.cri.state.sandboxes.values()
    world.cri.lose_sandbox(sandbox.id)
    world.until(lambda: len(world.made) == 2 and len(world.running()) == 1)
    newest: SandboxRecord = max(world.cri.state.sandboxes.values(), key=lambda each: each.created_at)
    assert newest.config.linux is not None
    assert newest.config.linux.cgroup_parent == world.node.cgroups.pods()[newest.pod_uid]


def test_7_1_pods_that_use_more_than_they_may_together_go_though_the_machine_has_enough() -> None:
    configuration = KubeletConfiguration(
        max_pods=MAX_PODS, eviction_hard={"memory.available": "1Gi"}, system_reserved={"memory": "10Gi"}
    )
    world = Cluster(1, configuration=configuration)
    world.create("modest", annotations={MEMORY: "1Gi"}, containers=asking("1Gi"))
    world.create("greedy", annotations={MEMORY: "3Gi"}, containers=asking("1Gi"))
    world.until(lambda: world.all_are("Running", 2))
    world.run(MINUTE)
    assert evicted(world) == [], "2 Gi of 6 are left"
    world.create("late", annotations={MEMORY: "1500Mi"}, containers=asking("1Gi"))
    world.until(lambda: evicted(world) == ["greedy"], MINUTE)


@over_seeds(4)
def test_pods_that_come_and_go_and_agents_that_die_leave_just_the_cgroups_of_those_that_are_there(seed: int) -> None:
    """A cgroup that went under a pod would end it, and be seen as a second life of its container."""
    chance = random.Random(seed)
    world = World(seed=seed).start()
    wanted: set[str] = set()
    for _ in range(30):
        name = f"p{chance.randrange(8)}"
        if name in wanted:
            world.node.remove_manifest(name)
        else:
            world.node.put_manifest(name, manifest(name, chance.choice(((), BURSTABLE)), uid=f"uid-{name}"))
        wanted ^= {name}
        world.run(chance.randrange(20) * SECOND // 10)
        if chance.random() < 0.2:
            world.node.restart_agent()
    world.run(3 * MINUTE)
    assert len(world.running()) == len(wanted)
    assert set(world.node.cgroups.pods()) == {f"uid-{name}" for name in wanted}
    running: Any = {each.sandbox.pod_uid: each.sandbox.config.linux for each in world.running_records()}
    assert {uid: linux.cgroup_parent for uid, linux in running.items()} == world.node.cgroups.pods()
    exits = {each.exit_code for each in world.made.values() if each.finished_at}
    assert 137 not in exits, "nobody was killed by the removal of a cgroup"
