"""Traces: which work belongs together, for a collector of OpenTelemetry.

Open `spans.py` first: what clients and actors know of tracing. `open_telemetry.py` sends spans to a collector. It alone
imports the SDK, and nobody imports it while `tracing` is not configured.
"""
