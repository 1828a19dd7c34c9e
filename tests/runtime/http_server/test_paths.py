"""Which route a path is of, and the names in it."""

from __future__ import annotations

import pytest

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.paths import EVERYTHING, ServerEndpoint, asked


@pytest.mark.parametrize(
    ("path", "endpoint", "names"),
    [
        ("/pods", ServerEndpoint.PODS, {}),
        ("/runningpods/", ServerEndpoint.RUNNING_PODS, {}),
        ("/healthz/ping", ServerEndpoint.HEALTH, {"check": "ping"}),
        ("/containerLogs/ns/web/main", ServerEndpoint.LOGS, {"namespace": "ns", "pod": "web", "container": "main"}),
        ("/exec/ns/web/main", ServerEndpoint.EXEC, {"namespace": "ns", "pod": "web", "container": "main"}),
        (
            "/exec/ns/web/1-2/main",
            ServerEndpoint.EXEC,
            {"namespace": "ns", "pod": "web", "uid": "1-2", "container": "main"},
        ),
        ("/portForward/ns/web", ServerEndpoint.PORT_FORWARD, {"namespace": "ns", "pod": "web"}),
        ("/portForward/ns/web/1-2", ServerEndpoint.PORT_FORWARD, {"namespace": "ns", "pod": "web", "uid": "1-2"}),
        ("/logs", ServerEndpoint.SYSTEM_LOGS, {}),
        ("/logs/", ServerEndpoint.SYSTEM_LOGS, {"file": ""}),
        ("/logs/syslog", ServerEndpoint.SYSTEM_LOGS, {"file": "syslog"}),
        ("/logs/deep/", ServerEndpoint.SYSTEM_LOGS, {"file": "deep/"}),
        ("/logs/deep/er/file", ServerEndpoint.SYSTEM_LOGS, {"file": "deep/er/file"}),
        ("/debug/pprof/", ServerEndpoint.PROFILES, {"profile": ""}),
        ("/debug/pprof/profile", ServerEndpoint.PROFILES, {"profile": "profile"}),
    ],
)
def test_the_names_in_a_path(path: str, endpoint: ServerEndpoint, names: dict[str, str]) -> None:
    found = asked("POST" if endpoint is ServerEndpoint.EXEC else "GET", path, EVERYTHING)
    assert (found.endpoint, found.names) == (endpoint, names)


def test_head_requests_for_streams_are_refused() -> None:
    """Their length is unknown, and a client that follows a log would wait for ever."""
    assert asked("HEAD", "/pods", EVERYTHING).endpoint is ServerEndpoint.PODS
    for path in ("/containerLogs/ns/web/main", "/ui/live/stream"):
        with pytest.raises(HttpRefusal) as refused:
            asked("HEAD", path, EVERYTHING)
        assert (refused.value.status, refused.value.headers) == (405, (("Allow", "GET"),))
