"""What there is on the node's server: every path with its methods, and which of them are for debugging (spec 11.2).

Pure. A path that is not here is 404, a method that is not is 405; both are told only to those who may ask.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.http_server.heads import Refusal

DEBUG_DISABLED = "Debug endpoints are disabled."


class Endpoint(enum.Enum):
    """What is asked for."""

    HEALTH = "health"
    READY = "ready"
    PODS = "pods"
    RUNNING_PODS = "running pods"
    LOGS = "logs of a container"
    EXEC = "exec"
    ATTACH = "attach"
    PORT_FORWARD = "port forward"
    RUN = "run"
    CONFIGURATION = "configuration"
    STATUS = "status"
    FLAGS = "flags"


UPGRADED = frozenset({Endpoint.EXEC, Endpoint.ATTACH, Endpoint.PORT_FORWARD})


@dataclass(frozen=True, slots=True)
class Route:
    """One path. A part in braces is a name."""

    pattern: str
    endpoint: Endpoint
    methods: tuple[str, ...] = ("GET",)
    debug: bool = False

    def match(self, path: str) -> Mapping[str, str] | None:
        """The names in `path`; None when it is another."""
        wanted, given = self.pattern.split("/"), path.split("/")
        if len(wanted) != len(given):
            return None
        names = {}
        for want, have in zip(wanted, given, strict=True):
            if want.startswith("{") and have:
                names[want.strip("{}")] = have
            elif want != have:
                return None
        return names


_GET_POST = ("GET", "POST")
_IN_CONTAINER = ("{namespace}/{pod}/{container}", "{namespace}/{pod}/{uid}/{container}")
_IN_POD = ("{namespace}/{pod}", "{namespace}/{pod}/{uid}")

ROUTES = (
    Route("/healthz", Endpoint.HEALTH),
    Route("/healthz/{check}", Endpoint.HEALTH),
    Route("/livez", Endpoint.HEALTH),
    Route("/livez/{check}", Endpoint.HEALTH),
    Route("/readyz", Endpoint.READY),
    Route("/readyz/{check}", Endpoint.READY),
    Route("/pods", Endpoint.PODS),
    Route("/runningpods/", Endpoint.RUNNING_PODS, debug=True),
    Route("/runningpods", Endpoint.RUNNING_PODS, debug=True),
    Route("/containerLogs/{namespace}/{pod}/{container}", Endpoint.LOGS, debug=True),
    *(Route(f"/exec/{each}", Endpoint.EXEC, _GET_POST, debug=True) for each in _IN_CONTAINER),
    *(Route(f"/attach/{each}", Endpoint.ATTACH, _GET_POST, debug=True) for each in _IN_CONTAINER),
    *(Route(f"/portForward/{each}", Endpoint.PORT_FORWARD, _GET_POST, debug=True) for each in _IN_POD),
    *(Route(f"/run/{each}", Endpoint.RUN, ("POST",), debug=True) for each in _IN_CONTAINER),
    Route("/configz", Endpoint.CONFIGURATION, debug=True),
    Route("/statusz", Endpoint.STATUS, debug=True),
    Route("/flagz", Endpoint.FLAGS, debug=True),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """An endpoint, and the names in its path."""

    endpoint: Endpoint
    names: Mapping[str, str]


def asked(method: str, path: str, *, debug: bool) -> Asked:
    """What a request is for. `debug`: whether those endpoints are there. Raises Refusal."""
    allowed: tuple[str, ...] = ()
    for route in ROUTES:
        names = route.match(path)
        if names is None:
            continue
        if route.debug and not debug:
            raise Refusal(405, DEBUG_DISABLED)
        if method in route.methods or (method == "HEAD" and "GET" in route.methods):
            return Asked(route.endpoint, names)
        allowed += route.methods
    if allowed:
        raise Refusal(405, "405: Method Not Allowed", (("Allow", ", ".join(sorted(set(allowed)))),))
    raise Refusal(404, f"there is no {path}")
