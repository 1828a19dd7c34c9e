"""The published addresses of a pod (spec 4.4)."""

from __future__ import annotations

import pytest

from actors.pod_status.api_status import order_ips, pod_ips
from tests.actors.pod_pictures import EXITED, picture, pod, sandbox, seen
from tests.actors.pod_status.shown_status import show


@pytest.mark.parametrize(
    ("ips", "node", "expected"),
    [
        pytest.param(("fd00::1", "10.0.0.1"), ("192.0.2.1",), ("10.0.0.1", "fd00::1"), id="the node's family first"),
        pytest.param(("10.0.0.1", "fd00::1"), ("fd00::9",), ("fd00::1", "10.0.0.1"), id="be it IPv6"),
        pytest.param(("fd00::1", "10.0.0.1"), (), ("10.0.0.1", "fd00::1"), id="IPv4 where the node has none"),
        pytest.param(("10.0.0.1", "10.0.0.2", "fd00::1"), (), ("10.0.0.1", "fd00::1"), id="one of a family"),
        pytest.param((), ("192.0.2.1",), (), id="none"),
    ],
)
# (spec 4.4.1)
def test_spec_4_4_order_of_addresses(ips: tuple[str, ...], node: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert order_ips(ips, node) == expected


@pytest.mark.parametrize(
    ("host", "observed", "previous", "ready", "expected"),
    [
        pytest.param(False, ("10.0.0.1",), (), True, ("10.0.0.1",), id="the sandbox's"),
        pytest.param(True, (), (), True, ("192.0.2.1",), id="the host's in its network"),
        pytest.param(False, (), ("10.0.0.1",), False, ("10.0.0.1",), id="an ended pod keeps its own"),
        pytest.param(False, (), ("10.0.0.1",), True, (), id="a new sandbox without one has none"),
    ],
)
# (spec 2.5.3, 4.4.2)
def test_spec_4_4_pod_ips(
    host: bool, observed: tuple[str, ...], previous: tuple[str, ...], ready: bool, expected
) -> None:
    assert pod_ips(host, observed, previous, ("192.0.2.1",), ready) == expected


# (spec 4.4.2)
def test_spec_4_4_addresses_are_published() -> None:
    status = show(pod("a"), picture(seen("a")))
    assert (status.pod_ip, status.host_ip) == ("10.0.0.7", "192.0.2.1")
    ended = show(pod("a"), picture(seen("a", EXITED), boxes=(sandbox(0, ready=False),)), status)
    assert [each.ip for each in ended.pod_ips] == ["10.0.0.7"]
