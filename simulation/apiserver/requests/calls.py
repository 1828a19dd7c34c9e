"""A request to the server, and what it asks for.

`ApiRequest` comes from a front. `target_of` reads the path once: which resource, namespace, name and part of an
object. `ResourceCall` is the request with all that is read out of it, which the verbs work on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from simulation.apiserver.kinds.table import ServedResource, SubResource, find
from simulation.apiserver.requests.bodies import JSON, read_body, repeated_keys
from simulation.apiserver.requests.options import check_options, is_set
from simulation.apiserver.schemas.go_types import json_type
from simulation.apiserver.status import Json, StatusError, bad_request, method_not_allowed, no_such_path
from simulation.apiserver.store.selection import Selection, selection
from simulation.webhooks.reviews import Admission


@dataclass(frozen=True, slots=True)
class ApiUser:
    """The user of a request. `extra` as in a UserInfo (the pod of a token, say)."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    node: str = field(init=False)
    """The node whose agent this is; empty for anybody else."""

    def __post_init__(self) -> None:
        is_node = self.name.startswith("system:node:") and "system:nodes" in self.groups
        object.__setattr__(self, "node", self.name.removeprefix("system:node:") if is_node else "")


def user_info(user: ApiUser) -> Json:
    """A user as the UserInfo in reviews."""
    info = {"username": user.name, "groups": user.groups, "uid": user.uid, "extra": user.extra}
    return {name: part for name, part in info.items() if part or name in ("username", "groups")}


ADMIN = ApiUser("kubernetes-admin", ("system:masters", "system:authenticated"))

Query = tuple[tuple[str, str], ...]


class ApiRequest(msgspec.Struct, frozen=True):
    """One HTTP request, without its connection."""

    method: str
    path: str
    query: Query = ()
    body: bytes | Json = b""
    """As text.

    Or the document that it says, from who stands beside the server and need not write it down to be read again. Nobody
    changes that.
    """
    content_type: str = JSON
    user: ApiUser = ADMIN
    admission: Admission | None = None
    """The verdicts of webhooks; None for a request that no webhook reviews."""
    user_agent: str = ""
    """The program that asks, as its User-Agent says."""


class Target(msgspec.Struct, frozen=True):
    """The target of a path. Without a name it is the collection; with `sub` a subresource of the object."""

    resource: ServedResource
    namespace: str
    name: str
    subresource: str = ""
    sub: SubResource | None = None
    rest: str = ""
    """The rest of the path after the subresource: the path to proxy."""


Find = Callable[[str, str, str], ServedResource | None]
"""(group, version, plural) -> the resource of that name."""


def target_of(path: str) -> Target:
    """The target of a path among the built-in resources. Raises StatusError (404)."""
    return read_target(path, find)


