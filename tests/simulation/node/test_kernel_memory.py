"""A whole node hears its kernel: of OOM kills, and of memory shortage (spec 7.8, 9.8)."""

from __future__ import annotations

from runtime.oom import OomKill
from tests.simulation.node.test_eviction import MEMORY, MIB, asking, cluster, evicted, squeeze
from tests.simulation.node.worlds import SECOND


def test_a_kill_for_the_whole_machine_is_an_event_of_the_node_and_one_in_a_pod_is_not() -> None:
    world = cluster()
    world.run(10 * SECOND)
    world.node.oom_log.kill(OomKill(7, "over", False, "/kubepods/pod1/c", "/kubepods/pod1/c"))
    world.run(10 * SECOND)
    assert "SystemOOM" not in world.events("node")
    world.node.oom_log.kill(OomKill(8, "victim", True, "/kubepods/pod1/c"))
    world.until(lambda: "SystemOOM" in world.events("node"), 10 * SECOND)


# (spec 7.8.1)
def test_a_kernel_memory_notice_causes_an_eviction_at_once() -> None:
    # Looks come every ten seconds; of two moments four seconds apart one at least is far from the next.
    for moment in (2, 6):
        world = cluster(kernel_memcg_notification=True)
        world.create("greedy", annotations={MEMORY: "2Gi"}, containers=asking("1Gi"))
        world.until(lambda world=world: world.all_are("Running", 1))
        world.run((30 + moment) * SECOND)
        squeeze(world, 512 * MIB)
        world.node.memory_notices.run_short()
        world.until(lambda world=world: evicted(world) == ["greedy"], 3 * SECOND)


# (spec 7.8.1)
def test_the_kernel_is_not_asked_unless_that_is_wanted() -> None:
    world = cluster()
    world.run(30 * SECOND)
    assert world.node.memory_notices.marks == ()
