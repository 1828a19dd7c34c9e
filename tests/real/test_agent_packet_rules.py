"""`makeIPTablesUtilChains` on the real packet filter, in a network namespace of the test's own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from actors.node.packet_rules import CANARIES, CHAINS, FIREWALL, RULES, look_after
from runtime.host.packet_rules import IPV4, IPV6, Chain, LocalPacketRules, PacketRulesError, Rule
from tests.cli.run.test_command import PATIENCE_S, ROOT, actorlet, directory, flags, pod_when_it_runs
from tests.real.components import complaint
from tests.real.test_service_unit import held_back
from tests.real.waiting import until

__all__ = ["directory"]
KUBELETS = [
    "-A INPUT -j KUBE-FIREWALL",
    "-A OUTPUT -j KUBE-FIREWALL",
    '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" '
    "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
]
"""What `iptables-save` shows on a node of a kubelet 1.36."""


@pytest.fixture
def namespace() -> Iterator[str]:
    why = complaint()
    if why is not None:
        pytest.fail(why, pytrace=False)
    name = f"actorlet-{uuid4().hex[:8]}"
    subprocess.run(["ip", "netns", "add", name], check=True, timeout=PATIENCE_S)
    yield name
    subprocess.run(["ip", "netns", "delete", name], check=True, timeout=PATIENCE_S)


def inside(namespace: str, *words: str) -> list[str]:
    """In the namespace, with the mounts of this machine: `ip netns exec` would hide its cgroups."""
    return ["nsenter", f"--net=/run/netns/{namespace}", "--", *words]


def saved(namespace: str, program: str = "iptables") -> list[str]:
    command = inside(namespace, f"{program}-save")
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout.splitlines()


def without_times(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("#")]


def names(lines: list[str]) -> set[str]:
    """Chains that a kubelet makes."""
    return {line.split()[0].removeprefix(":") for line in lines if line.startswith(":KUBE-")}


# (spec 14.4.2)
def test_an_agent_makes_the_chains_and_rules_of_a_kubelet(namespace: str, directory: Path) -> None:
    wanted = [flag for flag in flags(directory) if "iptables" not in flag]
    with open(directory / "log", "wb") as log:
        agent = subprocess.Popen(inside(namespace, *actorlet("run", *wanted)), cwd=ROOT, stderr=log)
    try:
        said = (directory / "log").read_text
        made = [f"were made for {family}" for family in (IPV4, IPV6)]
        until(lambda: agent.poll() is not None or all(each in said() for each in made), PATIENCE_S, said)
        assert agent.poll() is None, said()
        rules = [line for line in saved(namespace) if "KUBE-FIREWALL" in line and line.startswith("-A")]
        assert sorted(rules) == sorted(KUBELETS)
        assert names(saved(namespace)) == {"KUBE-IPTABLES-HINT", "KUBE-FIREWALL", "KUBE-KUBELET-CANARY"}
        assert names(saved(namespace, "ip6tables")) == {"KUBE-IPTABLES-HINT", "KUBE-KUBELET-CANARY"}
    finally:
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(PATIENCE_S) == 0
    assert names(saved(namespace)), "they stay when the agent ends, as a kubelet's do"


@pytest.mark.parametrize("family", [IPV4, IPV6])
def test_the_rights_of_the_service_unit_suffice_for_the_chains(namespace: str, family: str) -> None:
    rules = LocalPacketRules([*inside(namespace), *held_back()])
    assert look_after(rules, family, anew=False)
    assert all(rules.has_chain(family, chain) for chain in CHAINS[family])


def test_makeIPTablesUtilChains_false_leaves_the_packet_filter_alone(namespace: str, directory: Path) -> None:  # noqa: N802  # the field's name
    with open(directory / "log", "wb") as log:
        agent = subprocess.Popen(inside(namespace, *actorlet("run", *flags(directory))), cwd=ROOT, stderr=log)
    socket = directory / "root/actorlet.sock"
    until(lambda: agent.poll() is not None or socket.exists(), PATIENCE_S, (directory / "log").read_text)
    pod_when_it_runs(directory)
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(PATIENCE_S) == 0
    assert names(saved(namespace)) == set()


def test_existing_rules_are_not_duplicated_and_a_flush_is_repaired(namespace: str) -> None:
    rules = LocalPacketRules(inside(namespace))
    assert look_after(rules, IPV4, anew=True)
    before = without_times(saved(namespace))
    rules.ensure(IPV4, CHAINS[IPV4], RULES[IPV4])
    assert without_times(saved(namespace)) == before
    assert not look_after(rules, IPV4, anew=False)
    for words in (("-F",), ("-X",)):
        subprocess.run(inside(namespace, "iptables", *words), check=True, timeout=PATIENCE_S)
    assert not rules.has_chain(IPV4, FIREWALL)
    assert look_after(rules, IPV4, anew=False)
    assert without_times(saved(namespace)) == before
    assert all(rules.has_chain(IPV4, canary) for canary in CANARIES)


def test_a_rule_that_cannot_be_made_is_told(namespace: str) -> None:
    rules = LocalPacketRules(inside(namespace))
    with pytest.raises(PacketRulesError, match=r"iptables -C INPUT in table filter: .*no-such-target"):
        rules.ensure(IPV4, (), (Rule(Chain("filter", "INPUT"), ("-j", "no-such-target")),))
