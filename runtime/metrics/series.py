"""One series of a metric: a counter, a gauge, or a histogram with fixed labels, and its rows.

Why not the series of the Prometheus library: there an observation walks through every bucket and four checks, and takes
three microseconds. Each pod on its way to Running makes more than a hundred. Here an observation is a binary search
among the bounds. It holds a lock, because any thread may measure.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from runtime.metrics.exposition import MetricRow
from runtime.metrics.families import Family, MetricKind


class Value:
    """A counter or a gauge."""

    __slots__ = ("_beside", "_lock", "_told_by", "_value")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._value = 0.0
        self._told_by: Callable[[], float] | None = None
        self._beside: Callable[[], float] | None = None

    def inc(self, by: float = 1) -> None:
        """Add to it."""
        with self._lock:
            self._value += by

    def set(self, value: float) -> None:
        """Set it."""
        with self._lock:
            self._value = value

    def follow(self, value: Callable[[], float]) -> None:
        """Let `value` compute it at each scrape."""
        self._told_by = value

    def beside(self, value: Callable[[], float]) -> None:
        """Add the result of `value` at each scrape."""
        self._beside = value

    def rows(self, labels: Sequence[str]) -> Iterator[MetricRow]:
        value = self._value if self._told_by is None else self._told_by()
        yield MetricRow(labels, value if self._beside is None else value + self._beside())


class Distribution:
    """A histogram: the number of values up to each bound, and their sum. `bounds` rise, from 0 or more.

    `zeros`: observed values of 0 that are not in the buckets. A single measuring thread may count them itself.
    """

    __slots__ = ("_bounds", "_counts", "_least", "_lock", "_sum", "zeros")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._least = bounds[0] if bounds else float("-inf")
        self._counts = [0] * (len(bounds) + 1)
        self._lock = threading.Lock()
        self._sum = 0.0
        self.zeros = 0

    def observe(self, value: float) -> None:
        """Observe a value. A bound belongs to the values up to it."""
        place = bisect_left(self._bounds, value)
        with self._lock:
            self._counts[place] += 1
            self._sum += value

    def rows(self, labels: Sequence[str]) -> Iterator[MetricRow]:
        from prometheus_client.utils import floatToGoString  # this imports an HTTP server: not before the first scrape

        text_of: Callable[[float], str] = floatToGoString
        with self._lock:
            counts, total = list(self._counts), self._sum
        up_to = self.zeros
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            up_to += count
            yield MetricRow(labels, up_to, None, "_bucket", text_of(bound))
        yield MetricRow(labels, up_to, None, "_count")
        yield MetricRow(labels, total, None, "_sum")


class LoneValue(Value):
    """A counter or a gauge of a world with one thread; the lock would cost more than the rest."""

    __slots__ = ()

    def inc(self, by: float = 1) -> None:
        self._value += by


class LoneDistribution(Distribution):
    """A histogram of a world with one thread."""

    __slots__ = ()

    def observe(self, value: float) -> None:
        # Nearly all values of such a world are 0 and belong to the first bound, without a search.
        self._counts[bisect_left(self._bounds, value) if value > self._least else 0] += 1
        self._sum += value


Series = Value | Distribution


def series_of(family: Family, *, alone: bool = False) -> Series:
    """A new series, at zero. `alone`: only one thread ever updates it."""
    if family.kind is MetricKind.HISTOGRAM:
        return LoneDistribution(family.buckets) if alone else Distribution(family.buckets)
    return LoneValue() if alone else Value()
