"""When a serving certificate is asked for, for which names, and what came of a request (spec 17.2, 17.3). Pure."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from config.objects import CertificateSigningRequest, Node
from runtime.state.certificate_keys import HeldCertificate, as_certified, is_address

EARLIEST, LATEST = 0.7, 0.9
"""Of a certificate's life: somewhere between, each node at its own time, the next one is asked for."""
_NAMED = ("Hostname", "InternalDNS", "ExternalDNS", "InternalIP", "ExternalIP")


class Verdict(enum.Enum):
    """What a request has come to."""

    WAITS = "waits"
    DENIED = "denied"
    FAILED = "failed"
    ISSUED = "issued"


def serving_names(node: Node) -> tuple[str, ...]:
    """Names and addresses of the node as they read in a certificate, sorted; none before it has an address: clients
    would not come by name alone.
    """
    addresses = node.status.addresses if node.status is not None else ()
    found = sorted({as_certified(each.address) for each in addresses if each.type in _NAMED and each.address})
    return tuple(found) if any(map(is_address, found)) else ()


def renewal_at_ns(held: HeldCertificate, chance: float) -> int:
    """When the next one is asked for; `chance` from 0 to 1."""
    return held.begins_ns + int((held.ends_ns - held.begins_ns) * (EARLIEST + (LATEST - EARLIEST) * chance))


def why_due(held: HeldCertificate | None, names: Sequence[str], renew_at_ns: int, wall_ns: int) -> str:
    """Why a certificate is to be asked for now; empty when it is not."""
    if held is None:
        return "there is none"
    if wall_ns >= held.ends_ns:
        return "it has ended"
    if not set(names) <= set(held.names):
        return "the node has other addresses"
    return "it ends soon" if wall_ns >= renew_at_ns else ""


def verdict_of(request: CertificateSigningRequest) -> tuple[Verdict, str]:
    """And why, in the words of whoever decided."""
    status = request.status
    if status is None:
        return Verdict.WAITS, ""
    for condition in status.conditions:
        why = f"{condition.reason or ''}: {condition.message or ''}".strip(": ")
        if condition.type == "Denied":
            return Verdict.DENIED, why
        if condition.type == "Failed":
            return Verdict.FAILED, why
    return (Verdict.ISSUED, "") if status.certificate else (Verdict.WAITS, "")
