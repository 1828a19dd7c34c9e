"""Write `kubelet-1.36-images.json`: how the cases of private images come out under a kubelet.

Run as root, with its path: `ACTORLET_TEST_KUBELET=... python -m tests.real.record_private_images`.
"""

from __future__ import annotations

import json
from contextlib import closing

from tests.real import images
from tests.real.agent import Agent
from tests.real.change_of_agents import PROGRAM, Kubelet
from tests.real.cluster import cluster_for
from tests.real.containerd import Containerd
from tests.real.private_image_cases import CASES
from tests.real.private_images import RECORDED, Play, comparable
from tests.real.registry import Registry


def main() -> None:
    assert PROGRAM, "ACTORLET_TEST_KUBELET names no kubelet"
    private = Containerd()
    try:
        private.start()
        private.load([images.build(recipe) for recipe in images.RECIPES])
        place = Agent(private.directory / "agent", private.endpoint)
        kubelet = Kubelet(place.directory, private.endpoint)
        registry = Registry(private.directory / "registry", private=True)
        try:
            with cluster_for(place) as cluster, closing(Play(private, registry, cluster, lambda _: kubelet)) as play:
                came = play.all_lives([case for case in CASES if not case.slow], place)
        finally:
            kubelet.take_down()
            registry.stop()
        RECORDED.write_text(json.dumps(comparable(came), indent=1, sort_keys=True) + "\n")
    finally:
        private.stop()


if __name__ == "__main__":
    main()
