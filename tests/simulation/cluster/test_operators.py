"""Operators that run beside a cluster: their kubeconfig, restarts and rest, and sweeps from a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorlet.testing import Cluster, ClusterError, cluster

SHOP = Path(__file__).parents[1] / "sweep" / "shop"
CRASHES = [sys.executable, "-c", "print('hello from me'); raise SystemExit(3)"]
OPERATOR = [sys.executable, str(SHOP / "shop_operator.py")]


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with cluster(time="auto", pause="30ms") as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(shared: Cluster) -> None:
    shared.reset()


def test_a_program_that_crashes_starts_again_with_a_growing_pause(shared: Cluster) -> None:
    shared.run(CRASHES)
    shared.until(lambda: list(shared.outputs()["operator"]).count("hello from me") >= 3, within="10m")
    assert shared.now > 10
    (line,) = [line for line in shared.troubles() if "operator" in line]
    assert "with exit status 3" in line


def test_a_program_that_is_not_there_is_told(shared: Cluster) -> None:
    with pytest.raises(ClusterError, match="/no/such/operator does not start: No such file"):
        shared.run(["/no/such/operator"])
    with pytest.raises(ClusterError, match="write it as"):
        shared.run([""])


def test_an_operator_has_its_own_kubeconfig_and_comes_to_rest(shared: Cluster) -> None:
    shared.apply(SHOP / "crd.yaml")
    kubeconfig = shared.run(OPERATOR, env={"BUGS": ""})
    assert kubeconfig != shared.kubeconfig
    shared.apply(SHOP / "shop.yaml")
    shared.settle(quiet="5s")
    assert shared.explain("corner-till-0").startswith("default/corner-till-0 on node-0: Running")


def test_two_operators_need_two_users(shared: Cluster) -> None:
    shared.run(CRASHES)
    with pytest.raises(ClusterError, match="an operator runs as 'operator'"):
        shared.run(CRASHES)
    shared.run(CRASHES, user="another")


def test_an_operator_rests_in_a_cluster_whose_time_moves_by_itself_only() -> None:
    with cluster() as stepped, pytest.raises(ClusterError, match="with the time `auto` only"):
        stepped.settle()


def scenario(found: Cluster) -> None:
    found.apply(SHOP / "crd.yaml")
    found.run(OPERATOR, env={"BUGS": "kill"})
    found.apply(SHOP / "shop.yaml")


def test_a_sweep_from_a_test_finds_a_crash_between_two_writes(shared: Cluster, tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    name = "requests: services default/corner is missing"
    found = shared.sweep(scenario, kinds=["kill-after"], again=1, jobs=2)
    assert [one.name for one in found.new] == [name]
    assert "kill-after create configmaps default/corner-sign #1" in str(found)
    known.write_text(f"{name}\n")
    again = shared.sweep(scenario, kinds=["kill-after"], again=0, jobs=2, known=known)
    assert [one.known for one in again.findings] == [True]


def test_an_oracle_replaces_the_comparison(shared: Cluster) -> None:
    found = shared.sweep(scenario, kinds=["kill-after"], again=0, jobs=2, oracle=lambda each: bool(each.nodes))
    assert found.findings == ()


def test_a_scenario_that_fails_without_a_fault_is_told(shared: Cluster) -> None:
    with pytest.raises(ClusterError, match="the operator has asked the API server for nothing"):
        shared.sweep(lambda each: each.run(CRASHES), jobs=2)
