"""Write `kubelet-1.36.json`: what a kubelet leaves of the pods of `change_of_agents`.

The kubelet is the one at `ACTORLET_TEST_KUBELET`.

Run as root: `ACTORLET_TEST_KUBELET=... python -m tests.real.record_kubelet`.
"""

from __future__ import annotations

import json
from contextlib import closing

from tests.real import images
from tests.real.agent import Agent
from tests.real.change_of_agents import PROGRAM, RECORDED, Kubelet, await_pods, configure, desire, record
from tests.real.cluster import cluster_for
from tests.real.containerd import Containerd
from tests.real.pods import Truth


def main() -> None:
    assert PROGRAM, "ACTORLET_TEST_KUBELET names no kubelet"
    private = Containerd()
    try:
        private.start()
        private.load([images.build(recipe) for recipe in images.RECIPES])
        with closing(private.connect()) as cri:
            agent = Agent(private.directory / "agent", private.endpoint)
            kubelet, truth = Kubelet(agent.directory, private.endpoint), Truth(cri)
            configure(agent)
            with cluster_for(agent) as cluster:
                desire(agent, cluster)
                kubelet.begin("--kubeconfig", cluster.node_kubeconfig)
                try:
                    await_pods(truth, kubelet)
                    kubelet.terminate()
                    left = record(truth, kubelet)
                finally:
                    kubelet.take_down()
            RECORDED.write_text(json.dumps(left, indent=1, sort_keys=True) + "\n")
    finally:
        private.stop()


if __name__ == "__main__":
    main()
