"""POST of a TokenRequest: a token of a service account, for an audience and a time.

It may be bound to an object.
"""

from __future__ import annotations

from config.values.api_time import second_text
from simulation.apiserver.admission.service_account import TOKEN_SECONDS
from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.table import NODES, PODS, SECRETS, ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, bad_request, conflict, invalid, invalid_value, not_found
from simulation.apiserver.verbs.asked import asked_body

SHORTEST_S = 600
LONGEST_S = 2**32
EXTENDED_S = 365 * 24 * 3600
"""The lifetime of a token in the usual volume, for clients that never read the file again."""
_BOUND = {("Pod", "v1"): PODS, ("Secret", "v1"): SECRETS, ("Node", "v1"): NODES}
_TOKENS = ServedResource("authentication.k8s.io", "v1", "tokenrequests", "tokenrequest", "TokenRequest", True)


def request_token(context: Context, call: ResourceCall) -> Answer:
    """Issue a token. Raises StatusError: 404 (no account or bound object), 409 (another UID), 422."""
    account, core = context.find(call), context.core
    spec: Json = asked_body(call).get("spec") or {}
    bound, seconds = spec.get("boundObjectRef"), spec.get("expirationSeconds")
    seconds = 3600 if seconds is None else int(seconds)
    if not SHORTEST_S <= seconds <= LONGEST_S:
        limit = "less than 10 minutes" if seconds < SHORTEST_S else "larger than 2^32 seconds"
        cause = invalid_value("spec.expirationSeconds", seconds, f"may not specify a duration {limit}")
        raise invalid(_TOKENS, call.name, [cause])
    audiences = list(spec.get("audiences") or [core.options.issuer])
    now_s = core.wall_ns() // SECOND_NS
    extended = seconds == TOKEN_SECONDS and audiences == [core.options.issuer] and bound
    of_cluster: Json = {
        "namespace": call.namespace,
        "serviceaccount": {"name": call.name, "uid": account.uid},
        **(_bound(context, call, bound) if bound else {}),
        **({"warnafter": now_s + seconds} if extended else {}),
    }
    claims = {
        "aud": audiences,
        "exp": now_s + (EXTENDED_S if extended else seconds),
        "iat": now_s,
        "iss": core.options.issuer,
        "jti": core.new_uid(),
        "kubernetes.io": of_cluster,
        "nbf": now_s,
        "sub": f"system:serviceaccount:{call.namespace}:{call.name}",
    }
    value = {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": call.name, "namespace": call.namespace, "creationTimestamp": core.timestamp()},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
        "status": {
            "token": context.authenticator.sign(claims),
            "expirationTimestamp": second_text(now_s + seconds),
        },
    }
    return JsonAnswer(value, 201)


def _bound(context: Context, call: ResourceCall, reference: Json) -> Json:
    """The claims of the object that the token is bound to. Raises StatusError."""
    kind, name, uid = (reference.get(field, "") for field in ("kind", "name", "uid"))
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
    claims: Json = {kind.lower(): {"name": name, "uid": found.uid}}
    if resource is PODS:
        account = found.object["spec"].get("serviceAccountName", "")
        if account != call.name:
            raise bad_request(f"cannot bind token to pod {name}: it uses service account {account!r}")
        if found.node:
            node = store.get(NODES.store_key, "", found.node)
            claims["node"] = {"name": found.node, "uid": "" if node is None else node.uid}
    return claims
