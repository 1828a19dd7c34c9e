"""`Meters`: the counters, gauges and histograms of a node.

There is one for each node. Any thread may use it; an update takes half a microsecond and never fails or waits. A family
keeps a limited number of label combinations. Further ones are counted in `actorlet_metrics_refused_total` and dropped.
A family without series is exposed with its type, so that users can find it.
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
    """`alone`: only one thread ever measures here, as in a simulated world."""

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
        """Change a gauge by an amount."""
        self.count(family, *labels, by=by)

    def follow(self, family: Family, value: Callable[[], float], *labels: str) -> None:
        """Let `value` compute a gauge at each scrape; it must not wait or fail."""
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
            series.zeros += 1  # what `observe` does, but cheaper: no other thread counts here

    def series(self, family: Family, *labels: str) -> Any:
        """One series, for repeated updates (`inc`, `set`, `observe`); None when the family is full.

        Do not use it after `drop`.
        """
        return self._one(family, labels)

    def drop(self, family: Family, *labels: str) -> None:
        """Forget a series, if it exists."""
        with self._lock:
            self._series.get(family.name, {}).pop(labels, None)

    # --- reading ----------------------------------------------------------------------------------------------------

    def told(self, *families: Family) -> list[FamilyRows]:
        """The rows of these families."""
        return [FamilyRows(family, self._rows(family)) for family in families]

    def has(self, family: Family, *labels: str) -> bool:
        """Whether there is such a series. Unlike `value` it computes nothing."""
        return labels in self._series.get(family.name, {})

    def value(self, family: Family, *labels: str) -> float:
        """The value of a counter or gauge, or the number of observations of a histogram; 0 without a series."""
        ending = "_count" if family.kind is MetricKind.HISTOGRAM else ""
        rows = self._rows(family)
        return next((row.value for row in rows if tuple(row.labels) == labels and row.ending == ending), 0.0)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _one(self, family: Family, labels: tuple[str, ...]) -> Any:
        """The series of the family's type with these labels; None when the family is full."""
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
"""The default where no metrics are exposed."""
