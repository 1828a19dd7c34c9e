"""What is remembered of a refusal says the same later as `--what-if` did at that moment."""

from __future__ import annotations

import random

import pytest

from actors.messages.admission import AllocationReleased
from actors.resources.refusals import REFUSALS_MAX
from actors.resources.what_if import Refusal, TellRefusal, foresee, who_would_go
from tests.actors.resources.test_share_keeper import ShareScene, pinned
from tests.actors.resources.test_what_if import admitted, known, random_pod, random_scene


def remembered(scene: ShareScene, uid: str) -> Refusal | None:
    answer = scene.manager.ask(TellRefusal(uid), block=False)
    scene.dispatcher.run_for(10**7)
    found = answer.get(timeout=0)
    assert found is None or isinstance(found, Refusal)
    return found


@pytest.mark.parametrize("seed", range(10))
def test_a_refusal_says_later_what_was_foreseen_then(seed: int) -> None:
    chance = random.Random(seed)
    scene = random_scene(chance, devices=False)
    here: list[str] = []
    foreseen = {}
    for number in range(30):
        if here and chance.random() < 0.3:
            scene.tell(AllocationReleased(here.pop(chance.randrange(len(here)))))
        pod = random_pod(chance, f"p{number}", devices=False)
        before = known(scene)
        if isinstance(admitted(scene, pod), str):
            foreseen[pod.metadata.uid] = (pod, foresee(pod, before), who_would_go(pod, before, tries=50))
            scene.tell(AllocationReleased(pod.metadata.uid))
        else:
            here.append(pod.metadata.uid)
    refused = {uid: told for uid, told in foreseen.items() if told[1].refused is not None}
    assert refused
    for uid, (pod, then, go) in refused.items():
        refusal = remembered(scene, uid)
        assert refusal is not None
        assert (foresee(pod, refusal.node), who_would_go(pod, refusal.node, tries=50)) == (then, go)


def test_many_refusals_are_bounded_and_share_what_they_have_in_common() -> None:
    scene = ShareScene()
    scene.ask(pinned("a", "4"))
    for number in range(REFUSALS_MAX + 1):
        scene.ask(pinned(f"r{number}", "7"))
    assert remembered(scene, "r0") is None
    kept = [remembered(scene, f"r{number}") for number in range(1, REFUSALS_MAX + 1)]
    assert all(kept)
    assert len({id(each.node) for each in kept if each is not None}) == 1


def test_nothing_is_remembered_of_a_pod_that_was_taken() -> None:
    scene = ShareScene()
    scene.ask(pinned("a", "4"))
    assert remembered(scene, "a") is None
