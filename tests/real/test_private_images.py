"""The cases of private images come out as they do under a kubelet 1.36.

What came of them under a kubelet is kept in `kubelet-1.36-images.json`. With `ACTORLET_TEST_KUBELET` a real one plays
them too, and each goes on from the state files of the other; `record_private_images` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.real.agent import Agent
from tests.real.change_of_agents import PROGRAM, Kubelet
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.private_image_cases import CASES
from tests.real.private_images import RECORDED, Play, comparable
from tests.real.registry import Registry

QUICK = tuple(case for case in CASES if not case.slow)
KUBELET, OWN = Kubelet, Agent
PAIRS = ((OWN, OWN), *(((KUBELET, OWN), (OWN, KUBELET)) if PROGRAM else ()))
"""Who lives the first life, and who the others."""


@pytest.fixture
def private(containerd: Containerd, agent: Agent) -> Iterator[Registry]:
    serving = Registry(agent.directory / "registry", private=True)
    yield serving
    serving.stop()


@pytest.mark.parametrize(("first", "others"), PAIRS, ids=lambda each: each.__name__.lower())
def test_private_images_come_out_as_under_a_kubelet(
    first: type[Agent],
    others: type[Agent],
    containerd: Containerd,
    agent: Agent,
    private: Registry,
    cluster: Cluster,
) -> None:
    nodes = [kind(agent.directory, agent.endpoint) for kind in (first, others)]
    play = Play(containerd, private, cluster, lambda life: nodes[min(life, 1)])
    try:
        came = comparable(play.all_lives(QUICK, agent))
    finally:
        for each in nodes:
            each.take_down()
        containerd.remove_pods()
        play.close()
    expected = json.loads(RECORDED.read_text())
    for part, wanted in expected.items():
        assert came[part] == wanted, part
