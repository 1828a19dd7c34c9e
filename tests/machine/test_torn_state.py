"""State files as ext4 leaves them after a power cut: without content, cut in half, full of zeros.

The agent names each such file in the journal, with the place and what follows. It starts all the same, and no pod
restarts. Two files are exceptions, as in a kubelet: those of CPUs and memory that pods have for themselves. These must
not be given twice, so the agent does not start until somebody removes the file (docs/reference/state-files.md).
"""

from __future__ import annotations

import pytest

from tests.machine.alone import STATE, AgentAlone
from tests.machine.machine import Machine
from tests.machine.whole_node import await_well, put_inside, state_files
from tests.real.pods import container, pod

DAMAGE = {
    "empty": "truncate -s 0 $file",
    "half": "truncate -s $(( $(stat -c %s $file) / 2 )) $file",
    "zeros": "size=$(stat -c %s $file); head -c $size /dev/zero > $file",
}
STOPPING = ("cpu_manager_state", "memory_manager_state")
MORE = {
    "evictions": '{"version":1,"victims":[],"conditions":{}}',
    "graceful_node_shutdown_state": '{"startTime":"2026-11-29T00:00:00Z"}',
}
"""Files that this node has no reason to write."""
NOT_TO_LAST = ("decided-ends", *MORE)
"""A power cut empties these, and nothing is lost."""


@pytest.fixture(scope="module")
def agent(booted: Machine) -> AgentAlone:
    put_inside(booted)
    made = AgentAlone(booted)
    made.begin(shutdownGracePeriod="20s", shutdownGracePeriodCriticalPods="10s")
    volume = {"name": "own", "emptyDir": {}}
    made.drop(pod("web"), pod("data", container(volumeMounts=[{"name": "own", "mountPath": "/own"}]), volumes=[volume]))
    await_well(made)
    return made


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_state_files_are_named_and_stop_nothing(agent: AgentAlone, damage: str) -> None:
    one = agent.machine
    before = await_well(agent)
    one.run(f"systemctl stop actorlet; find {STATE} -name '*.unreadable' -delete")
    for name, content in MORE.items():
        one.put(f"{STATE}/{name}", content)
    files = [path for path in state_files(agent) if path.rpartition("/")[2] not in STOPPING]
    print(damage, files)
    assert any(path.endswith("allocated_pods_state") for path in files), files
    one.run(f"cd {STATE}; for file in {' '.join(files)}; do {DAMAGE[damage]}; done; sync")
    one.run("journalctl --rotate; journalctl --vacuum-time=1s; systemctl start actorlet")
    after = await_well(agent)
    assert after.restarts == before.restarts, "no container restarts"
    said = one.journal("actorlet")
    silent = NOT_TO_LAST if damage == "empty" else ()
    told = [path for path in files if path.rpartition("/")[2] not in silent]
    unnamed = [path for path in told if f"{STATE}/{path.removeprefix('./')}" not in said]
    assert unnamed == [], said[-4000:]


@pytest.mark.parametrize("name", STOPPING)
def test_a_torn_record_of_cpus_or_memory_stops_the_start_with_the_way_out(agent: AgentAlone, name: str) -> None:
    one = agent.machine
    path = f"{STATE}/{name}"
    one.run(f"systemctl stop actorlet; printf '{{\"policyName\":' > {path}; systemctl start --no-block actorlet")
    one.until(f"journalctl -u actorlet -b | grep -q 'delete the .*{path}'", "the journal has the way out", limit_s=600)
    assert "not ready" not in one.run("systemctl is-active actorlet || true")
    one.run(f"rm {path}; systemctl restart actorlet")
    await_well(agent)
