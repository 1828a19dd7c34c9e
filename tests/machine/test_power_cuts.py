"""The power of a machine is cut at random moments, while pods come, change and go.

One machine lives through all cuts. After each, every pod of a manifest runs, and none is alive twice. Nothing is left
of others: no directory, mount, cgroup, log or container (`inside/look.py`). Every state file is readable, and the agent
is ready within a minute of its start.

    ACTORLET_MACHINE_CUTS=50 python -m pytest -n 0 -s tests/machine/test_power_cuts.py

The counts are printed. `ACTORLET_MACHINE_CUTS` is 3 when it is not set; `ACTORLET_MACHINE_SEED` draws other moments.
With `ACTORLET_TEST_KUBELET`, the program of a kubelet, the same is done to a kubelet, and only printed.

What CNI writes is not ours. libcni keeps its results without fsync, and containerd 1.7 never stops a sandbox whose
result is torn. Its pod comes back all the same; the sandbox goes once somebody has removed the file, as the test does
after each look. The next look finds a sandbox that stayed, and a last one comes after all cuts.
"""

from __future__ import annotations

import json
import os
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.conftest import KIND
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import Machine, machine
from tests.machine.root import Root
from tests.machine.whole_node import Look, explained, look, put_inside
from tests.real.pods import STAY, container, pod
from tests.real.waiting import BUSY

CUTS = int(os.environ.get("ACTORLET_MACHINE_CUTS") or 3)
SEED = int(os.environ.get("ACTORLET_MACHINE_SEED") or 20261130)
READY_S = 60.0
CHURN_S = 25.0
"""The longest time between a look and the next cut."""
RECOVERING_S = 20.0
"""The same, between the first sign of life of a boot and the next cut."""
AGAIN = 0.5
"""The part of cuts that come while the machine recovers from the one before."""
_VOLUMES = [{"name": "own", "emptyDir": {}}, {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
_MOUNTS = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in _VOLUMES]
_WITNESS = {"name": "witness", "hostPath": {"path": "/host/witness"}}
_ONCE = "echo begins >> /witness/$UID; sleep 3"
_UID = {"name": "UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}


def _kinds() -> dict[str, dict[str, object]]:
    inits = [container("first", "true"), container("sidecar", restartPolicy="Always")]
    witness = [{"name": "witness", "mountPath": "/witness"}]
    return {
        "plain": pod("NAME", terminationGracePeriodSeconds=2),
        "pair": pod("NAME", container(volumeMounts=_MOUNTS), container("second"), volumes=_VOLUMES),
        "full": pod(
            "NAME",
            container(volumeMounts=_MOUNTS),
            container("second"),
            initContainers=inits,
            volumes=_VOLUMES,
            terminationGracePeriodSeconds=3,
        ),
        "slow": pod("NAME", container(script=f"trap 'sleep 2; exit 0' TERM; {STAY.partition(';')[2]}")),
        "once": pod(
            "NAME", container(script=_ONCE, volumeMounts=witness, env=[_UID]), restartPolicy="Never", volumes=[_WITNESS]
        ),
    }


@dataclass
class Counts:
    """What was seen over all cuts."""

    cuts: int = 0
    while_recovering: int = 0
    pods: int = 0
    restarts: int = 0
    more_often: int = 0
    torn: int = 0
    ready_s: list[float] = field(default_factory=list)
    settled_s: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.cuts} cuts ({self.while_recovering} while recovering), {self.pods} pods looked at, "
            f"{self.restarts} containers restarted, {self.more_often} of them more than once in a boot; "
            f"torn files of CNI: {self.torn}; "
            f"seconds until the agent was ready: {_spread(self.ready_s)}; seconds from boot until all was well: "
            f"{_spread(self.settled_s)}; faults: {self.faults or 'none'}"
        )


def test_nothing_is_lost_when_the_power_is_cut_at_any_moment(roots: Callable[[str], Root]) -> None:
    counts = cut_often(roots(KIND), AgentAlone, CUTS)
    assert counts.faults == []
    assert max(counts.ready_s) < READY_S * BUSY


