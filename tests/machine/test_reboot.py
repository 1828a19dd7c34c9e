"""A machine reboots: each pod comes back once. A reboot that is called off leaves a node that goes on.

The API server is at the other end of a wire, so it remembers what the machine forgets. `ACTORLET_MACHINE_REBOOT_PODS`
is the number of pods, half of them from manifests (30 are meant; few are the default).
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, condition
from tests.machine.conftest import Linked
from tests.machine.link import OutsideServer
from tests.machine.whole_node import started_once_more
from tests.machine.witness import Witness

PODS = int(os.environ.get("ACTORLET_MACHINE_REBOOT_PODS") or 4)
LIMIT_S = 1800.0
"""User-mode Linux has one CPU, and thirty pods take it minutes. Nothing is judged by it."""
GRACE = {"shutdownGracePeriod": "40s", "shutdownGracePeriodCriticalPods": "10s"}
_GOES_DOWN = "node is shutting down"


@pytest.fixture
def agent(linked: Linked) -> AgentAlone:
    """It has not begun."""
    linked.server.begin()
    return AgentAlone(linked.machine, JOINED)


def await_ready(server: OutsideServer, status: str = "True") -> None:
    server.await_that(lambda: condition(server.node(), "Ready") == status, f"the node's Ready is {status}")


def test_each_pod_comes_back_with_one_restart(linked: Linked, agent: AgentAlone) -> None:
    one, server, witness = linked.machine, linked.server, Witness(linked.machine)
    agent.begin()
    await_ready(server)
    static, joined = ([f"{kind}{number}" for number in range(PODS // 2)] for kind in ("static", "joined"))
    names = [*static, *joined]
    agent.drop(*map(witness.pod, static))
    server.run(*map(witness.pod, joined))
    agent.await_running(*names, limit_s=LIMIT_S)
    before = agent.restarts()

    one.power_off()
    one.boot()
    agent.await_running(*names, limit_s=LIMIT_S)
    took_s = float(one.read("/proc/uptime").split()[0])
    print(f"\n{len(names)} pods run {took_s:.0f} s after the boot")
    started_once_more(agent, before)
    assert Counter(witness.said("begins")) == dict.fromkeys(names, 2)
    assert agent.live_containers() == dict.fromkeys([(name, part) for name in names for part in ("", "main")], 1)
    server.await_running(*joined, *(f"{name}-machine-1" for name in static))
    shown = {name: each["status"]["containerStatuses"][0]["restartCount"] for name, each in server.pods().items()}
    assert {name.removesuffix("-machine-1"): number for name, number in shown.items()} == agent.restarts()


def test_a_node_whose_shutdown_is_called_off_is_ready_again_and_takes_pods(linked: Linked, agent: AgentAlone) -> None:
    one, server, witness = linked.machine, linked.server, Witness(linked.machine)
    agent.begin(**GRACE)
    await_ready(server)
    server.run(witness.pod("ends", after_s=8, terminationGracePeriodSeconds=60))
    server.await_running("ends")

    one.run("systemctl poweroff --no-block")
    await_ready(server, "False")
    [told] = [each for each in server.node()["status"]["conditions"] if each["type"] == "Ready"]
    assert _GOES_DOWN in told["message"], told
    one.run("systemctl mask --runtime poweroff.target")
    await_ready(server)
    assert witness.said() == ["ends begins", "ends ends"]
    ended = server.pod("ends")["status"]
    assert (ended["phase"], ended["reason"]) == ("Failed", "Terminated"), ended
    server.run(witness.pod("next"))
    server.await_running("next")
    locks = one.run("systemd-inhibit --list --no-legend --no-pager")
    assert len([line for line in locks.splitlines() if agent.unit in line]) == 1, locks
    assert witness.said() == ["ends begins", "ends ends", "next begins"]
