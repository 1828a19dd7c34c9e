"""The agent is killed at any moment of a resize.

No allocation is lost, given twice, or left half done.
"""

from __future__ import annotations

from random import Random
from typing import Any

from actors.model.allocation import actuated_in, book_in
from actors.model.kubelet_records import resources_in
from runtime.cri.messages import ContainerState
from runtime.state.allocation_file import ACTUATED_NAME, NAME
from simulation.node.simulated_node import ROOT
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_resize import (
    BIG,
    RESTARTS,
    SMALL,
    cgroup,
    cluster,
    conditions,
    resize,
    resized_to,
    running,
)
from tests.simulation.node.worlds import MS, SECOND, container

KILLS = 12
"""For each seed: at so many awaits of the resizes, each with one of the next life."""
STRICT: dict[str, Any] = {"resizePolicy": RESTARTS}
PODS: dict[str, dict[str, Any]] = {"plain": {}, "strict": STRICT, "shrinks": {}, "strict-shrinks": STRICT}
BEFORE = {"plain": SMALL, "strict": SMALL, "shrinks": BIG, "strict-shrinks": BIG}
AFTER = {"plain": BIG, "strict": BIG, "shrinks": SMALL, "strict-shrinks": SMALL}
TOLD, WRITTEN = "after UpdatePodSandboxResources", "before CgroupOperations.resize"
"""Between these two the runtime has heard of a pod's new cgroup, and the cgroup is as before."""


class Play:
    """Four pods that run; then all are resized at once. The agent dies at the given awaits after that."""

    def __init__(self, seed: int, *kills: int) -> None:
        self.world: Cluster = cluster(seed=seed)
        self._kills = kills
        self.awaits: list[str] = []
        for name, fields in PODS.items():
            self.world.create(name, containers=[container(resources=BEFORE[name], **fields)])
        self.world.until(lambda: self.world.all_are("Running", len(PODS)))
        self.world.run(5 * SECOND)
        self.first = {each.id for each in self.world.node.containers()}
        self.world.node.tell_each_moment(self._come)
        for name, wanted in AFTER.items():
            resize(self.world, wanted, name)

    def _come(self, what: str) -> None:
        self.awaits.append(what)
        if len(self.awaits) in self._kills:
            self.world.node.kill()

    def run_until_killed(self, at: int) -> None:
        """Until the await of that number, or for half a minute."""
        began = self.world.dispatcher.now_ns()
        while len(self.awaits) < at and self.world.dispatcher.now_ns() - began < 30 * SECOND:
            self.world.run(10 * MS)
        self.world.run(SECOND)  # what the runtime had been asked, it finishes
        self.assert_nothing_is_lost()

    def assert_nothing_is_lost(self) -> None:
        """On disk each pod has one allocation, and it is the old one or the new one."""
        book = book_in(self._read(NAME))
        uids = {pod["metadata"]["uid"]: name for name, pod in self.world.pods().items()}
        assert sorted(uids[each.uid] for each in book.allocations) == sorted(PODS)
        for uid, record in book.records.items():
            assert app_in(record) in (BEFORE[uids[uid]], AFTER[uids[uid]])

    def assert_all_is_done(self, when: str) -> None:
        """Desired, allocated, actuated, runtime and cgroup agree.

        Only containers that must restart have restarted, once."""
        world, pods = self.world, self.world.pods()
        allocated, actuated = book_in(self._read(NAME)).records, actuated_in(self._read(ACTUATED_NAME))
        for name, wanted in AFTER.items():
            assert resized_to(world, wanted, name), (when, name, conditions(world, name))
            uid = pods[name]["metadata"]["uid"]
            assert app_in(allocated[uid]) == app_in(actuated[uid]) == wanted, (when, name)
            big = wanted == BIG
            limits = cgroup(world, pods[name])
            numbers = (512, 2**27) if big else (102, 2**26)
            assert (limits.cpu_shares, limits.memory_bytes) == numbers, (when, name)
            assert self._told_of_sandbox(uid) == numbers, (when, name)
            restarts = pods[name]["status"]["containerStatuses"][0]["restartCount"]
            assert restarts == (1 if PODS[name] is STRICT else 0), (when, name)
        running = [each for each in world.node.containers() if each.state is ContainerState.CONTAINER_RUNNING]
        assert len(running) == len(PODS), when
        untouched = self.first & {each.id for each in running}
        assert len(untouched) == sum(each is not STRICT for each in PODS.values()), when
        for each in running:
            assert each.resources is not None
            assert each.resources.cpu_shares in (102, 512), when

    def _told_of_sandbox(self, uid: str) -> tuple[int, int]:
        """What the runtime was told last of the whole pod."""
        (record,) = (each for each in self.world.node.cri.state.sandboxes.values() if each.pod_uid == uid)
        assert record.config.linux is not None
        told = record.config.linux.resources
        assert told is not None
        return told.cpu_shares, told.memory_limit_in_bytes

    def _read(self, name: str) -> bytes:
        return self.world.node.host.tree.read(f"{ROOT}/{name}")


def app_in(record: bytes) -> dict[str, Any]:
    """The resources of the container of a record."""
    found = resources_in(record).containers["app"]
    return {"requests": dict(found.requests), "limits": dict(found.limits)}


def awaits_of(seed: int) -> list[str]:
    """Every await of the agent until all resizes are done, undisturbed."""
    play = Play(seed)
    play.world.until(lambda: all(resized_to(play.world, wanted, name) for name, wanted in AFTER.items()))
    awaits = list(play.awaits)
    play.world.run(10 * SECOND)
    play.assert_all_is_done("undisturbed")
    return awaits


def between(awaits: list[str]) -> list[int]:
    """Numbers of the awaits between the runtime's word on a pod and the next write of a cgroup."""
    found: list[int] = []
    told = False
    for number, what in enumerate(awaits, 1):
        told = what == TOLD or (told and what != WRITTEN)
        if told or (what == WRITTEN and found[-1:] == [number - 1]):
            found.append(number)
    return found


def test_an_agent_that_died_before_an_update_goes_on_though_the_pod_may_not_have_less_than_its_container() -> None:
    """With cgroup v1. Nobody knows whether the container has the old limit or the new one."""
    world = cluster()
    pod = running(world, resources=BIG)
    world.node.cgroups.like_v1 = True
    updates: list[str] = []

    def kill_once(what: str) -> None:
        if what == "before UpdateContainerResources" and not updates:
            updates.append(what)
            world.node.kill()

    world.node.tell_each_moment(kill_once)
    resize(world, SMALL)
    world.run(5 * SECOND)
    (record,) = world.node.containers()
    assert updates
    assert record.resources is not None
    assert record.resources.cpu_quota == 200_000
    world.node.restart_agent()
    world.until(lambda: resized_to(world, SMALL), 60 * SECOND)
    assert cgroup(world, pod).cpu_quota_us == record.resources.cpu_quota == 100_000


@over_seeds(2)
def test_an_agent_that_is_killed_at_any_await_of_a_resize_finishes_it(seed: int) -> None:
    chance = Random(seed)
    awaits = awaits_of(seed)
    anywhere = chance.sample(range(1, len(awaits) + 1), KILLS - 1)
    for first in (*anywhere, chance.choice(between(awaits))):
        second = first + chance.randint(1, len(awaits))  # in the next life, or never
        play = Play(seed, first, second)
        for at in (first, second):
            play.run_until_killed(at)
            play.world.node.restart_agent()
        play.world.run(60 * SECOND)
        play.assert_all_is_done(f"killed at awaits {first} and {second}")
