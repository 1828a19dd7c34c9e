"""`Meters`: where a node counts, on the library of Prometheus.

One for each node, used from any thread; an update takes a microsecond or two and never fails, waits or tells anybody.
A family keeps at most so many combinations of labels; what comes beyond is not kept, and counted in
`actorlet_metrics_refused_total`. What has no series is told all the same, with its type, so that it can be found.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from runtime.metrics import own
from runtime.metrics.exposition import Row, Told
from runtime.metrics.families import Family, Kind
from runtime.metrics.pull_times import PullTimes

NS_PER_SECOND = 1_000_000_000
_CLASSES: dict[Kind, Any] = {Kind.COUNTER: Counter, Kind.GAUGE: Gauge, Kind.HISTOGRAM: Histogram}


class Meters:
    """See the module."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._metrics: dict[str, Any] = {}
        self._series: dict[str, dict[tuple[str, ...], Any]] = {}
        """By name of the family: its series by the values of their labels."""
        self.pulls = PullTimes()

    # --- measuring --------------------------------------------------------------------------------------------------

    def count(self, family: Family, *labels: str, by: float = 1) -> None:
        """Add to a counter."""
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
        series = self._one(family, labels)
        if series is not None:
            series.inc(by)

    def follow(self, family: Family, value: Callable[[], float], *labels: str) -> None:
        """Let a gauge be what `value` says whenever somebody looks; it must not wait, nor fail."""
        series = self._one(family, labels)
        if series is not None:
            series.set_function(value)

    def observe(self, family: Family, value: float, *labels: str) -> None:
        """Put a value into a histogram."""
        series = self._one(family, labels)
        if series is not None:
            series.observe(value)

    def took(self, family: Family, ns: int, *labels: str) -> None:
        """Put a time into a histogram of seconds."""
        self.observe(family, ns / NS_PER_SECOND, *labels)

    def series(self, family: Family, *labels: str) -> Any:
        """One series, for who moves the same one again and again (`inc`, `set`, `observe` of the library); None where
        the family is full. Whoever drops it must let go of it.
        """
        return self._one(family, labels)

    def drop(self, family: Family, *labels: str) -> None:
        """Forget one series, if there is one."""
        with self._lock:
            series = self._series.get(family.name)
            if series is not None and series.pop(labels, None) is not None:
                self._metrics[family.name].remove(*labels)

    # --- looking ----------------------------------------------------------------------------------------------------

    def told(self, *families: Family) -> list[Told]:
        """What there is of these."""
        return [Told(family, self._rows(family)) for family in families]

    def value(self, family: Family, *labels: str) -> float:
        """Of a counter or gauge, or how many values a histogram has; 0 where there is none."""
        ending = "_count" if family.kind is Kind.HISTOGRAM else ""
        rows = self._rows(family)
        return next((row.value for row in rows if tuple(row.labels) == labels and row.ending == ending), 0.0)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _one(self, family: Family, labels: tuple[str, ...]) -> Any:
        """A series; None when there are too many already."""
        known = self._series.get(family.name)
        if known is not None:
            series = known.get(labels)
            if series is not None:
                return series
        with self._lock:
            metric = self._metric(family)
            mine = self._series[family.name]
            if len(mine) < family.at_most:
                series = mine[labels] = metric.labels(*labels) if family.labels else metric
                return series
        if family is not own.REFUSED:
            self.count(own.REFUSED, family.name)
        return None

    def _metric(self, family: Family) -> Any:
        metric = self._metrics.get(family.name)
        if metric is None:
            more = {"buckets": family.buckets} if family.kind is Kind.HISTOGRAM else {}
            metric = _CLASSES[family.kind](family.name, family.help, family.labels, registry=None, **more)
            self._metrics[family.name] = metric
            self._series[family.name] = {}
        return metric

    def _rows(self, family: Family) -> list[Row]:
        with self._lock:
            metric = self._metric(family)
            if not family.labels and not self._series[family.name]:
                self._series[family.name][()] = metric
        names, rows = family.labels, []
        for found in metric.collect():
            for sample in found.samples:
                ending = "" if family.kind is not Kind.HISTOGRAM else sample.name.removeprefix(family.name)
                if sample.name.endswith("_created") and not family.name.endswith("_created"):
                    continue
                labels = [sample.labels[name] for name in names]
                rows.append(Row(labels, sample.value, None, ending, sample.labels.get("le", "")))
        return rows


UNMEASURED = Meters()
"""For those of whom nobody asks."""
