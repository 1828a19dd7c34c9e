"""Who approves or signs a certificate needs a permission for its signer."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from simulation.apiserver.core import Options
from simulation.apiserver.requests.calls import ApiUser
from tests.simulation.apiserver.worlds import MERGE, Server

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
CLIENTS = "kubernetes.io/kube-apiserver-client"
APPROVER = ApiUser("approver", ("system:authenticated",))


@cache
def request(group: str = "") -> str:
    names = [x509.NameAttribute(NameOID.COMMON_NAME, "one")]
    names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    signed = made.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


def asking(signer: str, group: str = "") -> Any:
    spec = {"signerName": signer, "request": request(group), "usages": ["client auth"]}
    return {"metadata": {"name": "one"}, "spec": spec}


def with_approver(signers: list[str]) -> Server:
    server = Server(Options(authorization="RBAC"))
    groups = ["certificates.k8s.io"]
    parts = ["certificatesigningrequests/approval", "certificatesigningrequests/status"]
    rules = [
        {"apiGroups": groups, "resources": parts, "verbs": ["update", "patch"]},
        {"apiGroups": groups, "resources": ["signers"], "resourceNames": signers, "verbs": ["approve", "sign"]},
    ]
    server.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"name": "approver"}, "rules": rules})
    subject = {"kind": "User", "name": "approver", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "approver", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "approver"}, "subjects": [subject], "roleRef": role}
    assert server.ask("POST", f"{ROLES}/clusterrolebindings", binding).code == 201
    assert server.ask("POST", REQUESTS, asking("example.com/mine")).code == 201
    return server


CONDITION = {"type": "Approved", "status": "True", "reason": "Mine", "message": "good"}


@pytest.mark.parametrize(
    ("signers", "code"), [(["example.com/mine"], 200), (["example.com/*"], 200), (["example.com/other"], 403)]
)
def test_a_request_is_approved_by_who_may_approve_for_its_signer(signers: list[str], code: int) -> None:
    change = {"status": {"conditions": [CONDITION]}}
    server, path = with_approver(signers), f"{REQUESTS}/one/approval"
    answer = server.ask("PATCH", path, change, content_type=MERGE, user=APPROVER)
    assert answer.code == code, answer.value
    if code == 403:
        assert 'user not permitted to approve requests with signerName "example.com/mine"' in answer.message


def test_a_request_is_signed_by_who_may_sign_for_its_signer() -> None:
    server = with_approver(["example.com/other"])
    change = {"status": {"conditions": [{**CONDITION, "type": "Failed"}]}}
    refused = server.ask("PATCH", f"{REQUESTS}/one/status", change, content_type=MERGE, user=APPROVER)
    assert 'user not permitted to sign requests with signerName "example.com/mine"' in refused.message


def test_nobody_becomes_a_master_by_a_certificate() -> None:
    refused = Server().ask("POST", REQUESTS, asking(CLIENTS, "system:masters"))
    why = f"use of {CLIENTS} signer with system:masters group is not allowed"
    assert (refused.code, why in refused.message) == (403, True)
    assert Server().ask("POST", REQUESTS, asking(CLIENTS, "developers")).code == 201
