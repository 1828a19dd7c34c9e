"""The power of a machine with a static pod is cut.

Afterwards every state file is readable, and the pod is back once, with one restart.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.conftest import KIND
from tests.machine.machine import machine
from tests.machine.root import Root
from tests.real.pods import pod
from tests.real.waiting import BUSY

READY_S = 60.0
"""The agent is ready a minute after its start, on a machine at rest."""


@pytest.mark.quick
def test_a_pod_comes_back_once_after_the_power_was_cut(roots: Callable[[str], Root]) -> None:
    with machine(roots(KIND), memory="2G", disk="2G", swap=None) as one:
        agent = AgentAlone(one)
        agent.begin()
        agent.drop(pod("web"))
        agent.await_running("web")
        # libcni writes its cached results without fsync. Where one is torn, containerd 1.7 never stops that sandbox
        # again, and the pod waits until somebody removes /var/lib/cni/results.
        one.run("sync")
        one.cut_power()
        one.boot()
        agent.await_running("web")
        assert agent.restarts() == {"web": 1}
        _whole(agent, {"web"})


def _whole(agent: AgentAlone, names: set[str]) -> None:
    """Nothing is lost, doubled, left over or unreadable."""
    assert agent.unreadable_state() == []
    live = agent.live_containers()
    assert live == dict.fromkeys([(name, part) for name in names for part in ("", "main")], 1)
    slices = agent.machine.run("find /sys/fs/cgroup/kubepods.slice -name 'kubepods-*pod*.slice' -type d").split()
    assert len(slices) == len(names), slices
    directories = agent.machine.run("ls /var/lib/kubelet/pods").split()
    assert len(directories) == len(names), directories
    assert agent.seconds_to_ready() < READY_S * BUSY
