"""Every path of the node's server with its methods, and which switches it needs (spec 11.2).

Pure. An unknown path is 404, and a method that a path does not have is 405. Only authorized clients see that. A path
whose switch is off says so.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.http_server.heads import HttpRefusal

DEBUG_DISABLED = "Debug endpoints are disabled."


class ServerEndpoint(enum.Enum):
    """The endpoint of a request."""

    HEALTH = "health"
    READY = "ready"
    PODS = "pods"
    RUNNING_PODS = "running pods"
    LOGS = "logs of a container"
    EXEC = "exec"
    ATTACH = "attach"
    PORT_FORWARD = "port forward"
    RUN = "run"
    CHECKPOINT = "checkpoint"
    SYSTEM_LOGS = "logs of the node"
    CONFIGURATION = "configuration"
    STATUS = "status"
    FLAGS = "flags"
    PROFILES = "profiles"
    VERBOSITY = "verbosity"
    MANIFESTS = "manifests"
    OBSERVER = "observer"
    OBSERVER_STREAM = "what an observer sees"
    OBSERVER_POD = "a pod's timeline"
    SUMMARY = "summary"
    METRICS = "metrics"


UPGRADED = frozenset({ServerEndpoint.EXEC, ServerEndpoint.ATTACH, ServerEndpoint.PORT_FORWARD})
STREAMED = frozenset({ServerEndpoint.LOGS, ServerEndpoint.OBSERVER_STREAM})
"""Answers whose length is not known when they begin: nobody can have the head of one alone."""


class Switch(enum.Enum):
    """The switches; the value is the answer while the switch is off."""

    DEBUG = 405, DEBUG_DISABLED
    PROFILING = 405, "profiling endpoint is disabled."
    VERBOSITY = 405, "flags endpoint is disabled."
    SYSTEM_LOGS = 405, "logs endpoint is disabled."
    CHECKPOINT = 404, "checkpoints are off: the feature gate ContainerCheckpoint is"
    STATUSZ = 404, "statusz is off: the feature gate ComponentStatusz is"
    FLAGZ = 404, "flagz is off: the feature gate ComponentFlagz is"
    MANIFESTS = 404, "manifests are not taken over HTTP; --accept-manifests switches that on"


EVERYTHING = frozenset(Switch)


@dataclass(frozen=True, slots=True)
class Route:
    """One path.

    A part in braces is a name. A part with a star, at the end, is the rest of the path, empty or not.
    """

    pattern: str
    endpoint: ServerEndpoint
    methods: tuple[str, ...] = ("GET",)
    needs: tuple[Switch, ...] = ()

    def match(self, path: str) -> Mapping[str, str] | None:
        """The names in `path`; None when it is another."""
        wanted, given = self.pattern.split("/"), path.split("/")
        names = {}
        if wanted[-1].startswith("{*"):
            if len(given) < len(wanted):
                return None
            name = wanted.pop()[2:-1]
            names[name] = "/".join(given[len(wanted) :])
            given = given[: len(wanted)]
        if len(wanted) != len(given):
            return None
        for want, have in zip(wanted, given, strict=True):
            if want.startswith("{") and have:
                names[want.strip("{}")] = have
            elif want != have:
                return None
        return names


_GET_POST = ("GET", "POST")
_IN_CONTAINER = ("{namespace}/{pod}/{container}", "{namespace}/{pod}/{uid}/{container}")
_IN_POD = ("{namespace}/{pod}", "{namespace}/{pod}/{uid}")
_DEBUG = (Switch.DEBUG,)
_CHECKPOINT = (Switch.DEBUG, Switch.CHECKPOINT)
_SYSTEM_LOGS = (Switch.DEBUG, Switch.SYSTEM_LOGS)
_MANIFESTS = (Switch.MANIFESTS,)

ROUTES = (
    Route("/healthz", ServerEndpoint.HEALTH),
    Route("/healthz/{check}", ServerEndpoint.HEALTH),
    Route("/livez", ServerEndpoint.HEALTH),
    Route("/livez/{check}", ServerEndpoint.HEALTH),
    Route("/readyz", ServerEndpoint.READY),
    Route("/readyz/{check}", ServerEndpoint.READY),
    Route("/pods", ServerEndpoint.PODS),
    Route("/stats/summary", ServerEndpoint.SUMMARY, _GET_POST),
    Route("/stats/summary/", ServerEndpoint.SUMMARY, _GET_POST),
    Route("/metrics", ServerEndpoint.METRICS),
    *(Route(f"/metrics/{page}", ServerEndpoint.METRICS) for page in ("cadvisor", "probes", "resource", "slis")),
    Route("/runningpods/", ServerEndpoint.RUNNING_PODS, needs=_DEBUG),
    Route("/runningpods", ServerEndpoint.RUNNING_PODS, needs=_DEBUG),
    Route("/containerLogs/{namespace}/{pod}/{container}", ServerEndpoint.LOGS, needs=_DEBUG),
    *(Route(f"/exec/{each}", ServerEndpoint.EXEC, _GET_POST, _DEBUG) for each in _IN_CONTAINER),
    *(Route(f"/attach/{each}", ServerEndpoint.ATTACH, _GET_POST, _DEBUG) for each in _IN_CONTAINER),
    *(Route(f"/portForward/{each}", ServerEndpoint.PORT_FORWARD, _GET_POST, _DEBUG) for each in _IN_POD),
    *(Route(f"/run/{each}", ServerEndpoint.RUN, ("POST",), _DEBUG) for each in _IN_CONTAINER),
    Route("/checkpoint/{namespace}/{pod}/{container}", ServerEndpoint.CHECKPOINT, ("POST",), _CHECKPOINT),
    Route("/logs/{*file}", ServerEndpoint.SYSTEM_LOGS, needs=_SYSTEM_LOGS),
    Route("/logs", ServerEndpoint.SYSTEM_LOGS, needs=_SYSTEM_LOGS),
    Route("/configz", ServerEndpoint.CONFIGURATION, needs=_DEBUG),
    Route("/statusz", ServerEndpoint.STATUS, needs=(Switch.DEBUG, Switch.STATUSZ)),
    Route("/flagz", ServerEndpoint.FLAGS, needs=(Switch.DEBUG, Switch.FLAGZ)),
    Route("/debug/pprof/{*profile}", ServerEndpoint.PROFILES, needs=(Switch.DEBUG, Switch.PROFILING)),
    Route("/debug/flags/v", ServerEndpoint.VERBOSITY, ("PUT",), (Switch.DEBUG, Switch.VERBOSITY)),
    Route("/manifests", ServerEndpoint.MANIFESTS, _GET_POST, _MANIFESTS),
    Route("/manifests/{namespace}/{name}", ServerEndpoint.MANIFESTS, ("GET", "DELETE"), _MANIFESTS),
    Route("/ui", ServerEndpoint.OBSERVER, needs=_DEBUG),
    Route("/ui/{file}", ServerEndpoint.OBSERVER, needs=_DEBUG),
    Route("/ui/live/stream", ServerEndpoint.OBSERVER_STREAM, needs=_DEBUG),
    Route("/ui/pods/{uid}", ServerEndpoint.OBSERVER_POD, needs=_DEBUG),
)


def paths_of(on: frozenset[Switch]) -> tuple[str, ...]:
    """The paths that are served while these switches are on, without the names in them."""
    return tuple(route.pattern.partition("{")[0] for route in ROUTES if on.issuperset(route.needs))


@dataclass(frozen=True, slots=True)
class Asked:
    """An endpoint, and the names in its path."""

    endpoint: ServerEndpoint
    names: Mapping[str, str]
    pattern: str = ""
    """The path pattern of its route."""


def asked(method: str, path: str, on: frozenset[Switch]) -> Asked:
    """The route of a request. `on`: the enabled switches. Raises HttpRefusal."""
    allowed: tuple[str, ...] = ()
    for route in ROUTES:
        names = route.match(path)
        if names is None:
            continue
        for need in route.needs:
            if need not in on:
                raise HttpRefusal(*need.value)
        if method in route.methods or (method == "HEAD" and "GET" in route.methods and route.endpoint not in STREAMED):
            return Asked(route.endpoint, names, route.pattern)
        allowed += route.methods
    if allowed:
        raise HttpRefusal(405, "405: Method Not Allowed", (("Allow", ", ".join(sorted(set(allowed)))),))
    raise HttpRefusal(404, f"there is no {path}")
