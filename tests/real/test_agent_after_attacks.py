"""After every known attack a live agent is as before: Ready, and its pods untouched.

Its lease is renewed, its memory within 50 MiB, and it has no descriptor and no thread more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime

import psutil

from config.api.resources import LEASES, NODES
from runtime.api import get
from runtime.io.event_loop import LoopThread
from tests.attacks.every_attack import ATTACKS
from tests.attacks.target import Target
from tests.ports import free_port
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Life, Truth, container, pod

MIB = 2**20
MORE_MIB = 50
LANES = 4
"""Threads of lanes come when calls can hang, and go when they are idle."""
QUIET_WITHIN_S = 120.0
WELL = ("well-0", "well-1", "well-2")
LEASE_NAMESPACE = "kube-node-lease"


def is_ready(cluster: Cluster) -> bool:
    node = cluster.lines.main.call(get(NODES, "", NODE)).result(120)
    conditions = node.status.conditions if node.status is not None else ()
    return any(each.type == "Ready" and each.status == "True" for each in conditions)


def renewed_at(cluster: Cluster) -> datetime:
    lease = cluster.lines.main.call(get(LEASES, LEASE_NAMESPACE, NODE)).result(120)
    return datetime.fromisoformat(str(lease.spec.renew_time))


def keys(truth: Truth) -> dict[str, set[tuple[str, int, int]]]:
    def of(lives: tuple[Life, ...]) -> set[tuple[str, int, int]]:
        return {life.key for life in lives}

    return {name: of(truth.lives(name)) for name in WELL}


def well_pods(cluster: Cluster) -> None:
    probe = {"exec": {"command": ["true"]}, "periodSeconds": 2, "timeoutSeconds": 60, "failureThreshold": 60}
    for name in WELL:
        cluster.run(pod(name, container(livenessProbe=probe, readinessProbe=probe)))


def test_a_live_agent_is_as_before_after_every_attack(cluster: Cluster, agent: Agent, truth: Truth) -> None:
    port = free_port()
    client = {"x509": {"clientCAFile": cluster.authority}}
    agent.configure(enableServer=True, port=port, authentication=client, volumeStatsAggPeriod="5s")
    well_pods(cluster)
    cluster.join("--cert-dir", str(agent.directory / "pki"))
    cluster.await_phase("Running", *WELL)
    agent.await_that(lambda: is_ready(cluster), "the node is not ready")
    process = psutil.Process(agent.pid)
    told: list[str] = []
    with closing(LoopThread("attacker")) as loop:
        target = Target(agent, cluster, truth, loop, port)
        before, memory = keys(truth), process.memory_info().rss
        descriptors, threads = process.num_fds(), process.num_threads()
        for attack in ATTACKS:
            trouble = after(attack, target)
            grown = (process.memory_info().rss - memory) / MIB
            more = f"{process.num_fds() - descriptors:+d} descriptors, {process.num_threads() - threads:+d} threads"
            told.append(f"{attack.__name__}: {trouble or 'held'}; {grown:+.0f} MiB, {more}")
            print(told[-1], flush=True)
        assert all(": held;" in each for each in told), "\n".join(told)
        for held, what in (
            (lambda: process.memory_info().rss <= memory + MORE_MIB * MIB, "memory stays"),
            (lambda: process.num_fds() <= descriptors, "descriptors stay"),
            (lambda: process.num_threads() <= threads + LANES, "threads stay"),
        ):
            agent.await_that(held, f"{what}: {told}", QUIET_WITHIN_S)
    assert agent.alive
    assert agent.pid == process.pid
    assert keys(truth) == before, "no well pod was touched"
    for name in WELL:
        assert cluster.restarts(name) == 0
        assert cluster.conditions(name)["Ready"] == "True"


def after(attack: Callable[[Target], None], target: Target) -> str:
    """Attack, and wait for the next renewal of the lease. What went wrong, or empty."""
    cluster, agent = target.cluster, target.agent
    renewed = renewed_at(cluster)
    try:
        attack(target)
        agent.await_that(lambda: renewed_at(cluster) > renewed, "the lease is not renewed", 60)
        assert is_ready(cluster), "the node is not ready"
    except AssertionError as failure:
        return str(failure)
    return ""
