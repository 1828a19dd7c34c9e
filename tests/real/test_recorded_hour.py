"""An agent on containerd is recorded, and lives again elsewhere to its last message (issue 49).

Pods of many kinds come and go, by manifests and by the API server. Containers are killed, images are missing, probes
fail. The runtime hangs, dies and comes back, and so does the line to the API server. Half-way the agent is killed.
Then a process with another environment plays both lives. `ACTORLET_RECORDED_MINUTES` is how long all that goes on:

    tox -e recorded     # or: ACTORLET_RECORDED_MINUTES=60 python -m pytest -n 0 -s tests/real/test_recorded_hour.py

The counts are printed. `ACTORLET_RECORDED_FOLDER` keeps the record in that folder.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from runtime.cri.errors import CriError
from tests.real import churn_pods
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.pods import Truth, container, pod
from tests.real.records import AS_RECORDED, FAILED, replayed_elsewhere
from tests.real.registry import Throttle
from tests.real.remains import remains
from tests.real.waiting import until

MINUTES = float(os.environ.get("ACTORLET_RECORDED_MINUTES") or 1)
STEPS = max(24, round(3 * MINUTES))
"""Some pods come and go at each; a fault comes with every other one."""
AT_A_TIME = 24 if MINUTES >= 10 else 8
SEED = 20261130
CALM_S = 120.0
REPLAY_S = 60.0
ANY_SPEED = 1 << 30
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 10, "timeoutSeconds": 60, "failureThreshold": 60}


def unhealthy(name: str) -> dict[str, Any]:
    """Its container is killed by its liveness probe, again and again."""
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 5, "failureThreshold": 2, "timeoutSeconds": 60}
    return pod(name, container(livenessProbe=probe), container("beside"), terminationGracePeriodSeconds=1)


def absent(name: str) -> dict[str, Any]:
    """Its image is not in the registry."""
    return pod(name, container(image="registry.test/absent:1"), terminationGracePeriodSeconds=1)


def patient(document: dict[str, Any]) -> dict[str, Any]:
    """The pod with probes that take little CPU."""
    spec = document["spec"]
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        each.update((key, PROBE) for key, value in each.items() if value is churn_pods.PROBE)
    return document


KINDS = {**churn_pods.KINDS, "unhealthy": unhealthy, "absent": absent}
OF_MANIFESTS = {**churn_pods.OF_MANIFESTS, "unhealthy": unhealthy}


class Line:
    """The agent's line to the API server, which can be cut."""

    def __init__(self, kubeconfig: str, directory: Path) -> None:
        text = Path(kubeconfig).read_text()
        url = next(line.split()[-1] for line in text.splitlines() if line.strip().startswith("server:"))
        self._server = url.rpartition("/")[2]
        self._throttle = Throttle(self._server, ANY_SPEED)
        self.kubeconfig = directory / "through-the-line.kubeconfig"
        self.kubeconfig.write_text(text.replace(self._server, self._throttle.address))
        self.kubeconfig.chmod(0o600)

    def cut(self) -> None:
        self._throttle.close()

    def mend(self) -> None:
        self._throttle = Throttle(self._server, ANY_SPEED, port=int(self._throttle.address.rpartition(":")[2]))