@pytest.mark.skipif(not PROGRAM, reason="ACTORLET_TEST_KUBELET names no kubelet to compare with")
def test_what_a_kubelet_does_is_printed_beside(roots: Callable[[str], Root]) -> None:
    assert cut_often(roots(KIND), KubeletAlone, min(CUTS, 10)).cuts == min(CUTS, 10)


def cut_often(root: Root, kind_of_agent: type[AgentAlone], cuts: int) -> Counts:
    """Cut, boot and look, so many times; what was seen is printed as it comes."""
    chance, counts = random.Random(SEED), Counts()
    with machine(root, memory="2G", disk="4G", swap=None) as one:
        put_inside(one)
        (one.shared / "witness").mkdir()
        (one.shared / "kinds.json").write_text(json.dumps(_kinds()))
        agent = kind_of_agent(one)
        agent.begin()
        agent.drop(*(_named(_kinds()[kind], f"keep-{kind}") for kind in ("plain", "pair")))
        before = look(agent)
        assert before.wrong == [], before
        one.run("sync")  # containerd does not make sure of images
        while counts.cuts < cuts:
            one.begin(f"python3 /host/churn.py {SEED}-{counts.cuts}")
            boots = _cut(one, chance, CHURN_S, counts)
            while counts.cuts < cuts and chance.random() < AGAIN:
                one.boot(wait=False)
                boots += _cut(one, chance, RECOVERING_S, counts)
                counts.while_recovering += 1
            one.boot()
            after = _settled(agent, counts)
            _judge(agent, counts, before, after, boots)
            counts.ready_s.append(agent.seconds_to_ready())
            before = after
            print(f"{agent.unit}: {counts}; waited {after.waited_s:.0f} s, last for {after.waited_for}", flush=True)
        counts.faults += [f"at the end: {each}" for each in look(agent).wrong]
    return counts


def _named(of_kind: dict[str, Any], name: str) -> dict[str, Any]:
    return json.loads(json.dumps(of_kind).replace("NAME", name))


def _cut(one: Machine, chance: random.Random, within_s: float, counts: Counts) -> int:
    one.run(f"sleep {chance.uniform(0, within_s):.3f}")
    one.cut_power()
    counts.cuts += 1
    return 1


def _settled(agent: AgentAlone, counts: Counts) -> Look:
    """A look at a node where all is well. What CNI has left torn is removed afterwards."""
    seen = look(agent)
    counts.settled_s.append(seen.uptime_s)
    if torn := seen.torn_networks:
        counts.torn += len(torn)
        agent.machine.run(f"rm -f {' '.join(torn)}; sync")
    if seen.wrong:
        counts.faults += [f"after {counts.cuts} cuts, with {len(torn)} torn networks: {each}" for each in seen.wrong]
        print("\n".join(explained(agent, name) for name in seen.pods), flush=True)
        print(agent.machine.journal(agent.unit)[-20000:], flush=True)
    return seen


def _judge(agent: AgentAlone, counts: Counts, before: Look, after: Look, boots: int) -> None:
    def fault(text: str) -> None:
        counts.faults.append(f"after {counts.cuts} cuts: {text}")

    counts.pods += len(after.pods)
    for key, number in after.twice.items():
        fault(f"{key} was alive {number} times at once")
    for path in after.unreadable:
        if path not in before.unreadable:
            fault(f"{path}: it could not be read")
    for name, after_counts in after.restarts.items():
        same = before.pods.get(name, {}).get("uid") == after.pods[name]["uid"]
        for each, number in after_counts.items():
            more = number - (before.restarts[name].get(each, 0) if same else 0)
            counts.restarts += more
            if more > boots:
                # A busy machine: the runtime took longer than a call may, and the container was made once more.
                counts.more_often += 1
                print(f"{name}/{each} was started again {more} times, in {boots} boots", flush=True)
                print(explained(agent, name), flush=True)
            if more < 1 and same and name.startswith("keep-"):
                fault(f"{name}/{each} ran before the cut, and was not started again")
    for told in (agent.machine.shared / "witness").iterdir():
        if (begun := len(told.read_text().splitlines())) > 1:
            fault(f"a container that runs once ran {begun} times: {told.name}")


def _spread(values: list[float]) -> str:
    return f"median {statistics.median(values):.1f}, most {max(values):.1f}" if values else "-"
