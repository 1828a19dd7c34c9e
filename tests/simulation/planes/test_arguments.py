"""The command lines of the programs of a control plane."""

from __future__ import annotations

import re

import pytest

from simulation.planes import arguments
from simulation.planes.arguments import Files, Ports

FILES, PORTS = Files("/d"), Ports(1, 2, 3)
LINES = {
    "etcd": arguments.etcd("/b/etcd", FILES, PORTS),
    "api server": arguments.api_server("/b/kube-apiserver", FILES, PORTS, accounts=True),
    "controllers": arguments.controllers("/b/kcm", "/d/kubeconfig", FILES),
    "workload controllers": arguments.workload_controllers("/b/kcm", "/d/kubeconfig"),
    "scheduler": arguments.scheduler("/b/ks", "/d/kubeconfig"),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_word_of_a_user_can_be_read_as_an_option(line: list[str]):
    """Each value follows its option in the same word."""
    program, *rest = line
    assert program.startswith("/b/")
    assert all(re.fullmatch(r"--[a-z-]+=.+", word) for word in rest)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_nothing_listens_beyond_loopback(line: list[str]):
    values = dict(word[2:].split("=", 1) for word in line[1:])
    assert all("//127.0.0.1:" in text for name, text in values.items() if "-urls" in name)
    assert values.get("bind-address", "127.0.0.1") == "127.0.0.1"
    assert ("listen-client-urls" in values) or ("bind-address" in values) or values["secure-port"] == "0"


def test_pods_get_service_accounts_where_controllers_make_them():
    off = "--disable-admission-plugins=ServiceAccount"
    assert off not in LINES["api server"]
    assert off in arguments.api_server("/b/kube-apiserver", FILES, PORTS, accounts=False)


def test_agents_are_nodes_for_the_server_and_change_nothing_else():
    assert "--authorization-mode=Node,RBAC" in LINES["api server"]
    assert "--enable-admission-plugins=NodeRestriction" in LINES["api server"]


def test_controllers_of_the_embedded_server_leave_its_own_work_to_it():
    (chosen,) = (word for word in LINES["workload controllers"] if word.startswith("--controllers="))
    for own in ("node-lifecycle", "taint-eviction", "garbage-collector", "namespace-controller", "serviceaccount", "*"):
        assert own not in chosen
    assert not any(word.startswith("--controllers=") for word in LINES["controllers"])
