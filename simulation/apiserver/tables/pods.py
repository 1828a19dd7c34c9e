"""Pods: the words are `config.pods.words`, which the agent's own tables use too."""

from __future__ import annotations

from config.documents.codec import DocumentError, from_builtins
from config.objects import Pod
from config.pods.words import pod_line
from simulation.apiserver.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Column,
    Json,
    View,
    age_of,
    name_of,
    wide,
)

_COLUMNS = (
    NAME,
    Column("Ready", "Containers that are ready, of all that are to run on."),
    Column("Status", "The most telling reason found in phase, conditions and containers."),
    Column("Restarts", "How often containers of the pod were restarted, and when last."),
    AGE,
    wide("IP", "The address of the pod; of dual stack the first."),
    wide("Node", "The node that the pod is bound to."),
    wide("Nominated Node", "The node that is being cleared for the pod."),
    wide("Readiness Gates", "Conditions that others set for the pod to be ready: fulfilled ones of all."),
)


def _cells(json: Json, wall_ns: int) -> list[Cell]:
    try:
        line = pod_line(from_builtins(json, Pod), wall_ns)
    except DocumentError:
        # What the store holds has been checked; a listing must not fail for what slipped through.
        return [name_of(json), "0/0", UNKNOWN, "0", age_of(json, wall_ns), NONE, NONE, NONE, NONE]
    first: list[Cell] = [line.name, line.ready, line.status, line.restarts, line.age or UNKNOWN]
    return [*first, *(text or NONE for text in (line.ip, line.node, line.nominated_node, line.readiness_gates))]


PODS = View(_COLUMNS, _cells)
