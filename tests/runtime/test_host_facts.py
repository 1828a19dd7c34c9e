"""Facts of the machine the tests run on."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from runtime import host_facts


def test_the_name_can_be_the_name_of_a_node() -> None:
    assert host_facts.host_name() == host_facts.host_name().lower() != ""


def test_addresses_are_ones_that_others_can_reach_at_most_one_of_a_family() -> None:
    addresses = [ipaddress.ip_address(text) for text in host_facts.host_ips()]
    assert not any(address.is_loopback or address.is_link_local for address in addresses)
    assert len({address.version for address in addresses}) == len(addresses)


def test_memory_is_what_the_kernel_says() -> None:
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert abs(host_facts.memory_capacity_bytes() - total_kib * 1024) < 1024 * 1024


def test_the_version_of_cgroups_is_known() -> None:
    assert host_facts.cgroup_version() == (2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1)
