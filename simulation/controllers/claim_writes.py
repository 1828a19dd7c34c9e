"""Writes what the scheduler has decided about claims: devices, and the pod that may use them.

Every write is a request like any client's. If one is refused, the rest is not written, and the pod is tried again when
something changes. What was written before is of use then, or `resource_claims.py` takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from simulation.allocation.results import allocation
from simulation.apiserver.requests.bodies import JSON, MERGE
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.controllers.claim_books import ClaimBooks, Key, PlannedClaim
from simulation.controllers.store_follower import ask

Json = Mapping[str, Any]
PROTECTION = "resource.kubernetes.io/delete-protection"
"""Keeps a claim with devices until nobody uses them."""
EXTENDED = "resource.kubernetes.io/extended-resource-claim"


class ClaimWriter:
    """See the module. `books` hear of each write at once. `new_uid`: names shares of devices."""

    def __init__(self, server: ApiServer, user: ApiUser, books: ClaimBooks, new_uid: Callable[[], str]) -> None:
        self._server = server
        self._user = user
        self._books = books
        self._new_uid = new_uid

    def write(self, pod: Json, allocated: Iterable[Key], planned: Iterable[PlannedClaim], node: str) -> bool:
        """Write all; returns whether all was carried out. `allocated`: claims that only hear of the pod."""
        for key in allocated:
            claim = self._books.claim(key)
            if claim is None or not self._write_status(claim, _reserved(claim, pod)):
                return False
        for each in planned:
            claim = self._make(pod, each) if each.key is None else self._books.claim(each.key)
            if claim is None or not self._allocate(pod, claim, each, node):
                return False
        return True

    def _allocate(self, pod: Json, claim: Json, planned: PlannedClaim, node: str) -> bool:
        metadata = claim["metadata"]
        finalizers = metadata.get("finalizers") or []
        if PROTECTION not in finalizers:
            changed = {"resourceVersion": metadata["resourceVersion"], "finalizers": [*finalizers, PROTECTION]}
            if not self._ask("PATCH", claim_path(claim), {"metadata": changed}, MERGE):
                return False
        newest = self._books.claim((metadata["namespace"], metadata["name"]))
        if newest is None:
            return False
        given = allocation(planned.given, planned.spec, self._books.classes, node, self._new_uid)
        return self._write_status(newest, {**_reserved(newest, pod), "allocation": given})

    def _make(self, pod: Json, planned: PlannedClaim) -> Json | None:
        """The claim for extended resources of the pod, which its status names."""
        metadata = pod["metadata"]
        namespace, name = metadata["namespace"], f"{metadata['name'][:200]}-extended-resources-{metadata['uid'][:5]}"
        about = {"name": name, "annotations": {EXTENDED: "true"}, "ownerReferences": [owned_by(pod)]}
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": about, "spec": planned.spec}
        if self._books.claim((namespace, name)) is None and not self._ask("POST", claims_path(namespace), body):
            return None
        told = {"resourceClaimName": name, "requestMappings": list(planned.mappings)}
        path = f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}/status"
        if not self._ask("PATCH", path, {"status": {"extendedResourceClaimStatus": told}}, MERGE):
            return None
        return self._books.claim((namespace, name))

    def _write_status(self, claim: Json, status: Json) -> bool:
        if status == claim.get("status"):
            return True
        return self._ask("PUT", f"{claim_path(claim)}/status", {**claim, "status": status})

    def _ask(self, method: str, path: str, body: dict[str, Any], content_type: str = JSON) -> bool:
        return not ask(self._server, self._user, method, path, body, content_type)


def owned_by(pod: Json) -> dict[str, Any]:
    """The reference that a claim has to the pod that it was made for."""
    metadata = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    return {**owner, "controller": True, "blockOwnerDeletion": True}


def _reserved(claim: Json, pod: Json) -> dict[str, Any]:
    """The status of the claim, reserved for the pod."""
    status = dict(claim.get("status") or {})
    users = list(status.get("reservedFor") or ())
    metadata = pod["metadata"]
    if metadata["uid"] not in (each.get("uid") for each in users):
        users.append({"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]})
    return {**status, "reservedFor": users}


def claim_path(claim: Json) -> str:
    """The path of a claim in the API."""
    return f"{claims_path(claim['metadata']['namespace'])}/{claim['metadata']['name']}"


def claims_path(namespace: str) -> str:
    """The path of the claims of a namespace."""
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
