"""Random pods on random machines: the owner of the book keeps what its rules promise.

200 nodes by default. `ACTORLET_SHARE_NODES=1000` plays as many as issue 46 asks for.
"""

from __future__ import annotations

import os
import random

import pytest

from actors.messages.admission import AllocationReleased
from actors.messages.shares import ListShares, NodeShares
from actors.model.shares import NO_SHARES, exclusive_cpus
from tests.actors.resources.test_share_keeper import ShareScene
from tests.actors.resources.test_what_if import admitted, random_pod, random_scene

NODES = int(os.environ.get("ACTORLET_SHARE_NODES", "200"))
PER_TEST = 50
PODS = 20


def shares(scene: ShareScene) -> NodeShares:
    answer = scene.manager.ask(ListShares(), block=False)
    scene.dispatcher.run_for(10**7)
    found = answer.get(timeout=0)
    assert isinstance(found, NodeShares)
    return found


def nothing_is_given_twice(node: NodeShares) -> None:
    taken = [cpu for pod in node.book.values() for cpu in exclusive_cpus(pod)]
    assert len(taken) == len(set(taken))
    assert set(taken) <= node.allocatable.cpus
    assert node.pool.isdisjoint(taken)
    assert node.book.keys() <= node.admitted


@pytest.mark.parametrize("first", range(0, max(NODES, PER_TEST), PER_TEST))
def test_nothing_is_given_twice_and_all_comes_back(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        chance = random.Random(seed)
        scene = random_scene(chance, devices=False)
        here: list[str] = []
        before = shares(scene)
        for number in range(PODS):
            if here and chance.random() < 0.3:
                scene.tell(AllocationReleased(here.pop(chance.randrange(len(here)))))
            uid = f"p{number}"
            if not isinstance(admitted(scene, random_pod(chance, uid, devices=False)), str):
                here.append(uid)
            nothing_is_given_twice(shares(scene))
        everyone = [f"p{number}" for number in range(PODS)]  # a critical pod may have waited for its victims
        chance.shuffle(everyone)
        for uid in everyone:
            scene.tell(AllocationReleased(uid))
        assert shares(scene) == before, seed
        assert before.book == NO_SHARES
