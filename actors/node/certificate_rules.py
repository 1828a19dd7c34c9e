"""When a certificate is due, for which names, and the result of a request (spec 17.2, 17.3). Pure."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from config.objects import CertificateSigningRequest, Node
from runtime.state.certificate_keys import HeldCertificate, as_certified, is_address

EARLIEST, LATEST = 0.7, 0.9
"""The share of a certificate's life after which it is renewed.

Each node draws its own moment in between.
"""
_NAMED = ("Hostname", "InternalDNS", "ExternalDNS", "InternalIP", "ExternalIP")


class CertificateVerdict(enum.Enum):
    """The state of a request."""

    WAITS = "waits"
    DENIED = "denied"
    FAILED = "failed"
    ISSUED = "issued"


def serving_names(node: Node) -> tuple[str, ...]:
    """Names and addresses of the node in the form of a certificate, sorted.

    Empty until the node has an address: clients do not connect by name alone.
    """
    addresses = node.status.addresses if node.status is not None else ()
    found = sorted({as_certified(each.address) for each in addresses if each.type in _NAMED and each.address})
    return tuple(found) if any(map(is_address, found)) else ()


def renewal_at_ns(held: HeldCertificate, chance: float) -> int:
    """When to renew, wall time in ns; `chance` from 0 to 1."""
    return held.begins_ns + int((held.ends_ns - held.begins_ns) * (EARLIEST + (LATEST - EARLIEST) * chance))


def why_due(held: HeldCertificate | None, names: Sequence[str], renew_at_ns: int, wall_ns: int) -> str:
    """Why a certificate has to be requested now, or ""."""
    if held is None:
        return "there is none"
    if wall_ns >= held.ends_ns:
        return "it has ended"
    if not set(names) <= set(held.names):
        return "the node has other addresses"
    return "it ends soon" if wall_ns >= renew_at_ns else ""


def verdict_of(request: CertificateSigningRequest) -> tuple[CertificateVerdict, str]:
    """The state of the request, and the reason of the decision."""
    status = request.status
    if status is None:
        return CertificateVerdict.WAITS, ""
    for condition in status.conditions:
        why = f"{condition.reason or ''}: {condition.message or ''}".strip(": ")
        if condition.type == "Denied":
            return CertificateVerdict.DENIED, why
        if condition.type == "Failed":
            return CertificateVerdict.FAILED, why
    return (CertificateVerdict.ISSUED, "") if status.certificate else (CertificateVerdict.WAITS, "")
