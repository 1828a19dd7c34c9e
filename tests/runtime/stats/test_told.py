"""What the runtime tells of a pod's usage, as readings."""

from __future__ import annotations

import pytest

from runtime.cri.messages import LinuxPodSandboxStats, NetworkInterfaceUsage, NetworkUsage, ProcessUsage, UInt64Value
from runtime.stats.readings import NetworkReading
from runtime.stats.told import network_of


def told(at_ns: int, beside_ns: int | None) -> LinuxPodSandboxStats:
    eth0 = NetworkInterfaceUsage(name="eth0", rx_bytes=UInt64Value(value=1110), tx_bytes=UInt64Value(value=472))
    process = None if beside_ns is None else ProcessUsage(timestamp=beside_ns)
    return LinuxPodSandboxStats(network=NetworkUsage(timestamp=at_ns, default_interface=eth0), process=process)


@pytest.mark.parametrize(
    ("at_ns", "beside_ns", "expected_ns"),
    [(7, 9, 7), (0, 9, 9), (0, None, 0)],
    ids=["its own time", "without one that of what was read beside it", "none at all"],
)
def test_a_network_has_a_time(at_ns: int, beside_ns: int | None, expected_ns: int) -> None:
    reading = network_of(told(at_ns, beside_ns))
    assert isinstance(reading, NetworkReading)
    assert reading.at_ns == expected_ns
    assert [(each.name, each.rx_bytes, each.tx_bytes) for each in reading.interfaces] == [("eth0", 1110, 472)]


def test_a_pod_on_the_network_of_the_node_has_none() -> None:
    assert network_of(LinuxPodSandboxStats()) is None
