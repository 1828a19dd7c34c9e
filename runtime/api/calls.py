"""Requests to an API server as data: one value per request, with the reader of its answer.

A call is made here and passed to an `Api`, which knows connections but no resources. Paths, queries and bodies follow
the Kubernetes API conventions (resourceVersion, field and label selectors, limit and continue, preconditions, patch
types by content type).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from config.api.resources import Resource, read_object
from config.documents.codec import encode
from config.objects import ApiObject

K = TypeVar("K", bound=ApiObject)
V = TypeVar("V", bound=ApiObject)
R = TypeVar("R")
C = TypeVar("C", bound="ApiCall[Any] | WatchCall[Any]")

Query = tuple[tuple[str, str], ...]


class PatchType(enum.StrEnum):
    """The patch formats, by their content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class ApiCall(msgspec.Struct, Generic[R], frozen=True):
    """One request.

    `path` begins with a slash; `what` is text such as "patch pods/status"; `namespace` and `name`: of the object, or
    empty.

    `read` makes the answer from the body of a 2xx response; raises DocumentError. `content`: the request body, as text
    or as a document of dict, list, str and numbers. A document must not change any more; it becomes text when it is
    sent over a connection. `kind`: the kind of an answer that is one object. `turn_of`, `urgent`: see `in_turn_of`.
    """

    method: str
    path: str
    what: str
    namespace: str
    name: str
    read: Callable[[bytes], R]
    query: Query = ()
    content: bytes | dict[str, Any] | None = None
    content_type: str = "application/json"
    kind: type[ApiObject] | None = None
    turn_of: str = ""
    urgent: bool = False

    @property
    def body(self) -> bytes | None:
        """The request body as text."""
        content = self.content
        return msgspec.json.encode(content) if isinstance(content, dict) else content

    @property
    def verb(self) -> str:
        """The call as in logs and errors: "patch pods/status default/web". Most calls never need it."""
        return f"{self.what} {_where(self.namespace, self.name)}".rstrip()


class WatchCall(msgspec.Struct, Generic[K], frozen=True):
    """One watch. `query` has watch=true and the version to begin at; the rest is as in an ApiCall."""

    path: str
    what: str
    namespace: str
    kind: type[K]
    query: Query = ()
    turn_of: str = ""
    urgent: bool = False

    @property
    def verb(self) -> str:
        """See `ApiCall.verb`."""
        return f"{self.what} {self.namespace}".rstrip()


class ObjectList(msgspec.Struct, Generic[K], frozen=True):
    """Objects as of `resource_version`. `continue_` is not empty when more are to be asked for."""

    items: tuple[K, ...]
    resource_version: str
    continue_: str = ""


class WatchEvent(msgspec.Struct, Generic[K], frozen=True):
    """ADDED, MODIFIED or DELETED with the object, or BOOKMARK (None).

    With a bookmark, every change up to `resource_version` has been sent.
    """

    type: str
    object: K | None
    resource_version: str


def get(resource: Resource[K], namespace: str, name: str, *, resource_version: str = "") -> ApiCall[K]:
    """Read one object; `resource_version` "0" accepts an answer from the server's cache."""
    query = _query(resourceVersion=resource_version)
    return _one("GET", "get", resource, namespace, name, query=query)


def list_objects(
    resource: Resource[K],
    namespace: str = "",
    *,
    field_selector: str = "",
    label_selector: str = "",
    resource_version: str = "",
    limit: int = 0,
    continue_: str = "",
) -> ApiCall[ObjectList[K]]:
    """Read many objects, of all namespaces when `namespace` is empty."""
    query = _query(
        fieldSelector=field_selector,
        labelSelector=label_selector,
        resourceVersion=resource_version,
        limit=str(limit) if limit else "",
        **{"continue": continue_},
    )
    return ApiCall("GET", resource.path(namespace), _what("list", resource), namespace, "", _many(resource), query)


def watch_objects(
    resource: Resource[K],
    namespace: str = "",
    *,
    resource_version: str,
    field_selector: str = "",
    label_selector: str = "",
    timeout_seconds: int = 0,
) -> WatchCall[K]:
    """Changes after `resource_version`, with bookmarks.

    `timeout_seconds` 0: the server chooses when it ends.
    """
    query = _query(
        watch="true",
        allowWatchBookmarks="true",
        resourceVersion=resource_version,
        fieldSelector=field_selector,
        labelSelector=label_selector,
        timeoutSeconds=str(timeout_seconds) if timeout_seconds else "",
    )
    return WatchCall(resource.path(namespace), _what("watch", resource), namespace, resource.kind, query)


