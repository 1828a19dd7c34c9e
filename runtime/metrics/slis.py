"""`/metrics/slis`: the outcomes of health checks, now and in total (spec 11.2)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import counter, gauge, in_module

CHECK = gauge("kubernetes_healthcheck", "How a check has come out: 1 when all is well.", "name", "type")
CHECKS = counter("kubernetes_healthchecks_total", "How checks have come out.", "name", "status", "type")

FAMILIES = in_module(globals())


class Checks:
    """Counts the outcomes. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def told(self, outcomes: Mapping[str, bool]) -> list[FamilyRows]:
        """The metrics after these outcomes."""
        with self._lock:
            for name, well in outcomes.items():
                self._counts[name, "success" if well else "error", "healthz"] += 1
            counts = sorted(self._counts.items())
        now = [MetricRow((name, "healthz"), float(well)) for name, well in sorted(outcomes.items())]
        return [FamilyRows(CHECK, now), FamilyRows(CHECKS, [MetricRow(labels, count) for labels, count in counts])]
