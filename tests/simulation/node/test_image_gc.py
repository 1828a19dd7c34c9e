"""Image collection on a whole node (pains 11).

A file system fills, and pods start meanwhile.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from actors.kernel import ActorSystem
from actors.messages.reclaim import ImagesReclaimed, ReclaimImages
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import Image
from runtime.cri.verbs import CREATE_CONTAINER, REMOVE_IMAGE
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri import Settings
from simulation.cri.simulated_cri import DoVerb
from simulation.node.simulated_node import SimulatedNode
from tests.actors.recorders import Recorder
from tests.simulation.node.worlds import IN_A_CLUSTER, SECOND, World, container, manifest

MIB = 2**20
GIB = 2**30
PAUSE = "registry.k8s.io/pause:3.10"
IMAGES = tuple(f"registry.test/image:{number}" for number in range(6))
EAGER = msgspec.structs.replace(
    IN_A_CLUSTER,
    image_minimum_gc_age=0,
    image_gc_high_threshold_percent=1,
    image_gc_low_threshold_percent=0,
)
"""Every pass wants to remove everything."""


class Watched:
    """The runtime, with a record of removals.

    It shows what was removed while a pod was starting, and which pod then had no image.
    """

    def __init__(self, cri: Cri, node: WatchedNode) -> None:
        self._cri = cri
        self._node = node

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        if verb is REMOVE_IMAGE:
            self._node.image_leaves(request.image.image)
        pending = self._cri.call(verb, request, timeout_ns=timeout_ns)
        if verb is CREATE_CONTAINER:
            pending.add_done_callback(self._node.container_was_made)
        return pending

    def stream(self, *args: Any) -> Any:
        return self._cri.stream(*args)


class WatchedNode(SimulatedNode):
    """Notes what is removed, and what must never be."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.removed: list[str] = []
        self.wrong: list[str] = []
        super().__init__(*args, **options)

    def reach(self, cri: Cri) -> Cri:
        return Watched(cri, self)

    def image_leaves(self, id_: str) -> None:
        state = self.cri.state
        image = state.images.get(id_)
        if image is None:
            return
        self.removed.append(name_of(image))
        if image.pinned or PAUSE in image.repo_tags:
            self.wrong.append(f"{name_of(image)} is what sandboxes are made from")
        if any(record.image.id == id_ for record in state.containers.values()):
            self.wrong.append(f"{name_of(image)} is in use")

    def container_was_made(self, pending: Any) -> None:
        error = pending.exception(0)
        if isinstance(error, CriError) and error.code == StatusCode.NOT_FOUND and "image" in error.message:
            self.wrong.append(f"a container has no image: {error.message}")


class WatchedWorld(World):
    """A world around a `WatchedNode`, with somebody who asks for space as the eviction manager does."""

    def __init__(self, manifests: dict[str, str] | None = None, seed: int = 1, **options: Any) -> None:
        super().__init__(manifests, seed, make=WatchedNode, **options)
        assert isinstance(self.node, WatchedNode)
        self.watched: WatchedNode = self.node
        self.asker, self.answers = Recorder.spawn_in(ActorSystem(self.dispatcher), "asker", ImagesReclaimed)

    def reclaim(self) -> None:
        gc = self.node.node.system.find("/node/image-gc")
        assert gc is not None
        gc.tell(ReclaimImages(self.asker))

    def images(self) -> list[str]:
        """The numbers of the images that exist."""
        tags = [tag for image in self.cri.state.images.values() for tag in image.repo_tags]
        return sorted(tag.rpartition(":")[2] for tag in tags if tag in IMAGES)

    def fill(self, percent: int) -> None:
        """So much of the file system is taken, images included."""
        usage = self.node.usage
        wanted = usage.disk_bytes * percent // 100
        usage.used_bytes = 0
        usage.used_bytes = wanted - usage.filesystem("/").used


def name_of(image: Image) -> str:
    return image.repo_tags[0] if image.repo_tags else image.id


def images_of_size(size_bytes: int) -> Settings:
    return Settings(images=IMAGES, image_size_bytes=size_bytes)


def uses(number: int, name: str, **more: Any) -> str:
    return manifest(name, [container(image=IMAGES[number], **more)])


def test_a_file_system_that_fills_loses_images_down_to_the_low_threshold_and_none_in_use() -> None:
    world = WatchedWorld(settings=images_of_size(4 * GIB))
    world.node.usage.disk_bytes = 100 * GIB
    world.node.put_manifest("a.json", uses(0, "a"))
    world.node.put_manifest("b.json", uses(3, "b"))
    world.fill(70)
    world.start()
    world.run(600 * SECOND)
    assert len(world.images()) == 6
    world.fill(86)
    world.run(301 * SECOND)
    assert len(world.watched.removed) == 2
    assert {"0", "3"} < set(world.images())
    whole = world.node.usage.filesystem("/")
    assert 76 < whole.used * 100 // whole.capacity <= 80
    world.fill(95)
    world.run(301 * SECOND)
    assert world.images() == ["0", "3"]
    assert not world.watched.wrong
    said = [each.event.reason for each in world.node.node.events()]
    assert said.count("FreeDiskSpaceFailed") == 1
    assert "ImageGCFailed" not in said
    world.run(301 * SECOND)
    assert "ImageGCFailed" in [each.event.reason for each in world.node.node.events()]
    assert world.settled()


