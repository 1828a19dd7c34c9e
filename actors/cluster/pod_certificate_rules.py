"""The life of one pod certificate, and the request for it (KEP-4317, spec 8.7). Pure.

A projection has at most one request under way. A request that is denied or has failed ends it for good: the pod gets no
certificate any more. A certificate is renewed from `beginRefreshAt` on, some minutes later by chance. The old one is
given until the new one is there, also once it has expired.
"""

from __future__ import annotations

import base64
import enum

import msgspec

from actors.cluster.moments import Moment
from actors.cluster.trust_rules import anchors_in, as_pem
from actors.messages.references import CredentialBundle
from config.objects import ObjectMeta, Pod, PodCertificateProjection, PodCertificateRequest, PodCertificateRequestSpec
from config.objects.meta import OwnerReference
from config.values.api_time import ns_of
from runtime.state.pod_keys import PodKey

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
JITTER_NS = 5 * MINUTE_NS
ABANDONED_NS = 10 * MINUTE_NS
"""A request that nobody sees after this time, and a jitter, was deleted."""
OVERDUE_NS = 10 * MINUTE_NS
FIRST_PAUSE_NS, LONGEST_PAUSE_NS = SECOND_NS, MINUTE_NS
NOT_ISSUED = "credential bundle is not issued yet"


class CertificateVerdict(enum.Enum):
    """The outcome of a certificate request."""

    WAITS = "waits"
    DENIED = "denied"
    FAILED = "failed"
    ISSUED = "issued"


class Issued(msgspec.Struct, frozen=True):
    """A certificate in use. Its age counts from its request, by the clocks of this node."""

    bundle: CredentialBundle
    asked: Moment
    refresh_ns: int
    """The age at which its renewal is due."""
    expires_ns: int
    """The age at which it expires."""


class Asked(msgspec.Struct, frozen=True):
    """A request under way. `abandon_ns`: when it counts as deleted if it cannot be seen, monotonic."""

    name: str
    key: PodKey
    made: Moment
    abandon_ns: int


class Verdict(msgspec.Struct, frozen=True):
    """`reason`, `message`: of the condition."""

    verdict: CertificateVerdict
    reason: str = ""
    message: str = ""


_CONDITIONS = {
    "Denied": CertificateVerdict.DENIED,
    "Failed": CertificateVerdict.FAILED,
    "Issued": CertificateVerdict.ISSUED,
}


def verdict_of(request: PodCertificateRequest) -> Verdict:
    """The first final condition decides; there is never more than one."""
    for each in request.status.conditions if request.status is not None else ():
        if each.type in _CONDITIONS:
            return Verdict(_CONDITIONS[each.type], each.reason, each.message)
    return Verdict(CertificateVerdict.WAITS)


def issued_by(request: PodCertificateRequest, asked: Asked, jitter_ns: int) -> Issued | None:
    """The certificate of an issued request; None when times or certificates are missing.

    Its times and the creation of the request are by the clock of the API server.
    """
    status = request.status
    if status is None:
        return None
    chain = as_pem(anchors_in(status.certificate_chain or ""))
    refresh_ns, expires_ns = ns_of(status.begin_refresh_at), ns_of(status.not_after)
    if not chain or refresh_ns is None or expires_ns is None:
        return None
    made_ns = ns_of(request.metadata.creation_timestamp)
    made_ns = asked.made.wall_ns if made_ns is None else made_ns
    bundle = CredentialBundle(asked.key.private, chain)
    return Issued(bundle, asked.made, refresh_ns - made_ns + jitter_ns, expires_ns - made_ns)


def refusal_of(verdict: Verdict) -> str:
    """Why a volume has no certificate for good."""
    told = f"reason={_quoted(verdict.reason)} message={_quoted(verdict.message)}"
    return f"PodCertificateRequest was permanently {verdict.verdict.value}: {told}"


def event_of(verdict: Verdict, request: PodCertificateRequest) -> tuple[str, str]:
    """Reason and message of the event for a request that was denied or has failed."""
    denied = verdict.verdict is CertificateVerdict.DENIED
    name = f"{request.metadata.namespace}/{request.metadata.name}"
    told = f"reason={_quoted(verdict.reason)}, message={_quoted(verdict.message)}"
    verb = "was denied" if denied else "failed"
    return "Denied" if denied else "Failed", f"PodCertificateRequest {name} {verb}, {told}"


def request_for(
    pod: Pod, projection: PodCertificateProjection, key: PodKey, account_uid: str, node: ObjectMeta
) -> PodCertificateRequest:
    """The request that a signer is to answer. The API server names it."""
    meta = pod.metadata
    owner = OwnerReference(api_version="core/v1", kind="Pod", name=meta.name, uid=meta.uid)
    return PodCertificateRequest(
        metadata=ObjectMeta(namespace=meta.namespace, generate_name="req-", owner_references=(owner,)),
        spec=PodCertificateRequestSpec(
            signer_name=projection.signer_name,
            pod_name=meta.name,
            pod_uid=meta.uid,
            service_account_name=pod.spec.service_account_name or "default",
            service_account_uid=account_uid,
            node_name=node.name,
            node_uid=node.uid,
            max_expiration_seconds=projection.max_expiration_seconds,
            pkix_public_key=base64.b64encode(key.public).decode(),
            proof_of_possession=base64.b64encode(key.proof).decode(),
            unverified_user_annotations=projection.user_annotations,
        ),
    )


def state_of(issued: Issued | None, refused: CertificateVerdict | None, moment: Moment) -> str:
    """The state as metrics name it. `refused`: how the last request ended for good, or None."""
    if refused is not None:
        return refused.value
    if issued is None:
        return "not_yet_issued"
    age_ns = moment.since_ns(issued.asked)
    if age_ns > issued.expires_ns:
        return "expired"
    return "overdue_for_refresh" if age_ns > issued.refresh_ns + OVERDUE_NS else "fresh"


def pause_ns(failures: int) -> int:
    """The pause after so many failures in a row."""
    return min(FIRST_PAUSE_NS << min(failures - 1, 10), LONGEST_PAUSE_NS)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
