"""The iptables chains that a kubelet makes.

They are made at the start, and again when somebody has flushed them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.node.packet_rules import CANARIES, CHAINS, FIREWALL, HINT, PERIOD_NS, RULES, PacketRulesActor
from runtime.host.packet_rules import IPV4, IPV6, Chain, PacketRulesError, Rule


class Filter:
    """A packet filter in memory."""

    def __init__(self, *families: str) -> None:
        self.families = families
        self.chains: dict[str, set[Chain]] = {family: set() for family in families}
        self.rules: dict[str, list[Rule]] = {family: [] for family in families}
        self.broken = ""

    def is_offered(self, family: str) -> bool:
        return family in self.families

    def has_chain(self, family: str, chain: Chain) -> bool:
        self._work()
        return chain in self.chains[family]

    def ensure(self, family: str, chains: Sequence[Chain], rules: Sequence[Rule]) -> None:
        self._work()
        self.chains[family].update(chains)
        self.rules[family] += [rule for rule in rules if rule not in self.rules[family]]

    def flush(self, family: str, *tables: str) -> None:
        self.chains[family] = {chain for chain in self.chains[family] if chain.table not in tables}
        self.rules[family] = [rule for rule in self.rules[family] if rule.chain.table not in tables]

    def is_whole(self, family: str) -> bool:
        return self.chains[family] == set(CHAINS[family]) and self.rules[family] == list(RULES[family])

    def _work(self) -> None:
        if self.broken:
            raise PacketRulesError(self.broken)


def running(packet_filter: Filter) -> SimulatedDispatcher:
    dispatcher = SimulatedDispatcher(1)
    ActorSystem(dispatcher).spawn(PacketRulesActor, packet_filter, name="packet-rules")
    dispatcher.run_for(PERIOD_NS // 60)
    return dispatcher


# (spec 14.4.1)
def test_the_chains_of_a_kubelet_are_made_for_both_families() -> None:
    packet_filter = Filter(IPV4, IPV6)
    running(packet_filter)
    assert packet_filter.is_whole(IPV4)
    assert packet_filter.is_whole(IPV6)
    assert {HINT, FIREWALL, *CANARIES} == packet_filter.chains[IPV4]
    assert FIREWALL not in packet_filter.chains[IPV6]


@pytest.mark.parametrize("tables", [("filter",), ("mangle",), ("nat",), ("mangle", "nat", "filter")])
# (spec 14.4.1)
def test_flushed_tables_are_restored_within_a_minute(tables: tuple[str, ...]) -> None:
    packet_filter = Filter(IPV4)
    dispatcher = running(packet_filter)
    packet_filter.flush(IPV4, *tables)
    assert not packet_filter.is_whole(IPV4)
    dispatcher.run_for(PERIOD_NS)
    assert packet_filter.is_whole(IPV4)


def test_a_failure_is_logged_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    packet_filter = Filter(IPV4)
    packet_filter.broken = "no permission"
    dispatcher = running(packet_filter)
    dispatcher.run_for(3 * PERIOD_NS)
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "the iptables chains of a kubelet cannot be made: no permission"
    ]
    packet_filter.broken = ""
    dispatcher.run_for(PERIOD_NS)
    assert packet_filter.is_whole(IPV4)


# (spec 14.4.1)
def test_a_node_without_iptables_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    packet_filter = Filter()
    packet_filter.broken = "there is no program"
    running(packet_filter).run_for(2 * PERIOD_NS)
    assert [record.levelno for record in caplog.records if "iptables" in record.getMessage()] == [logging.INFO]
