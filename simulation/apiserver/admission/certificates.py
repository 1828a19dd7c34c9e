"""CertificateApproval, CertificateSigning and CertificateSubjectRestriction (403).

Who approves or signs a request needs a permission for its signer. The signer of clients of the API server makes nobody
a member of `system:masters`.
"""

from __future__ import annotations

import base64

from cryptography import x509
from cryptography.x509.oid import NameOID

from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.access.authorization import MASTERS
from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Plugin
from simulation.apiserver.kinds.table import CERTIFICATE_REQUESTS
from simulation.apiserver.status import Json

_CLIENTS = "kubernetes.io/kube-apiserver-client"


def validate_approval(this: Attributes) -> None:
    """Raises StatusError (403)."""
    signer = _signer_of(this.old or {})
    if not _may(this, "approve", signer):
        raise this.forbidden(f'user not permitted to approve requests with signerName "{signer}"')


def validate_signing(this: Attributes) -> None:
    """Raises StatusError (403)."""
    was, now = (this.old or {}).get("status") or {}, this.object.get("status") or {}
    signer = _signer_of(this.old or {})
    is_signed = any(was.get(name) != now.get(name) for name in ("certificate", "conditions"))
    if is_signed and not _may(this, "sign", signer):
        raise this.forbidden(f'user not permitted to sign requests with signerName "{signer}"')


def validate_subject(this: Attributes) -> None:
    """Raises StatusError (403)."""
    if _signer_of(this.object) != _CLIENTS:
        return
    try:
        request = x509.load_pem_x509_csr(base64.b64decode(this.object["spec"]["request"]))
    except ValueError as error:
        raise this.forbidden(f"failed to parse CSR: {error}") from None
    groups = [each.value for each in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    if MASTERS in groups:
        raise this.forbidden(f"use of {_CLIENTS} signer with {MASTERS} group is not allowed")


APPROVAL_PLUGIN = Plugin(
    "CertificateApproval", frozenset({(CERTIFICATE_REQUESTS, "approval", UPDATE)}), validate=validate_approval
)
SIGNING_PLUGIN = Plugin(
    "CertificateSigning", frozenset({(CERTIFICATE_REQUESTS, "status", UPDATE)}), validate=validate_signing
)
SUBJECT_PLUGIN = Plugin(
    "CertificateSubjectRestriction", frozenset({(CERTIFICATE_REQUESTS, "", CREATE)}), validate=validate_subject
)


def _signer_of(request: Json) -> str:
    return str((request.get("spec") or {}).get("signerName") or "")


def _may(this: Attributes, verb: str, signer: str) -> bool:
    """Whether the user may do that for the signer, or for all signers of its domain."""
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        asked = AccessAttributes(verb, CERTIFICATE_REQUESTS.group, "signers", name=name)
        if this.authorizer.decide(this.call.user, asked)[0]:
            return True
    return False
