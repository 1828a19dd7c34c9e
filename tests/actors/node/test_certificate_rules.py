"""When a serving certificate is asked for, and what comes of a request, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.certificate_rules import CertificateVerdict, renewal_at_ns, serving_names, verdict_of, why_due
from config.documents.codec import from_builtins
from config.objects import CertificateSigningRequest, Node
from runtime.state.certificate_keys import HeldCertificate

HELD = HeldCertificate(("10.0.0.1", "node"), 1_000, 2_000)


def node(*addresses: tuple[str, str]) -> Node:
    told = [{"type": kind, "address": address} for kind, address in addresses]
    return from_builtins({"metadata": {"name": "node"}, "status": {"addresses": told}}, Node)


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        ((("Hostname", "node"), ("InternalIP", "10.0.0.1")), ("10.0.0.1", "node")),
        ((("Hostname", "node"), ("ExternalIP", "fd00::1"), ("InternalDNS", "n.x")), ("fd00::1", "n.x", "node")),
        ((("Hostname", "node"),), ()),
        ((), ()),
        ((("Other", "10.0.0.1"),), ()),
        ((("InternalIP", "2001:0DB8:0:0::0001"),), ("2001:db8::1",)),
        ((("InternalIP", "010.000.0.09"), ("ExternalIP", "10.0.0.9")), ("10.0.0.9",)),
        ((("InternalIP", "::ffff:192.0.2.1"),), ("192.0.2.1",)),
        ((("InternalIP", "fe80::1%eth0"),), ("fe80::1",)),
        (
            (("Hostname", "1.2.3.4.5"), ("InternalIP", "999.0.0.1"), ("ExternalIP", "::1")),
            ("1.2.3.4.5", "999.0.0.1", "::1"),
        ),
    ],
)
# (spec 17.2.2)
def test_names_are_those_of_the_node_once_it_has_an_address(addresses: Any, names: tuple[str, ...]) -> None:
    assert serving_names(node(*addresses)) == names


@pytest.mark.parametrize(
    ("held", "names", "now_ns", "why"),
    [
        (None, ("node",), 0, "there is none"),
        (HELD, ("node", "10.0.0.1"), 1_500, ""),
        (HELD, ("node",), 1_500, ""),
        (HELD, ("node", "10.0.0.2"), 1_500, "the node has other addresses"),
        (HELD, ("node",), 1_800, "it ends soon"),
    ],
)
def test_when_one_is_asked_for(held: Any, names: tuple[str, ...], now_ns: int, why: str) -> None:
    assert why_due(held, names, 1_800, now_ns) == why


# (spec 17.3.1)
def test_each_node_renews_at_its_own_time_between_seven_and_nine_tenths() -> None:
    assert renewal_at_ns(HELD, 0.0) == 1_700
    assert renewal_at_ns(HELD, 0.5) == 1_800
    assert renewal_at_ns(HELD, 1.0) == 1_900


def condition(kind: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": "Because", "message": "so"}


@pytest.mark.parametrize(
    ("status", "verdict", "why"),
    [
        (None, CertificateVerdict.WAITS, ""),
        ({}, CertificateVerdict.WAITS, ""),
        ({"conditions": [condition("Approved")]}, CertificateVerdict.WAITS, ""),
        ({"conditions": [condition("Approved")], "certificate": "eA=="}, CertificateVerdict.ISSUED, ""),
        ({"conditions": [condition("Denied")]}, CertificateVerdict.DENIED, "Because: so"),
        ({"conditions": [condition("Approved"), condition("Failed")]}, CertificateVerdict.FAILED, "Because: so"),
    ],
)
def test_a_certificate_request_status_gives_its_verdict(status: Any, verdict: CertificateVerdict, why: str) -> None:
    document: dict[str, Any] = {"metadata": {"name": "csr-1"}, "spec": {}}
    if status is not None:
        document["status"] = status
    assert verdict_of(from_builtins(document, CertificateSigningRequest)) == (verdict, why)
