"""The agent is killed at any moment of a pull.

Every image that it brought has a record or an intent (spec 6.4).
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from actors.images.gc_rules import forms
from actors.images.pull_book import PullBook
from actors.model.pull_records import decode_intent, decode_record
from actors.node.numbers import NodeNumbers
from config.values.image_names import short_form
from runtime.state.pull_record_files import DIRECTORY, PULLED, PULLING
from simulation.node.simulated_node import ROOT
from tests.seeds import over_seeds
from tests.simulation.node.worlds import IN_A_CLUSTER, SECOND, World, container, manifest

SLOW = {"image-size": "20Mi", "pull-rate": "10Mi"}
PODS = {
    "a": manifest("a", [container(image="r.test/app:1")], behaviour=SLOW),
    "b": manifest("b", [container(image="r.test/app:1"), container("side", image="r.test/side:1")], behaviour=SLOW),
}
KILLS = 30
"""For each seed: at so many awaits of the first life, each with one of the next life."""


def records(world: World) -> set[str]:
    tree, directory = world.node.host.tree, f"{ROOT}/{DIRECTORY}/{PULLED}"
    return {decode_record(tree.read(f"{directory}/{name}")).image_ref for name in tree.names_if_any(directory)}


def intents(world: World) -> set[str]:
    tree, directory = world.node.host.tree, f"{ROOT}/{DIRECTORY}/{PULLING}"
    return {decode_intent(tree.read(f"{directory}/{name}")) for name in tree.names_if_any(directory)}


def pulled(world: World) -> set[str]:
    return world.node.cri.state.images.keys() - world.node.cri.preloaded


def assert_known(world: World, when: str) -> None:
    """No image without record or intent, at any time."""
    names = set(map(short_form, intents(world)))
    for ref in pulled(world) - records(world):
        assert not forms(world.node.cri.state.images[ref]).isdisjoint(names), f"{when}: nobody knows of {ref}"


def told(world: World, name: str) -> bool:
    """Whether the status of the pod says that it waits for the records."""
    state = world.status(name).state
    waiting = None if state is None else state.waiting
    return waiting is not None and "the records of pulled images cannot be read" in (waiting.message or "")


class Killer:
    """Kills the agent at the given awaits of the node's lives: before a turn of an actor, or amid a call."""

    def __init__(self, world: World, *at: int) -> None:
        self._world = world
        self._at = at
        self.awaits: list[str] = []
        world.node.tell_each_moment(self._come)

    def _come(self, what: str) -> None:
        self.awaits.append(what)
        if len(self.awaits) in self._at:
            self._world.node.kill()


def awaits_of(seed: int) -> list[str]:
    """Every await of the agent until all runs, undisturbed."""
    world = World(PODS, seed=seed)
    killer = Killer(world)
    world.start()
    while len(world.running()) < 3:
        world.step()
        assert_known(world, f"after {len(killer.awaits)} awaits")
    return killer.awaits


@over_seeds(3)
def test_an_agent_that_is_killed_at_any_await_of_a_pull_leaves_no_image_without_record(seed: int) -> None:
    chance = Random(seed)
    awaits = len(awaits_of(seed))
    for first in chance.sample(range(1, awaits + 1), KILLS):
        second = first + chance.randint(1, awaits)  # in the next life, or never
        when = f"killed at awaits {first} and {second}"
        world = World(PODS, seed=seed)
        killer = Killer(world, first, second)
        world.start()
        for at in (first, second):
            while len(killer.awaits) < at and world.seconds() < 60:
                world.step()
            world.run(3 * SECOND)  # what the runtime had been asked, it finishes
            assert_known(world, when)
            world.node.restart_agent()
        world.run(60 * SECOND)
        assert len(world.running()) == 3, when
        assert records(world) == pulled(world), when
        assert intents(world) == set(), when


