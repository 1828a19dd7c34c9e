"""Whether a node is at rest: nothing is under way that its next agent would have to begin again. Pure.

Reads of the runtime and probes do not count: the next agent makes them anyway, and a busy node always has some.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.kernel import SystemReport
from actors.pleg.pleg import PlegActor
from actors.probes.runner import ProbeRunner

READERS = frozenset({PlegActor.__name__, ProbeRunner.__name__})


def under_way(report: SystemReport, besides: Iterable[str] = ()) -> str:
    """What is under way, in a few words; empty at rest. `besides`: lanes that are not of actors."""
    for actor in report.actors:
        if actor.actor_class in READERS:
            continue
        if actor.handling or actor.effects or actor.mailbox_depth:
            what = actor.waiting_for or actor.handling or "messages or calls"
            return f"{actor.path}: {what}"
    for lane in report.lanes:
        if lane.name not in besides and (lane.running or lane.waiting or lane.written_off):
            return f"calls of the lane {lane.name}"
    return ""
