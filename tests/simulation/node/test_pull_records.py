"""The agent is killed at any moment of a pull: every image that it brought has a record or an intent (spec 6.4)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from actors.images.gc_rules import forms
from actors.images.pull_book import PullBook
from actors.model.pull_records import decode_intent, decode_record
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
EVERY = 7
"""One moment in so many."""


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


def moments(seed: int) -> Iterator[int]:
    """Steps until all runs."""
    world = World(PODS, seed=seed).start()
    step = 0
    while len(world.running()) < 3:
        world.step()
        assert_known(world, f"step {step}")
        yield step
        step += 1


@over_seeds(3)
def test_an_agent_that_is_killed_in_a_pull_leaves_no_image_without_record(seed: int) -> None:
    for step in list(moments(seed))[seed % EVERY :: EVERY]:
        world = World(PODS, seed=seed).start()
        for _ in range(step):
            world.step()
        world.node.kill()
        world.run(3 * SECOND)  # what the runtime had been asked, it finishes
        assert_known(world, f"killed after {step} steps")
        world.node.restart_agent()
        world.run(60 * SECOND)
        assert len(world.running()) == 3
        assert records(world) == pulled(world), f"killed after {step} steps"
        assert intents(world) == set()


def test_records_that_hang_let_no_image_be_used_and_no_pod_hang() -> None:
    """Each load hangs. The pod is told so again and again, and begins when the records come."""
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


def test_an_agent_that_pulls_without_an_intent_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PullBook, "intend", lambda *_: ())
    with pytest.raises(AssertionError, match="nobody knows of"):
        list(moments(1))


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
