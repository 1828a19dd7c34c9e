"""Volumes on a whole node.

Dead ones cost their own pods, many of them cost no threads, and a crash leaves nothing.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from runtime.cri.messages import ContainerState
from simulation.node.simulated_node import SimulatedNode
from tests.actors.kernel.drivers import PoolDriver
from tests.simulation.node.test_crowds import THREADS_MAX, threads_beside_lanes
from tests.simulation.node.worlds import READY_IMAGES, SECOND, World, container, manifest

CROWD = 1_000
IDLE_MINUTES = 10
FIVE: list[dict[str, Any]] = [
    {"name": "disk", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory"}},
    {"name": "host", "hostPath": {"path": "/srv"}},
    {"name": "labels", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"name": "share", "nfs": {"server": "s", "path": "/"}},
]


def with_volumes(name: str, volumes: list[dict[str, Any]], uid: str = "") -> str:
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    return manifest(name, [container(volumeMounts=mounts)], volumes=volumes, uid=uid)


def place_of(uid: str) -> str:
    return f"/var/lib/actorlet/pods/{uid}/volumes"


# (spec 2.7.6)
def test_a_container_starts_only_when_all_its_volumes_are_there():
    world = World({"web": with_volumes("web", FIVE, uid="slow")})
    world.node.host.tree.hang(f"{place_of('slow')}/kubernetes.io~nfs")
    world.start()
    world.run(20 * SECOND)
    assert world.running() == []
    assert world.node.host.tree.exists(f"{place_of('slow')}/kubernetes.io~empty-dir/disk")
    world.node.host.tree.heal(f"{place_of('slow')}/kubernetes.io~nfs")
    world.run(SECOND)
    assert world.running() == ["web/app"]


def test_volumes_of_the_host_or_a_server_keep_their_selinux_labels():
    world = World({"web": with_volumes("web", FIVE)}).start()
    world.until(lambda: world.running() == ["web/app"])
    [made] = world.node.containers()
    relabelled = {mount.container_path for mount in made.config.mounts if mount.selinux_relabel}
    assert relabelled == {"/disk", "/memory", "/labels", "/etc/hosts", "/dev/termination-log"}


def is_running(world: World, container_path: str) -> bool:
    return container_path in world.running()


def has_fewer_volumes(world: World, count: int) -> bool:
    return len(world.node.volumes.list_uids()) < count


def starts_and_ends(*, hung: int) -> tuple[list[float], list[float]]:
    """How long each of a hundred pods takes to run, and to be gone.

    So many pods with a dead volume are beside them.
    """
    world = World({f"dead{number}": with_volumes(f"dead{number}", FIVE, f"dead{number}") for number in range(hung)})
    for number in range(hung):
        world.node.host.tree.hang(f"{place_of(f'dead{number}')}/kubernetes.io~nfs")
    world.start()
    world.run(200 * SECOND)
    starts, ends = list[float](), list[float]()
    for number in range(100):
        name = f"p{number}"
        world.node.put_manifest(name, with_volumes(name, FIVE))
        starts.append(world.until(partial(is_running, world, f"{name}/app")) / SECOND)
        world.node.remove_manifest(name)
        left = 1 if hung == 0 else hung + 1
        ends.append(world.until(partial(has_fewer_volumes, world, left)) / SECOND)
    for number in range(hung):
        assert world.phases()[f"dead{number}"] == "Pending"
        said = [text for text in world.said(f"dead{number}") if "it has not ended within 123 s" in text]
        assert said, "the hung ones say so"
    assert world.node.stop()
    return starts, ends


def test_three_volumes_that_hang_for_ever_cost_their_own_pods_only():
    free, beside = starts_and_ends(hung=0), starts_and_ends(hung=3)
    for without, having in zip(free, beside, strict=True):
        assert sorted(having)[50] <= sorted(without)[50] * 1.2
        assert max(having) <= max(without) * 1.5


def test_a_pod_whose_volume_hangs_can_be_removed_and_an_agent_beside_it_restarts():
    world = World({"dead": with_volumes("dead", FIVE, "dead"), "web": with_volumes("web", FIVE, "web")})
    world.node.host.tree.hang(f"{place_of('dead')}/kubernetes.io~nfs")
    world.start()
    world.run(30 * SECOND)
    [record] = world.running_records()
    world.node.restart_agent()
    world.run(30 * SECOND)
    assert [each.id for each in world.running_records()] == [record.id]
    world.node.remove_manifest("dead")
    world.run(400 * SECOND)
    world.node.host.tree.heal(f"{place_of('dead')}/kubernetes.io~nfs")
    world.run(400 * SECOND)
    assert world.node.volumes.list_uids() == ("web",)
    assert [each.id for each in world.running_records()] == [record.id]


def test_an_agent_killed_at_any_step_of_a_pods_start_and_end_leaves_nothing_of_it_and_no_mount_of_others_is_touched():
    texts = {"stays": with_volumes("stays", FIVE, "stays"), "goes": with_volumes("goes", FIVE, "goes")}
    for step in range(0, 260, 7):
        world = World({"stays": texts["stays"]}, seed=step).start()
        world.run(5 * SECOND)
        [record] = world.running_records()
        kept = set(world.node.volumes.mounted)
        world.node.volumes.before = never_touching("stays")
        world.node.put_manifest("goes", texts["goes"])
        if step % 2:
            world.run(5 * SECOND)
            world.node.remove_manifest("goes")
        for _ in range(step):
            world.step()
        world.node.kill()
        world.node.remove_manifest("goes")
        world.node.restart_agent()
        world.run(200 * SECOND)
        assert world.node.volumes.mounted == kept, f"killed after {step} steps"
        assert world.node.volumes.list_uids() == ("stays",)
        assert [each.id for each in world.running_records()] == [record.id]


def never_touching(uid: str) -> Any:
    def look(operation: str) -> None:
        assert not (operation.startswith(("unmount", "remove")) and f"/{uid}/" in operation), operation

    return look


# --- a crowd ----------------------------------------------------------------------------------------------------------


def node_with(dispatcher: Any, count: int) -> SimulatedNode:
    pods = {f"p{number:04}": with_volumes(f"p{number:04}", FIVE) for number in range(count)}
    return SimulatedNode(dispatcher, manifests=pods, settings=READY_IMAGES)


def running(node: SimulatedNode) -> int:
    return sum(record.state is ContainerState.CONTAINER_RUNNING for record in node.containers())


def test_five_thousand_volumes_are_mounted_without_a_thread_per_pod_and_unmounted():
    driver = PoolDriver(4, stuck_after_ns=10 * SECOND)  # as in production: a busy machine is to replace no worker
    node = node_with(driver.dispatcher, CROWD)
    before, most = threading.active_count(), 0
    node.start()

    def all_run() -> bool:
        nonlocal most
        most = max(most, threads_beside_lanes() - before)
        return running(node) == CROWD

    driver.until(all_run)
    assert len(node.volumes.mounted) == 2 * CROWD
    assert most + 6 <= THREADS_MAX
    assert node.stop()
    driver.dispatcher.close()


@pytest.mark.parametrize("count", [10, 100])
def test_the_idle_cost_of_volumes_does_not_grow_with_their_number(count: int):
    dispatcher = SimulatedDispatcher(1)
    node = node_with(dispatcher, count)
    node.start()
    dispatcher.run_for(60 * SECOND)
    assert running(node) == count
    operations: list[str] = []
    node.volumes.before = operations.append

    def handled() -> int:
        return next(each.handled for each in node.node.report().actors if each.path == "/node/volume-reconciler")

    before = handled()
    dispatcher.run_for(IDLE_MINUTES * 60 * SECOND)
    assert operations == []
    assert handled() - before <= 4 * IDLE_MINUTES, "its own ticks and the word which pods there are, once a minute each"
    assert node.stop()