class Night:
    """What is done to a node: `step` by step, then `end`."""

    def __init__(self, cluster: Cluster, agent: Agent, containerd: Containerd, truth: Truth, line: Line) -> None:
        self._cluster, self._agent, self._containerd, self._truth = cluster, agent, containerd, truth
        self._line = line
        self._chance = random.Random(SEED)
        self._names: list[str] = []
        self.made: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self._undo: list[Any] = []

    def step(self) -> None:
        """Undo the fault before, add and remove pods, and do the next fault."""
        if self._undo:
            self._undo.pop()()
            return
        for _ in range(self._chance.choice((1, 2, 3))):
            self._one_comes()
        while len(self._names) > AT_A_TIME:
            self._one_goes(self._chance.choice(self._names))
        fault = self._chance.choice((self._kill_containers, self._hang, self._kill_runtime, self._cut))
        fault()

    def end(self) -> None:
        """Mend what is broken, and remove all pods."""
        while self._undo:
            self._undo.pop()()
        for name in tuple(self._names):
            self._one_goes(name)

    def _one_comes(self) -> None:
        static = self._chance.random() < 1 / 3
        kinds = OF_MANIFESTS if static else KINDS
        kind = self._chance.choice(sorted(kinds))
        name = f"{kind}-{self.made.total()}{'-static' if static else ''}"
        self.made[f"{kind}{' (static)' if static else ''}"] += 1
        self._names.append(name)
        document = patient(kinds[kind](name))
        if static:
            self._agent.drop(f"{name}.json", document)
        else:
            self._cluster.run(document)

    def _one_goes(self, name: str) -> None:
        self._names.remove(name)
        if name.endswith("-static"):
            (self._agent.manifests / f"{name}.json").unlink()
        else:
            self._cluster.delete(name)

    def _kill_containers(self) -> None:
        self.faults["containers killed"] += 1
        running = [life for life in self._truth.lives() if life.running]
        for life in self._chance.sample(running, min(2, len(running))):
            with suppress(CriError, AssertionError):  # it has ended meanwhile
                self._containerd.ctr("tasks", "kill", "--signal", "KILL", life.id)

    def _hang(self) -> None:
        self.faults["the runtime hung"] += 1
        self._containerd.hang()
        self._undo.append(self._containerd.go_on)

    def _kill_runtime(self) -> None:
        self.faults["the runtime was killed"] += 1
        self._containerd.kill()
        self._undo.append(self._containerd.start)

    def _cut(self) -> None:
        self.faults["the API server was away"] += 1
        self._line.cut()
        self._undo.append(self._line.mend)


def test_a_night_with_churn_faults_and_a_killed_agent_lives_again_elsewhere(
    cluster: Cluster, agent: Agent, truth: Truth, containerd: Containerd, tmp_path: Path
) -> None:
    record = Path(os.environ.get("ACTORLET_RECORDED_FOLDER") or tmp_path / "record")
    churn_pods.prepare(cluster)
    line = Line(cluster.node_kubeconfig, tmp_path)
    night = Night(cluster, agent, containerd, truth, line)
    flags = ("--kubeconfig", str(line.kubeconfig), "--record", str(record))
    agent.start(*flags)
    try:
        for number in range(STEPS):
            night.step()
            # Passing time is what is wanted here.
            assert not agent.ended_within(60 * MINUTES / STEPS), agent.said()[-3000:]
            if number == STEPS // 2:
                agent.kill()
                agent.begin(*flags)
    finally:
        containerd.go_on()
    night.end()
    containerd.end_forgotten_tasks()
    left = partial(remains, agent, containerd, truth)
    until(lambda: not left(), CALM_S, lambda: f"left: {left()}; {agent.troubles()}")
    assert agent.terminate() == 0
    assert FAILED not in agent.said(), agent.said()
    before = os.times()
    replay = replayed_elsewhere(record, tmp_path)
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    counts = {
        "minutes": MINUTES,
        "pods": dict(sorted(night.made.items())),
        "faults": dict(sorted(night.faults.items())),
        "record, MiB": round(sum(each.stat().st_size for each in record.glob("*.segment")) / (1 << 20), 2),
        "replay, CPU s": round(cpu_s, 1),
        "replay": replay.stdout.splitlines(),
    }
    print(json.dumps(counts, indent=1), flush=True)
    assert replay.returncode == 0, replay.stdout + replay.stderr
    assert replay.stdout.count(AS_RECORDED) >= 2, replay.stdout
    assert replay.stdout.count("the record ends there") == 1, replay.stdout  # that of the killed agent
    # Of the CPU, since a busy machine may need ten times as long for it.
    assert cpu_s <= REPLAY_S