def read_target(path: str, find_resource: Find) -> Target:
    """The target of a path among the resources that `find_resource` knows. Raises StatusError (404)."""
    parts = path.strip("/").split("/")
    if "" in parts:
        parts = [part for part in parts if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_such_path()
    namespace = ""
    # "namespaces/x/status" is a part of the namespace x, "namespaces/x/pods" the pods in it.
    if rest[0] == "namespaces" and len(rest) >= 3 and not (group == "" and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    resource = find_resource(group, version, rest[0])
    if resource is None or (namespace and not resource.namespaced):
        raise no_such_path()
    name = rest[1] if len(rest) > 1 else ""
    if name and resource.namespaced and not namespace:
        raise no_such_path()
    if len(rest) <= 2:
        return Target(resource, namespace, name)
    sub = resource.subresources.get(rest[2])
    if sub is None or (len(rest) > 3 and rest[2] != "proxy"):
        raise no_such_path()
    return Target(resource, namespace, name, rest[2], sub, "/".join(rest[3:]))


_VERBS = {"PUT": "update", "PATCH": "patch", "POST": "create"}


def verb_of(method: str, resource: ServedResource, sub: SubResource | None, named: bool, watch: bool = False) -> str:
    """The verb in Kubernetes' sense, for one object (`named`) or the collection.

    Raises StatusError (405) when the resource, or the part `sub` of it, does not have it.
    """
    if method in ("GET", "HEAD"):
        verb = "get" if named else "watch" if watch else "list"
    elif method == "DELETE":
        verb = "delete" if named else "deletecollection"
    else:
        verb = _VERBS.get(method, "")
    verbs = resource.verbs if sub is None else sub.verbs
    needs_name = verb in ("update", "patch") and not named
    if verb not in verbs or needs_name or (verb == "create" and named and sub is None):
        raise method_not_allowed()
    return verb


class ResourceCall(msgspec.Struct, eq=False):
    """A parsed request.

    `warnings` go into the answer's headers. `resource`, `namespace` and `name` are those of the target.
    """

    request: ApiRequest
    target: Target
    resource: ServedResource
    namespace: str
    name: str
    verb: str
    query: Mapping[str, str]
    dry_run: bool = False
    warnings: list[str] = []

    @property
    def user(self) -> ApiUser:
        """The user of the request."""
        return self.request.user

    def selection(self) -> Selection:
        """The label and field selectors of the query. Raises StatusError (400)."""
        query = self.query
        return selection(self.resource, query.get("labelSelector", ""), query.get("fieldSelector", ""))

    def flag(self, name: str) -> bool:
        return is_set(self.query.get(name))

    def body(self) -> Any:
        """The document in the body. Raises StatusError (400, 413, 415)."""
        body = self.request.body
        return read_body(body, self.request.content_type) if isinstance(body, bytes) else body

    def repeated_keys(self) -> tuple[str, ...]:
        """What a strict decoder says of keys that the body has twice."""
        body = self.request.body
        return repeated_keys(body, self.request.content_type) if body and isinstance(body, bytes) else ()

    def object_body(self) -> Json:
        """The object in the body. Raises StatusError."""
        value = self.body()
        if not isinstance(value, dict):
            raise bad_request(_no_object(self.resource.kind, value, self.request.body))
        return value


_SUMMARY_BYTES = 30
_IDENTITY = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def _no_object(kind: str, value: Any, body: Any) -> str:
    """What a kube-apiserver says of a body that is no object, with the beginning of it in hex."""
    read = body[:_SUMMARY_BYTES].hex() if isinstance(body, bytes) else ""
    more = " ..." if isinstance(body, bytes) and len(body) > _SUMMARY_BYTES else ""
    wrong = f"json: cannot unmarshal {json_type(value)} into Go value of type {_IDENTITY} ({read}{more})"
    return (
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
        f"json parse error: {wrong}"
    )


def call_to(
    target: Target, request: ApiRequest, verb: str, query: Mapping[str, str], dry_run: bool = False
) -> ResourceCall:
    """The call of that request, which may be for another target than its path says."""
    return ResourceCall(request, target, target.resource, target.namespace, target.name, verb, query, dry_run)


_NO_QUERY: Mapping[str, str] = {}


def call_of(request: ApiRequest, find_custom: Find | None = None) -> ResourceCall:
    """`find_custom`: the resources that this server alone has. Raises StatusError."""
    try:
        target = target_of(request.path)
    except StatusError:
        if find_custom is None:
            raise
        target = read_target(request.path, find_custom)
    resource, name = target.resource, target.name
    if not request.query:
        verb = verb_of(request.method, resource, target.sub, name != "")
        return ResourceCall(request, target, resource, target.namespace, name, verb, _NO_QUERY)
    query = dict(request.query)
    watch = is_set(query.get("watch"))
    verb = verb_of(request.method, resource, target.sub, name != "", watch)
    check_options(verb, query)
    dry_run = query.get("dryRun", "") == "All"
    return ResourceCall(request, target, resource, target.namespace, name, verb, query, dry_run)
