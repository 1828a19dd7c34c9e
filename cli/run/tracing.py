"""The tracer of the agent, where the configuration has `tracing`. The SDK is imported only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from config.kubelet import KubeletConfiguration
from runtime.metrics import own
from runtime.metrics.meters import Meters

if TYPE_CHECKING:
    from runtime.traces.open_telemetry import OpenTelemetryTracer


class TracingError(Exception):
    """The agent cannot trace; the text says why."""


def open_tracing(configuration: KubeletConfiguration, node: str) -> OpenTelemetryTracer | None:
    """Open the exporter of spans; None: tracing is off. Nothing is sent yet. Raises TracingError."""
    wanted = configuration.tracing
    if wanted is None:
        return None
    try:
        from runtime.traces.open_telemetry import OpenTelemetryTracer

        return OpenTelemetryTracer(wanted.endpoint or "", wanted.sampling_rate_per_million or 0, node)
    except Exception as fault:  # beside a missing library, whatever the variables of OpenTelemetry make the SDK raise
        raise TracingError(f"$.tracing: OpenTelemetry cannot be used: {fault}") from fault


def count_spans(tracer: OpenTelemetryTracer, meters: Meters) -> None:
    """Show how many spans the collector has taken, and how many were lost."""
    meters.follow(own.SPANS_SENT, lambda: tracer.sent)
    meters.follow(own.SPANS_DROPPED, lambda: tracer.dropped)