def create(resource: Resource[Any], namespace: str, value: V, *, name: str = "", subresource: str = "") -> ApiCall[V]:
    """Create `value`.

    With a `subresource` of the object called `name` (a token of a service account, say).
    """
    kind = type(value)
    path = resource.path(namespace, name, subresource)
    what, called = _what("create", resource, subresource), name or value_name(value)
    return ApiCall(
        "POST", path, what, namespace, called, lambda body: read_object(body, kind), content=encode(value), kind=kind
    )


def create_unread(resource: Resource[Any], namespace: str, name: str, value: dict[str, Any]) -> ApiCall[None]:
    """Create an object given as JSON with its type; the answer is not read."""
    path, what = resource.path(namespace), _what("create", resource)
    return ApiCall("POST", path, what, namespace, name, nothing, content=value)


def update(resource: Resource[K], namespace: str, value: K, *, subresource: str = "") -> ApiCall[K]:
    """Replace an object; fails with a conflict when its resourceVersion is not the current one."""
    name, content = value_name(value), encode(value)
    return _one("PUT", "update", resource, namespace, name, subresource, content=content)


def patch(
    resource: Resource[K],
    namespace: str,
    name: str,
    body: dict[str, Any] | list[dict[str, Any]],
    *,
    patch_type: PatchType = PatchType.STRATEGIC,
    subresource: str = "",
) -> ApiCall[K]:
    """Change parts of an object.

    A `metadata.uid` in a merge patch makes another object of that name a conflict.
    """
    content = msgspec.json.encode(body)
    return _one("PATCH", "patch", resource, namespace, name, subresource, content=content, content_type=patch_type)


def delete(
    resource: Resource[K], namespace: str, name: str, *, grace_seconds: int | None = None, uid: str = ""
) -> ApiCall[None]:
    """Delete an object; with `uid` only the object of that UID (otherwise a conflict)."""
    options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if uid:
        options["preconditions"] = {"uid": uid}
    path, what = resource.path(namespace, name), _what("delete", resource)
    return ApiCall("DELETE", path, what, namespace, name, nothing, content=options)


def delete_all(resource: Resource[Any], namespace: str, *, field_selector: str) -> ApiCall[None]:
    """Delete all objects that the selector chooses."""
    path, what = resource.path(namespace, ""), _what("deletecollection", resource)
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    query = _query(fieldSelector=field_selector)
    return ApiCall("DELETE", path, what, namespace, "", nothing, query=query, content=options)


def _one(
    method: str, verb: str, resource: Resource[K], namespace: str, name: str, subresource: str = "", **more: Any
) -> ApiCall[K]:
    """A call about one object, whose answer is the object."""
    path, what = resource.path(namespace, name, subresource), _what(verb, resource, subresource)
    return ApiCall(method, path, what, namespace, name, resource.decode, kind=resource.kind, **more)


def value_name(value: ApiObject) -> str:
    """The name in an object's metadata; empty where it has none."""
    metadata: Any = getattr(value, "metadata", None)
    return "" if metadata is None else metadata.name


def _many(resource: Resource[K]) -> Callable[[bytes], ObjectList[K]]:
    def read(body: bytes) -> ObjectList[K]:
        listed = _LIST.decode(body)
        items = tuple(resource.decode(bytes(item)) for item in listed.items or ())
        return ObjectList(items, listed.metadata.resource_version, listed.metadata.continue_ or "")

    return read


def in_turn_of(call: C, whose: str, *, urgent: bool = False) -> C:
    """The same call, made for a pod (its UID), for a client of the node's port, or for the node (empty).

    They take turns where calls wait for a rate limit. `urgent`: before the others; for critical pods.
    """
    return msgspec.structs.replace(call, turn_of=whose, urgent=urgent) if whose else call


def unread(call: ApiCall[Any]) -> ApiCall[None]:
    """The same call; its answer is not read."""
    return msgspec.structs.replace(call, read=nothing, kind=None)


def nothing(_: bytes) -> None:
    """`ApiCall.read` for calls whose answer nobody needs."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class _RawList(msgspec.Struct):
    """A list of any kind, its items unread."""

    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


_LIST = msgspec.json.Decoder(_RawList)


def _query(**parts: str) -> Query:
    return tuple((name, value) for name, value in parts.items() if value)


def _what(verb: str, resource: Resource[Any], subresource: str = "") -> str:
    return f"{verb} {resource.plural}/{subresource}" if subresource else f"{verb} {resource.plural}"


def _where(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace and name else namespace or name
