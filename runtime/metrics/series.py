"""One series of a metric: a counter, a gauge, or a histogram with fixed labels, and the rows that it is told as.

Why not those of the Prometheus library, whose names and numbers these have: an observation there walks through every
bucket and four checks, at three microseconds, and each pod on its way to Running makes more than a hundred. Here it is
a search among the bounds, under a lock, since any thread may measure.
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
        """Move it."""
        with self._lock:
            self._value += by

    def set(self, value: float) -> None:
        """Set it."""
        with self._lock:
            self._value = value

    def follow(self, value: Callable[[], float]) -> None:
        """From now on it is what `value` says whenever somebody looks."""
        self._told_by = value

    def beside(self, value: Callable[[], float]) -> None:
        """What `value` says whenever somebody looks comes on top of it."""
        self._beside = value

    def rows(self, labels: Sequence[str]) -> Iterator[MetricRow]:
        value = self._value if self._told_by is None else self._told_by()
        yield MetricRow(labels, value if self._beside is None else value + self._beside())


class Distribution:
    """A histogram: how many values up to each bound, and their sum. `bounds` rise, from 0 or more.

    `zeros`: values of 0 beside those observed. Who alone measures here may count them itself, by the million.
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
        """Put a value in. A bound belongs to the values up to it."""
        place = bisect_left(self._bounds, value)
        with self._lock:
            self._counts[place] += 1
            self._sum += value

    def rows(self, labels: Sequence[str]) -> Iterator[MetricRow]:
        from prometheus_client.utils import floatToGoString  # brings an HTTP server along: not before somebody asks

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
    """A counter or a gauge of a world with one thread: the lock cost more than the rest."""

    __slots__ = ()

    def inc(self, by: float = 1) -> None:
        self._value += by


class LoneDistribution(Distribution):
    """A histogram of a world with one thread."""

    __slots__ = ()

    def observe(self, value: float) -> None:
        # What takes no time, as nearly all in such a world, belongs to the first bound, which is found at once.
        self._counts[bisect_left(self._bounds, value) if value > self._least else 0] += 1
        self._sum += value


Series = Value | Distribution


def series_of(family: Family, *, alone: bool = False) -> Series:
    """A new one, at zero. `alone`: only one thread ever moves it."""
    if family.kind is MetricKind.HISTOGRAM:
        return LoneDistribution(family.buckets) if alone else Distribution(family.buckets)
    return LoneValue() if alone else Value()
