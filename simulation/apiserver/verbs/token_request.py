"""POST of a TokenRequest: a token of a service account, for an audience and a time, bound to a pod if asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.pod_admission import TOKEN_SECONDS
from simulation.apiserver.requests import Answer, Call, JsonAnswer
from simulation.apiserver.resources import NODES, PODS, SECRETS, ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, conflict, invalid, invalid_value, not_found
from simulation.apiserver.verbs.asked import asked_body
from simulation.apiserver.verbs.context import Context

SHORTEST_S = 600
LONGEST_S = 2**32
EXTENDED_S = 365 * 24 * 3600
_BOUND = {("Pod", "v1"): PODS, ("Secret", "v1"): SECRETS, ("Node", "v1"): NODES}


def request_token(context: Context, call: Call) -> Answer:
    """Raises StatusError: 404 for the account or what the token is bound to, 409 for another UID, 422."""
    account = context.find(call)
    request = asked_body(call)
    spec: Json = request.get("spec") or {}
    core = context.core
    seconds = spec.get("expirationSeconds")
    seconds = 3600 if seconds is None else int(seconds)
    _check_seconds(call, seconds)
    audiences = list(spec.get("audiences") or [core.options.issuer])
    now_s = core.wall_ns() // SECOND_NS
    # Tokens of the usual volume live long, so that clients that never read the file again go on for a while.
    extended = seconds == TOKEN_SECONDS and audiences == [core.options.issuer] and spec.get("boundObjectRef")
    expires_s = now_s + (EXTENDED_S if extended else seconds)
    of_cluster: Json = {
        "namespace": call.namespace,
        "serviceaccount": {"name": call.name, "uid": account.uid},
        **_bound(context, call, spec.get("boundObjectRef")),
    }
    if extended:
        of_cluster["warnafter"] = now_s + seconds
    claims: dict[str, Any] = {
        "aud": audiences,
        "exp": expires_s,
        "iat": now_s,
        "iss": core.options.issuer,
        "jti": core.new_uid(),
        "kubernetes.io": of_cluster,
        "nbf": now_s,
        "sub": f"system:serviceaccount:{call.namespace}:{call.name}",
    }
    expiry = datetime.fromtimestamp(now_s + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    value = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": core.timestamp(),
        },
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec.get("boundObjectRef")},
        "status": {"token": context.authenticator.sign(claims), "expirationTimestamp": expiry},
    }
    return JsonAnswer(value, 201)


def _check_seconds(call: Call, seconds: int) -> None:
    why = ""
    if seconds < SHORTEST_S:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST_S:
        why = "may not specify a duration larger than 2^32 seconds"
    if why:
        raise invalid(_TOKENS, call.name, [invalid_value("spec.expirationSeconds", seconds, why)])


_TOKENS = ServedResource("authentication.k8s.io", "v1", "tokenrequests", "tokenrequest", "TokenRequest", True)


def _bound(context: Context, call: Call, reference: Json | None) -> Json:
    if not reference:
        return {}
    kind, name, uid = reference.get("kind", ""), reference.get("name", ""), reference.get("uid", "")
    resource = _BOUND.get((kind, reference.get("apiVersion", "v1")))
    if resource is None:
        raise bad_request(f"cannot bind token for serviceaccount {call.name!r} to object of type {kind}")
    store = context.core.store
    found = store.get(resource.store_key, call.namespace if resource.namespaced else "", name)
    if found is None:
        raise not_found(resource, name)
    if uid and uid != found.uid:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record ({found.uid})"
        raise conflict(resource, name, why)
    if kind == "Pod":
        account = found.object["spec"].get("serviceAccountName", "")
        if account != call.name:
            raise StatusError(
                400, "BadRequest", f"cannot bind token to pod {name}: it uses service account {account!r}"
            )
    bound: Json = {kind.lower(): {"name": name, "uid": found.uid}}
    node_name = found.object["spec"].get("nodeName") if kind == "Pod" else ""
    if node_name:
        node = store.get("nodes", "", node_name)
        bound["node"] = {"name": node_name, "uid": node.uid if node is not None else ""}
    return bound
