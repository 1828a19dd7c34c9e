"""Asking a container whether it is well: one file per way of asking, behind the capability `Prober` (spec 5)."""

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
