"""What a request asks to be allowed, by method and path (spec 11.4)."""

from __future__ import annotations

import pytest

from runtime.http_server.auth.access import RequestAttributes, RequestUser, attributes_of, forbidden

SUBRESOURCES = {
    "/stats": "stats",
    "/stats/summary": "stats",
    "/metrics": "metrics",
    "/metrics/cadvisor": "metrics",
    "/metrics/probes": "metrics",
    "/logs/": "log",
    "/logs/messages": "log",
    "/checkpoint/a/b/c": "checkpoint",
    "/statusz": "statusz",
    "/flagz": "configz",
    "/pods": "pods proxy",
    "/pods/": "pods proxy",
    "/runningpods/": "pods proxy",
    "/healthz": "healthz proxy",
    "/healthz/ping": "healthz proxy",
    "/configz": "configz proxy",
    "/podsandmore": "proxy",
    "/livez": "proxy",
    "/readyz": "proxy",
    "/containerLogs/a/b/c": "proxy",
    "/exec/a/b/c": "proxy",
    "/attach/a/b/c": "proxy",
    "/portForward/a/b": "proxy",
    "/run/a/b/c": "proxy",
    "/debug/pprof/": "proxy",
    "/": "proxy",
    "/nothing": "proxy",
}
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "HEAD": "", "X": ""}


@pytest.mark.parametrize("method", VERBS)
@pytest.mark.parametrize("path", SUBRESOURCES)
# (spec 11.4.3)
def test_every_path_and_method(method: str, path: str) -> None:
    expected = tuple(RequestAttributes(VERBS[method], each) for each in SUBRESOURCES[path].split())
    assert attributes_of(method, path) == expected


# (spec 11.4.4)
def test_a_forbidden_answer_names_the_missing_permission() -> None:
    told = forbidden(RequestUser("bob"), attributes_of("GET", "/pods"))
    assert told == "Forbidden (user=bob, verb=get, resource=nodes, subresource(s)=[pods proxy])"