def test_an_agent_that_begins_again_removes_nothing_before_the_age_of_an_image() -> None:
    world = WatchedWorld({"a.json": uses(0, "a")}, settings=images_of_size(4 * GIB))
    world.node.usage.disk_bytes = 100 * GIB
    world.start()
    world.run(200 * SECOND)
    world.fill(90)
    world.node.restart_agent()
    world.run(100 * SECOND)
    assert len(world.images()) == 6
    world.run(301 * SECOND)
    assert 0 < len(world.images()) < 6
    assert not world.watched.wrong


# (spec 6.5.3)
def test_an_image_that_is_mounted_as_a_volume_stays_until_its_pod_has_ended() -> None:
    volume = {"name": "data", "image": {"reference": IMAGES[1], "pullPolicy": "IfNotPresent"}}
    mounts = [{"name": "data", "mountPath": "/data"}]
    text = manifest("a", [container(image=IMAGES[0], volumeMounts=mounts)], volumes=[volume])
    world = WatchedWorld({"a.json": text}, settings=images_of_size(MIB), configuration=EAGER)
    world.start()
    world.until(lambda: world.running() == ["a/app"])
    for _ in range(2):
        world.reclaim()
        world.run(10 * SECOND)
        assert world.images() == ["0", "1"]
        world.node.restart_agent()
        world.run(10 * SECOND)
    world.node.remove_manifest("a.json")
    world.until(lambda: not world.running())
    world.run(60 * SECOND)
    world.reclaim()
    world.run(10 * SECOND)
    assert world.images() == []
    assert not world.watched.wrong


HURRIED = CallFaults(slow=0.5, late=0.3, delay_ns=(SECOND // 1000, SECOND))
"""The runtime does, or answers, a little later whatever it is asked.

By the collection and by the start of a pod.
"""
_OF_COLLECTIONS = ("RemoveImage", "ListImages", "ListContainers", "Status", "ImageFsInfo")
_OF_STARTS = ("ImageStatus", "PullImage", "CreateContainer", "RunPodSandbox", "StartContainer")
PLAN = FaultPlan(dict.fromkeys((*_OF_COLLECTIONS, *_OF_STARTS), HURRIED))


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_pain_11_no_order_of_collections_and_starts_takes_an_image_from_a_pod(first: int) -> None:
    removed = 0
    for seed in range(first, first + 50):
        chance = random.Random(seed)
        world = WatchedWorld(seed=seed, settings=images_of_size(MIB), configuration=EAGER, faults=Faults(PLAN, seed))
        world.start()
        for operation in range(8):
            name = f"p{chance.randrange(4)}"
            if chance.random() < 0.7:
                fields = {"imagePullPolicy": chance.choice(["IfNotPresent", "IfNotPresent", "Always"])}
                names = [container(image=chance.choice(IMAGES), **fields)]
                if chance.random() < 0.3:
                    names.append(container("more", chance.choice(IMAGES), **fields))
                behaviour = {"run-for": chance.choice(["forever", "2s"])}
                world.node.put_manifest(
                    f"{name}.json", manifest(name, names, behaviour=behaviour, uid=f"{name}-{operation}")
                )
            else:
                world.node.remove_manifest(f"{name}.json")
            for _ in range(chance.randrange(3)):
                world.run(chance.randrange(2 * SECOND))
                world.reclaim()
            if chance.random() < 0.08:
                world.node.restart_agent()
        world.run(20 * SECOND)
        assert not world.watched.wrong, f"seed {seed}: {world.watched.wrong}"
        removed += len(world.watched.removed)
    assert removed > 100


def test_a_removal_of_the_agent_before_that_is_done_while_a_container_is_made_costs_one_more_try() -> None:
    """The next agent's lease could not stop it (docs/reference/images.md)."""
    world = World({"web": manifest("web", [container(image=IMAGES[0])])}, settings=images_of_size(MIB))
    image, removed = world.cri.state.image(IMAGES[0]), list[Image]()
    assert image is not None

    def remove_before_it_is_made(name: str, request: Any, do: DoVerb) -> Any:
        if name == CREATE_CONTAINER.name and not removed:
            removed.append(image)
            world.cri.state.drop_image(image)
        return do(name, request)

    world.cri.intercept(remove_before_it_is_made)
    world.start()
    assert world.until(lambda: world.running() == ["web/app"]) < 20 * SECOND
    assert removed == [image]
    assert any("Pulled" in said for said in world.said("web"))
