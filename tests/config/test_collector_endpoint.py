"""Which endpoints of `tracing` a collector can be at."""

from __future__ import annotations

import pytest

from config.kubelet.collector_endpoint import collector_fault


@pytest.mark.parametrize(
    "endpoint",
    [
        *("localhost:4317", "collector", "10.0.0.1:4317", "[::1]:4317", "otel_collector.monitoring.svc:4317"),
        *("dns:collector:4317", "dns:///collector:4317", "unix:/run/otlp.sock", "unix:///run/otlp.sock"),
        *("unix:otlp.sock", "unix-abstract:otlp"),
    ],
)
def test_names_that_grpc_can_find_are_taken(endpoint: str) -> None:
    assert collector_fault(endpoint) == ""


@pytest.mark.parametrize(
    ("endpoint", "fault"),
    [
        ("", "is empty"),
        ("http://collector:4317", "'http' is none of the schemes dns, unix, unix-abstract"),
        ("dns://collector:4317", "'dns://collector:4317' needs a third slash"),
        ("unix://otlp.sock", "'unix://otlp.sock' needs a third slash"),
        ("collector:http", "'collector:http' is not a host and port"),
        ("me:secret@collector:4317", "'me:secret@collector:4317' is not a host and port"),
        ("collector:4317/v1", "'collector:4317/v1' is not a host and port"),
        ("two words", "'two words' is not a host and port"),
        ("collector:0", "0 is not a port"),
        ("collector:65536", "65536 is not a port"),
    ],
)
def test_an_invalid_collector_endpoint_is_reported(endpoint: str, fault: str) -> None:
    assert collector_fault(endpoint) == fault
