"""The permissions that a request to the node needs (spec 11.4). Pure.

Every request is an operation on the resource `nodes` in core v1, with this node's name. The method decides the verb,
and the path the subresources. Permission for one of them is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

RESOURCE = "nodes"
PROXY = "proxy"
_VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PATHS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("/stats", ("stats",)),
    ("/metrics", ("metrics",)),
    ("/logs", ("log",)),
    ("/checkpoint", ("checkpoint",)),
    ("/statusz", ("statusz",)),
    ("/flagz", ("configz",)),
    ("/pods", ("pods", PROXY)),
    ("/runningpods", ("pods", PROXY)),
    ("/healthz", ("healthz", PROXY)),
    ("/configz", ("configz", PROXY)),
)


@dataclass(frozen=True, slots=True)
class RequestUser:
    """The authenticated user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = RequestUser("system:anonymous", ("system:unauthenticated",))
AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class RequestAttributes:
    """One operation. An unknown method is the empty verb, which no rule names."""

    verb: str
    subresource: str


def attributes_of(method: str, path: str) -> tuple[RequestAttributes, ...]:
    """The operations to check in this order, until one is allowed."""
    verb = _VERBS.get(method, "")
    return tuple(RequestAttributes(verb, each) for each in _subresources(path))


def _subresources(path: str) -> tuple[str, ...]:
    for prefix, subresources in _PATHS:
        if path == prefix or path.startswith(f"{prefix}/"):
            return subresources
    return (PROXY,)


def forbidden(user: RequestUser, attributes: tuple[RequestAttributes, ...]) -> str:
    """The text of a 403 answer."""
    named = " ".join(each.subresource for each in attributes)
    return f"Forbidden (user={user.name}, verb={attributes[0].verb}, resource={RESOURCE}, subresource(s)=[{named}])"
