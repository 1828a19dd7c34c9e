"""`Meters`: where a node counts.

One for each node, used from any thread; an update takes half a microsecond and never fails, waits or tells anybody.
A family keeps at most so many combinations of labels; what comes beyond is not kept, and counted in
`actorlet_metrics_refused_total`. What has no series is told all the same, with its type, so that it can be found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from runtime.metrics import own
from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import Family, MetricKind
from runtime.metrics.series import Series, series_of

NS_PER_SECOND = 1_000_000_000


class Meters:
    """See the module. `alone`: only one thread ever measures here, as in a simulated world."""

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self._lock = threading.Lock()
        self._series: dict[str, dict[tuple[str, ...], Series]] = {}
        """By name of the family: its series by the values of their labels."""

    # --- measuring --------------------------------------------------------------------------------------------------

    def count(self, family: Family, *labels: str, by: float = 1) -> None:
        """Add to a counter."""
        try:
            series: Any = self._series[family.name][labels]
        except KeyError:
            series = self._one(family, labels)
        if series is not None:
            series.inc(by)

    def put(self, family: Family, value: float, *labels: str) -> None:
        """Set a gauge."""
        series = self._one(family, labels)
        if series is not None:
            series.set(value)

    def add(self, family: Family, by: float, *labels: str) -> None:
        """Move a gauge."""
        self.count(family, *labels, by=by)

    def follow(self, family: Family, value: Callable[[], float], *labels: str) -> None:
        """Let a gauge be what `value` says whenever somebody looks; it must not wait, nor fail."""
        series = self._one(family, labels)
        if series is not None:
            series.follow(value)

    def observe(self, family: Family, value: float, *labels: str) -> None:
        """Put a value into a histogram."""
        series = self._one(family, labels)
        if series is not None:
            series.observe(value)

    def took(self, family: Family, ns: int, *labels: str) -> None:
        """Put a time into a histogram of seconds."""
        try:
            series: Any = self._series[family.name][labels]
        except KeyError:
            series = self._one(family, labels)
        if series is None:
            return
        if ns or not self.alone:
            series.observe(ns / NS_PER_SECOND)
        else:
            series.zeros += 1  # what `observe` does, at a fraction of the cost: nobody else counts here

    def series(self, family: Family, *labels: str) -> Any:
        """One series, for who moves the same one again and again (`inc`, `set`, `observe`); None where
        the family is full. Whoever drops it must let go of it.
        """
        return self._one(family, labels)

    def drop(self, family: Family, *labels: str) -> None:
        """Forget one series, if there is one."""
        with self._lock:
            self._series.get(family.name, {}).pop(labels, None)

    # --- looking ----------------------------------------------------------------------------------------------------

    def told(self, *families: Family) -> list[FamilyRows]:
        """What there is of these."""
        return [FamilyRows(family, self._rows(family)) for family in families]

    def value(self, family: Family, *labels: str) -> float:
        """Of a counter or gauge, or how many values a histogram has; 0 where there is none."""
        ending = "_count" if family.kind is MetricKind.HISTOGRAM else ""
        rows = self._rows(family)
        return next((row.value for row in rows if tuple(row.labels) == labels and row.ending == ending), 0.0)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _one(self, family: Family, labels: tuple[str, ...]) -> Any:
        """A series, of the kind of its family; None when there are too many already."""
        known = self._series.get(family.name)
        if known is not None:
            series = known.get(labels)
            if series is not None:
                return series
        if len(labels) != len(family.labels):
            raise ValueError(f"{family.name} has the labels {family.labels}, and was given {labels}")
        with self._lock:
            mine = self._series.setdefault(family.name, {})
            if len(mine) < family.at_most:
                return mine.setdefault(labels, series_of(family, alone=self.alone))
        if family is not own.REFUSED:
            self.count(own.REFUSED, family.name)
        return None

    def _rows(self, family: Family) -> list[MetricRow]:
        if not family.labels:
            self._one(family, ())
        with self._lock:
            mine = list(self._series.get(family.name, {}).items())
        return [row for labels, series in mine for row in series.rows(labels)]


UNMEASURED = Meters()
"""For those of whom nobody asks."""
