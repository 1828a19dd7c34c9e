"""What becomes of the request for a pod's certificate, and how metrics and events name it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.cluster.moments import Moment
from actors.cluster.pod_certificate_rules import (
    LONGEST_PAUSE_NS,
    OVERDUE_NS,
    SECOND_NS,
    Asked,
    CertificateVerdict,
    Issued,
    event_of,
    issued_by,
    pause_ns,
    refusal_of,
    state_of,
    verdict_of,
)
from actors.messages.references import CredentialBundle
from config.documents.codec import from_builtins
from config.objects import PodCertificateRequest
from runtime.state.pod_keys import PodKey

KEY = PodKey(b"key", b"", b"")
CHAIN = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"
TIMES = {"beginRefreshAt": "1970-01-01T00:01:00Z", "notAfter": "1970-01-01T00:02:00Z"}
ISSUED = Issued(CredentialBundle(b"", b""), Moment(0, 0), 100, 200 + OVERDUE_NS)
MADE = Moment(7, 10 * SECOND_NS)
ASKED = Asked("req-1", KEY, MADE, 0)


def request(kind: str = "", **status: Any) -> PodCertificateRequest:
    conditions = [{"type": kind, "status": "True", "reason": "Why", "message": 'so "it" is'}] if kind else []
    metadata = {"name": "req-1", "namespace": "ns"}
    return from_builtins({"metadata": metadata, "status": {"conditions": conditions, **status}}, PodCertificateRequest)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (PodCertificateRequest(), CertificateVerdict.WAITS),
        (request(), CertificateVerdict.WAITS),
        (request("SuggestedKeyType"), CertificateVerdict.WAITS),
        (request("Denied"), CertificateVerdict.DENIED),
        (request("Failed"), CertificateVerdict.FAILED),
        (request("Issued"), CertificateVerdict.ISSUED),
    ],
)
def test_a_final_condition_decides(found: PodCertificateRequest, verdict: CertificateVerdict) -> None:
    assert verdict_of(found).verdict is verdict


def test_a_refusal_is_told_with_its_reason() -> None:
    denied, failed = request("Denied"), request("Failed")
    assert event_of(verdict_of(denied), denied) == (
        "Denied",
        'PodCertificateRequest ns/req-1 was denied, reason="Why", message="so \\"it\\" is"',
    )
    assert event_of(verdict_of(failed), failed)[0] == "Failed"
    assert refusal_of(verdict_of(failed)).startswith('PodCertificateRequest was permanently failed: reason="Why"')


@pytest.mark.parametrize(
    "missing",
    [
        {"certificateChain": "none", **TIMES},
        {"certificateChain": CHAIN},
        {**TIMES},
        {"certificateChain": CHAIN, **TIMES, "notAfter": "soon"},
    ],
)
def test_an_answer_without_certificate_or_times_is_none(missing: dict[str, Any]) -> None:
    assert issued_by(request("Issued", **missing), ASKED, 0) is None


@pytest.mark.parametrize(("created", "made_s"), [("", 10), ("1970-01-01T00:00:40Z", 40)])
def test_a_certificate_is_given_with_its_key_and_its_times_count_from_its_request(created: str, made_s: int) -> None:
    """Both times and the creation of the request are by the API server's clock."""
    found = request("Issued", certificateChain=f"by us\n{CHAIN}", **TIMES)
    if created:
        found = msgspec.structs.replace(
            found, metadata=msgspec.structs.replace(found.metadata, creation_timestamp=created)
        )
    issued = issued_by(found, ASKED, 5)
    bundle = CredentialBundle(b"key", CHAIN.encode())
    assert issued == Issued(bundle, MADE, (60 - made_s) * SECOND_NS + 5, (120 - made_s) * SECOND_NS)


@pytest.mark.parametrize(
    ("issued", "refused", "age_ns", "state"),
    [
        (None, None, 0, "not_yet_issued"),
        (None, CertificateVerdict.DENIED, 0, "denied"),
        (ISSUED, CertificateVerdict.FAILED, 0, "failed"),
        (ISSUED, None, 100 + OVERDUE_NS, "fresh"),
        (ISSUED, None, 101 + OVERDUE_NS, "overdue_for_refresh"),
        (ISSUED, None, 201 + OVERDUE_NS, "expired"),
    ],
)
def test_each_state_has_a_name(
    issued: Issued | None, refused: CertificateVerdict | None, age_ns: int, state: str
) -> None:
    assert state_of(issued, refused, Moment(age_ns, -1)) == state
    assert state_of(issued, refused, Moment(-1, age_ns)) == state


def test_pauses_grow_to_a_limit() -> None:
    assert [pause_ns(failures) // SECOND_NS for failures in (1, 2, 3, 7, 100)] == [1, 2, 4, 60, 60]
    assert pause_ns(100) == LONGEST_PAUSE_NS
