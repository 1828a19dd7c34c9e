"""A machine with systemd-logind goes down: pods end by priority, critical ones last.

The machine waits for them.

A shutdown that fails (`poweroff.target` was masked in the meantime) is called off by logind, and the node goes on.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.conftest import KIND
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import machine
from tests.machine.root import Root
from tests.machine.whole_node import await_well, put_inside
from tests.machine.witness import Witness

CRITICAL, NODE_CRITICAL = 2_000_000_000, 2_000_001_000
GROUP_S = 20
GROUPS = {
    "shutdownGracePeriodByPodPriority": [
        {"priority": priority, "shutdownGracePeriodSeconds": GROUP_S} for priority in (0, 1000, CRITICAL, NODE_CRITICAL)
    ]
}
PRIORITIES = {"low": 0, "high": 1000, "critical": CRITICAL, "last": NODE_CRITICAL}
DELAY_S = GROUP_S * len(PRIORITIES)
_DELAY = (
    "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
    "InhibitDelayMaxUSec"
)


@pytest.mark.parametrize("kind_of_agent", [AgentAlone, KubeletAlone])
def test_pods_end_by_priority_and_critical_ones_last(
    roots: Callable[[str], Root], kind_of_agent: type[AgentAlone]
) -> None:
    if kind_of_agent is KubeletAlone and not PROGRAM:
        pytest.skip("ACTORLET_TEST_KUBELET names no kubelet to compare with")
    with machine(roots(KIND), memory="2G", disk="4G", swap=None) as one:
        put_inside(one)
        witness, agent = Witness(one), kind_of_agent(one)
        agent.begin(**GROUPS)
        pods = [
            # Each takes longer than those that end after it: alone its place decides.
            witness.pod(name, after_s=4 - place, priority=priority, terminationGracePeriodSeconds=60)
            for place, (name, priority) in enumerate(PRIORITIES.items())
        ]
        deaf = witness.pod("deaf", deaf=True, priority=0, terminationGracePeriodSeconds=600)
        agent.drop(*pods, deaf)
        await_well(agent)

        locks = one.run("systemd-inhibit --list --no-legend --no-pager")
        ours = [line for line in locks.splitlines() if agent.unit in line]
        assert len(ours) == 1, locks
        assert "shutdown" in ours[0], locks
        assert ours[0].rstrip().endswith("delay"), locks
        delay_s = int(one.run(_DELAY).split()[1]) / 1e6
        assert delay_s >= DELAY_S, "logind waits for as long as the groups take"

        one.power_off()
        print(f"{agent.unit}: ended in the order {witness.said('ends')}")
        assert witness.said("ends") == list(PRIORITIES)
        one.boot()
        after = await_well(agent)
        assert after.twice == {}
        assert sorted(witness.said("begins")) == sorted([*PRIORITIES, "deaf"] * 2), "each began once in each boot"


def test_a_shutdown_that_fails_is_called_off_and_the_node_goes_on(roots: Callable[[str], Root]) -> None:
    with machine(roots(KIND), memory="2G", disk="4G", swap=None) as one:
        put_inside(one)
        witness, agent = Witness(one), AgentAlone(one)
        agent.begin(**GROUPS)
        agent.drop(witness.pod("low", after_s=8, terminationGracePeriodSeconds=60))
        await_well(agent)

        one.run("systemctl poweroff --no-block")
        one.until("journalctl -b -u actorlet | grep -q 'the machine goes down'", "the agent hears of it", limit_s=600)
        one.run("systemctl mask --runtime poweroff.target")
        one.until(
            "journalctl -b -u systemd-logind | grep -qi 'error during inhibitor-delayed operation'",
            "it fails",
            limit_s=600,
        )
        assert one.alive
        assert witness.said("ends") == ["low"], "who was told to end ends"
        one.until(
            "systemd-inhibit --list --no-legend --no-pager | grep -q actorlet", "it is held up again", limit_s=600
        )
        agent.drop(witness.pod("next"))
        one.until("grep -q 'next begins' /host/witness/log", "a pod that comes now runs", limit_s=600)

        one.run("systemctl unmask --runtime poweroff.target")
        one.power_off()
        assert witness.said("ends") == ["low", "next"]
        one.boot()
        await_well(agent)
        assert (witness.said("begins").count("low"), witness.said("begins").count("next")) == (2, 2)
