"""Probes of containers: one file per kind of probe, behind the capability `Prober` (spec 5)."""

from runtime.probes.capability import (
    Check,
    ExecCheck,
    GrpcCheck,
    HttpCheck,
    ProbeAnswer,
    ProbeOutcome,
    Prober,
    TcpCheck,
)
