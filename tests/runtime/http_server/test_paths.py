"""Which route a path is of, and the names in it."""

from __future__ import annotations

import pytest

from runtime.http_server.heads import Refusal
from runtime.http_server.paths import EVERYTHING, Endpoint, asked


@pytest.mark.parametrize(
    ("path", "endpoint", "names"),
    [
        ("/pods", Endpoint.PODS, {}),
        ("/runningpods/", Endpoint.RUNNING_PODS, {}),
        ("/healthz/ping", Endpoint.HEALTH, {"check": "ping"}),
        ("/containerLogs/ns/web/main", Endpoint.LOGS, {"namespace": "ns", "pod": "web", "container": "main"}),
        ("/exec/ns/web/main", Endpoint.EXEC, {"namespace": "ns", "pod": "web", "container": "main"}),
        ("/exec/ns/web/1-2/main", Endpoint.EXEC, {"namespace": "ns", "pod": "web", "uid": "1-2", "container": "main"}),
        ("/portForward/ns/web", Endpoint.PORT_FORWARD, {"namespace": "ns", "pod": "web"}),
        ("/portForward/ns/web/1-2", Endpoint.PORT_FORWARD, {"namespace": "ns", "pod": "web", "uid": "1-2"}),
        ("/logs", Endpoint.SYSTEM_LOGS, {}),
        ("/logs/", Endpoint.SYSTEM_LOGS, {"file": ""}),
        ("/logs/syslog", Endpoint.SYSTEM_LOGS, {"file": "syslog"}),
        ("/logs/deep/", Endpoint.SYSTEM_LOGS, {"file": "deep/"}),
        ("/logs/deep/er/file", Endpoint.SYSTEM_LOGS, {"file": "deep/er/file"}),
        ("/debug/pprof/", Endpoint.PROFILES, {"profile": ""}),
        ("/debug/pprof/profile", Endpoint.PROFILES, {"profile": "profile"}),
    ],
)
def test_the_names_in_a_path(path: str, endpoint: Endpoint, names: dict[str, str]) -> None:
    found = asked("POST" if endpoint is Endpoint.EXEC else "GET", path, EVERYTHING)
    assert (found.endpoint, found.names) == (endpoint, names)


def test_of_what_is_streamed_there_is_no_head_alone() -> None:
    """Its length is not known, and who follows a log would wait for ever."""
    assert asked("HEAD", "/pods", EVERYTHING).endpoint is Endpoint.PODS
    for path in ("/containerLogs/ns/web/main", "/ui/live/stream"):
        with pytest.raises(Refusal) as refused:
            asked("HEAD", path, EVERYTHING)
        assert (refused.value.status, refused.value.headers) == (405, (("Allow", "GET"),))
