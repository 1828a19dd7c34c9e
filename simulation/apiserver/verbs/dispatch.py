"""Which function carries out a request: that of its verb, or a special one of a part or a review."""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import Answer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.verbs.bind import bind
from simulation.apiserver.verbs.delete import delete, delete_collection
from simulation.apiserver.verbs.evictions import evict
from simulation.apiserver.verbs.node_parts import node_proxy, pod_log, pod_portforward, pod_stream
from simulation.apiserver.verbs.read import list_objects, read
from simulation.apiserver.verbs.reviews import may_i, may_somebody, my_rules, token_review, who_am_i
from simulation.apiserver.verbs.scale import scale
from simulation.apiserver.verbs.token_request import request_token
from simulation.apiserver.verbs.watch import watch
from simulation.apiserver.verbs.write import create, patch, update

Handler = Callable[[Context, ResourceCall], Answer]

_PARTS: dict[tuple[str, str], Handler] = {
    ("pods", "attach"): pod_stream,
    ("pods", "binding"): bind,
    ("pods", "eviction"): evict,
    ("pods", "exec"): pod_stream,
    ("pods", "log"): pod_log,
    ("pods", "portforward"): pod_portforward,
    ("nodes", "proxy"): node_proxy,
    ("serviceaccounts", "token"): request_token,
    ("bindings", ""): bind,
    ("localsubjectaccessreviews.authorization.k8s.io", ""): may_somebody,
    ("selfsubjectaccessreviews.authorization.k8s.io", ""): may_i,
    ("selfsubjectreviews.authentication.k8s.io", ""): who_am_i,
    ("selfsubjectrulesreviews.authorization.k8s.io", ""): my_rules,
    ("subjectaccessreviews.authorization.k8s.io", ""): may_somebody,
    ("tokenreviews.authentication.k8s.io", ""): token_review,
}
"""Special handlers: (resource, part)."""

_VERBS: dict[str, Handler] = {
    "create": create,
    "delete": delete,
    "deletecollection": delete_collection,
    "get": read,
    "list": list_objects,
    "patch": patch,
    "update": update,
    "watch": watch,
}


def handler_of(resource: ServedResource, part: str, verb: str) -> Handler:
    """The handler of a request to a resource, or to that part of it."""
    special = _PARTS.get((resource.group_resource, part))
    return special or (scale if part == "scale" else _VERBS[verb])
