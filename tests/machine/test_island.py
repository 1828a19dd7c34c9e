"""An island node on a whole machine.

Its API server is away while the power is cut, and its pods come back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, condition
from tests.machine.conftest import Linked
from tests.machine.link import OutsideServer, Wire
from tests.real.pods import pod

ISLAND = "/etc/kubernetes/island.yaml"
_MEMORY = {"apiVersion": "island.actorlet.dev/v1", "kind": "IslandConfiguration", "maxAge": "1h"}


@dataclass(frozen=True)
class Island:
    """A machine that has joined an API server at the other end of a wire."""

    agent: AgentAlone
    server: OutsideServer
    wire: Wire

    def containers(self) -> dict[str, str]:
        """The id of the container of each pod, as the agent shows it."""
        return {
            name: each["status"]["containerStatuses"][0]["containerID"]
            for name, each in self.agent.pods().items()
            if each["status"].get("containerStatuses")
        }


@pytest.fixture
def island(linked: Linked) -> Island:
    server = linked.server
    server.begin()
    linked.machine.put(ISLAND, json.dumps(_MEMORY))
    agent = AgentAlone(linked.machine, f"{JOINED} --island-config={ISLAND}")
    agent.begin()
    server.await_that(lambda: condition(server.node(), "Ready") == "True", "the node is Ready")
    return Island(agent, server, linked.wire)


def test_pods_come_back_without_the_api_server_and_reunion_restarts_nothing(island: Island) -> None:
    one, agent, server = island.agent.machine, island.agent, island.server
    server.run(pod("web"), pod("goes", terminationGracePeriodSeconds=1))
    server.await_running("web", "goes")
    one.run("sync")  # containerd does not make sure of images
    island.wire.cut()
    one.cut_power()
    server.delete("goes")
    one.boot()
    agent.await_running("goes", "web")
    before = island.containers()
    assert agent.restarts() == {"goes": 1, "web": 1}
    assert "from memory" in one.run("actorlet explain web")
    island.wire.mend()
    server.await_that(lambda: "goes" not in server.pods(), "the deleted pod ends")
    agent.await_running("web")
    server.await_that(
        lambda: server.pod("web")["status"]["containerStatuses"][0]["restartCount"] == 1, "the server hears of it"
    )
    assert island.containers() == {"web": before["web"]}
