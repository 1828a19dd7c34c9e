"""A family of metrics: its name, its type and its labels, in one value for all that measure it.

The names of a kubelet are fixed (spec 11.7), even where today's naming rules would differ.
"""

from __future__ import annotations

import enum

import msgspec

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SERIES_AT_MOST = 500


class MetricKind(enum.StrEnum):
    """The types of Prometheus that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family(msgspec.Struct, frozen=True):
    """`at_most`: the limit of label combinations; further ones are counted and not kept."""

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    at_most: int = SERIES_AT_MOST


def counter(name: str, text: str, *labels: str, at_most: int = SERIES_AT_MOST) -> Family:
    return Family(name, MetricKind.COUNTER, text, labels, at_most=at_most)


def gauge(name: str, text: str, *labels: str, at_most: int = SERIES_AT_MOST) -> Family:
    return Family(name, MetricKind.GAUGE, text, labels, at_most=at_most)


def histogram(
    name: str,
    text: str,
    *labels: str,
    buckets: tuple[float, ...] = DEFAULT_BUCKETS,
    at_most: int = SERIES_AT_MOST,
) -> Family:
    return Family(name, MetricKind.HISTOGRAM, text, labels, buckets, at_most)


def powers(first: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of buckets, each `factor` times the one before."""
    return tuple(first * factor**each for each in range(count))


def in_module(names: dict[str, object]) -> tuple[Family, ...]:
    """All families of a module, in the order of their own names."""
    return tuple(sorted((each for each in names.values() if isinstance(each, Family)), key=lambda each: each.name))