def test_records_that_hang_let_no_image_be_used_and_no_pod_hang() -> None:
    """Each load hangs. The pod shows that after each try, and starts when the records are loaded."""
    world = World(PODS).start()
    world.run(60 * SECOND)
    before = pulled(world)
    world.node.kill()
    world.node.put_manifest("c", manifest("c", [container(image="r.test/late:1")]))
    directory = f"{ROOT}/{DIRECTORY}"
    world.node.host.tree.hang(directory)
    world.node.restart_agent()
    for _ in range(10):
        world.run(60 * SECOND)
        assert told(world, "c")
    assert any("the records of pulled images cannot be read" in line for line in world.said("c"))
    assert pulled(world) == before
    world.node.host.tree.heal(directory)
    world.run(60 * SECOND)
    assert len(world.running()) == 4
    assert (records(world), intents(world)) == (pulled(world), set())


def test_the_metrics_of_images_are_those_of_a_kubelet() -> None:
    never = manifest("never", [container(image="r.test/none:1", imagePullPolicy="Never")])
    world = World({**PODS, "again": manifest("again", [container(image="r.test/app:1")]), "never": never}).start()
    world.run(9 * SECOND)
    world.node.put_manifest("late", manifest("late", [container(image="r.test/app:1")]))
    world.run(60 * SECOND)
    families = text_string_to_metric_families(NodeNumbers(world.node.node, "1").metrics().decode())
    read: dict[str, list[Any]] = {}
    for sample in (each for family in families for each in family.samples):
        read.setdefault(sample.name, []).append(sample)
    looks = {
        (each.labels["pull_policy"], each.labels["present_locally"], each.labels["pull_required"]): each.value
        for each in read["kubelet_image_manager_ensure_image_requests_total"]
    }
    assert looks.keys() == {
        ("ifnotpresent", "false", "true"),
        ("ifnotpresent", "true", "false"),
        ("never", "false", "unknown"),
    }
    (check,) = read["kubelet_imagemanager_image_mustpull_checks_total"]
    assert check.labels["result"] == "credentialRecordFound"
    assert [each.value for each in read["kubelet_imagemanager_ondisk_pulledrecords"]] == [2]
    assert [each.value for each in read["kubelet_imagemanager_ondisk_pullintents"]] == [0]
    assert [each.value for each in read["kubelet_imagemanager_inmemory_pullintents_usage_percent"]] == [0]


def test_a_new_agent_counts_records_from_its_first_write_on() -> None:
    world = World(PODS).start()
    world.until(world.settled)
    assert numbers(world)["kubelet_imagemanager_ondisk_pulledrecords"] == 2
    world.node.restart_agent()
    world.run(10 * SECOND)
    assert numbers(world)["kubelet_imagemanager_ondisk_pulledrecords"] == 0
    world.node.put_manifest("c", manifest("c", [container(image="r.test/late:1")]))
    world.until(lambda: len(records(world)) == 3)
    assert numbers(world)["kubelet_imagemanager_ondisk_pulledrecords"] == 3


def numbers(world: World) -> dict[str, float]:
    """The metrics without labels."""
    families = text_string_to_metric_families(NodeNumbers(world.node.node, "1").metrics().decode())
    samples = (each for family in families for each in family.samples)
    return {each.name: each.value for each in samples if not each.labels}


def test_an_agent_that_pulls_without_an_intent_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PullBook, "intend", lambda *_: ())
    with pytest.raises(AssertionError, match="nobody knows of"):
        awaits_of(1)


def test_a_record_goes_when_the_agent_removes_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, before a look finds the image missing."""
    monkeypatch.setattr(PullBook, "seen", lambda *_: ())
    config = msgspec.structs.replace(IN_A_CLUSTER, image_minimum_gc_age=0, image_maximum_gc_age=SECOND)
    world = World(PODS, configuration=config).start()
    world.run(60 * SECOND)
    assert len(records(world)) == 2
    for name in PODS:
        world.node.remove_manifest(name)
    world.run(1200 * SECOND)
    assert (pulled(world), records(world)) == (set(), set())
