"""What a span tells of a request to the node: the names of otelrestful, and nothing secret."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.http_server.paths import ROUTES
from runtime.traces.answers import Served, attributes_of, route_of

ASKED = {
    "method": "GET",
    "path": "/pods",
    "pattern": "/pods",
    "scheme": "https",
    "peer": ("10.0.0.1", 50000),
    "version": "1.1",
    "headers": {"host": "node:10250"},
}
TOLD = {
    "server.address": "kubelet",
    "server.port": 10250,
    "http.request.method": "GET",
    "http.route": "/pods/",
    "url.scheme": "https",
    "url.path": "/pods",
    "network.peer.address": "10.0.0.1",
    "network.peer.port": 50000,
    "network.protocol.version": "1.1",
    "client.address": "10.0.0.1",
}


@pytest.mark.parametrize(
    ("pattern", "route"),
    [
        ("/pods", "/pods/"),
        ("/runningpods/", "/runningpods/"),
        ("/logs", "/logs/"),
        ("/logs/{*file}", "/logs/{logpath:*}"),
        ("/debug/pprof/{*profile}", "/debug/pprof/{subpath:*}"),
        ("/stats/summary", "/stats/summary"),
        ("/metrics/cadvisor", "/metrics/cadvisor"),
        ("/portForward/{namespace}/{pod}", "/portForward/{podNamespace}/{podID}"),
        ("/exec/{namespace}/{pod}/{uid}/{container}", "/exec/{podNamespace}/{podID}/{uid}/{containerName}"),
    ],
)
def test_a_route_is_called_as_a_kubelet_calls_it(pattern: str, route: str) -> None:
    assert any(each.pattern == pattern for each in ROUTES)
    assert route_of(pattern) == route


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, {}),
        ({"headers": {}}, {"server.port": None}),
        ({"headers": {"host": "node"}}, {"server.port": None}),
        ({"headers": {"host": "node:443"}}, {"server.port": None}),
        ({"headers": {"host": "[fe80::1]:10250"}}, {}),
        ({"headers": {"host": "[fe80::1]"}}, {"server.port": None}),
        ({"headers": {"host": "node:port"}}, {"server.port": None}),
        ({"scheme": "http", "headers": {"host": "node:443"}}, {"url.scheme": "http", "server.port": 443}),
        ({"peer": ("", 0)}, {"network.peer.address": None, "network.peer.port": None, "client.address": None}),
        (
            {"headers": {"host": "n:10250", "x-forwarded-for": "192.0.2.1, 10.0.0.1"}},
            {"client.address": "192.0.2.1"},
        ),
        ({"headers": {"host": "n:10250", "user-agent": "curl/8"}}, {"user_agent.original": "curl/8"}),
        ({"headers": {"host": "n:10250", "user-agent": "a\udcffb"}}, {"user_agent.original": "a?b"}),
        ({"headers": {"host": "n:10250", "authorization": "Bearer secret"}}, {}),
    ],
)
def test_what_is_told_of_a_request(asked: dict[str, Any], told: dict[str, Any]) -> None:
    expected = {name: value for name, value in {**TOLD, **told}.items() if value is not None}
    assert attributes_of(Served(**{**ASKED, **asked})) == expected
