"""Certificate signing requests: who asks whom, for how long, and what became of it."""

from __future__ import annotations

from config.values.ages import short_duration
from simulation.apiserver.tables.columns import AGE, NAME, NONE, Cell, Column, Json, View, age_of, items, name_of, part


def _cells(json: Json, wall_ns: int) -> list[Cell]:
    spec = part(json, "spec")
    seconds = spec.get("expirationSeconds")
    return [
        name_of(json),
        age_of(json, wall_ns),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        short_duration(seconds) if isinstance(seconds, int) else NONE,
        _condition(part(json, "status")),
    ]


def _condition(status: Json) -> str:
    types = {condition.get("type") for condition in items(status, "conditions")}
    words = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    words += ["Failed"] if "Failed" in types else []
    words += ["Issued"] if status.get("certificate") else []
    return ",".join(words)


CERTIFICATE_SIGNING_REQUESTS = View(
    (
        NAME,
        AGE,
        Column("SignerName", "Who is to sign."),
        Column("Requestor", "Who has asked."),
        Column("RequestedDuration", "For how long the certificate is to last."),
        Column("Condition", "Whether it is pending, approved, denied or issued."),
    ),
    _cells,
)
