"""Where a node counts, and the text of it."""

from __future__ import annotations

import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from runtime.metrics import own
from runtime.metrics.exposition import FamilyRows, MetricRow, exposition, number
from runtime.metrics.families import counter, gauge, histogram
from runtime.metrics.meters import Meters

CALLS = counter("calls_total", "Calls.", "verb")
BARE = counter("evictions", "A fixed name without the ending.")
LEVEL = gauge("level", "A level.", "of")
TIMES = histogram("times_seconds", "Times.", "verb", buckets=(0.1, 1.0))


@pytest.mark.parametrize("alone", [False, True])
def test_measured_values_are_exposed_and_read_back(alone: bool) -> None:
    meters = Meters(alone=alone)
    meters.count(CALLS, "get")
    meters.count(CALLS, "get", by=2)
    meters.put(LEVEL, 2.5, "water")
    meters.add(LEVEL, -1, "water")
    meters.took(TIMES, 500_000_000, "get")
    meters.count(BARE)
    text = exposition(meters.told(CALLS, BARE, LEVEL, TIMES)).decode()
    assert text == (
        "# HELP calls_total Calls.\n# TYPE calls_total counter\n"
        'calls_total{verb="get"} 3\n'
        "# HELP evictions A fixed name without the ending.\n# TYPE evictions counter\n"
        "evictions 1\n"
        '# HELP level A level.\n# TYPE level gauge\nlevel{of="water"} 1.5\n'
        "# HELP times_seconds Times.\n# TYPE times_seconds histogram\n"
        'times_seconds_bucket{verb="get",le="0.1"} 0\n'
        'times_seconds_bucket{verb="get",le="1.0"} 1\n'
        'times_seconds_bucket{verb="get",le="+Inf"} 1\n'
        'times_seconds_count{verb="get"} 1\n'
        'times_seconds_sum{verb="get"} 0.5\n'
    )
    assert [family.name for family in text_string_to_metric_families(text)] == [
        "calls",
        "evictions",
        "level",
        "times_seconds",
    ]


def test_zeros_that_were_counted_by_who_measured_them_are_values_like_all_others() -> None:
    meters = Meters()
    series, calls = meters.series(TIMES, "get"), meters.series(CALLS, "get")
    series.observe(0.5)
    calls.inc()
    calls.beside(lambda: series.zeros)
    series.zeros += 2
    text = exposition(meters.told(CALLS, TIMES)).decode()
    assert 'calls_total{verb="get"} 3\n' in text
    assert [line.rpartition(" ")[2] for line in text.splitlines()[5:]] == ["2", "3", "3", "3", "0.5"]


def test_a_family_is_told_before_anything_was_measured() -> None:
    assert exposition(Meters().told(CALLS, BARE)).decode().splitlines() == [
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        "# HELP evictions A fixed name without the ending.",
        "# TYPE evictions counter",
        "evictions 0",
    ]


def test_whether_there_is_a_series_is_told_without_computing_it() -> None:
    def never() -> float:
        raise AssertionError("nobody has asked for the value")

    meters = Meters()
    meters.follow(LEVEL, never, "a")
    assert [meters.has(LEVEL, of) for of in "ab"] == [True, False]
    assert not meters.has(BARE)


def test_labels_with_everything_in_them_are_read_back() -> None:
    nasty = 'a"b\\c\nd'
    text = exposition([FamilyRows(LEVEL, [MetricRow((nasty,), 1, 1234)])]).decode()
    (family,) = text_string_to_metric_families(text)
    (sample,) = family.samples
    assert sample.labels == {"of": nasty}
    assert sample.timestamp == 1.234


def test_too_many_series_are_refused_and_counted() -> None:
    few = counter("few_total", "Few.", "who", at_most=2)
    meters = Meters()
    for who in ("a", "b", "c", "d", "a"):
        meters.count(few, who)
    assert [meters.value(few, who) for who in ("a", "b", "c")] == [2, 1, 0]
    assert meters.value(own.REFUSED, "few_total") == 2
    meters.drop(few, "a")
    meters.count(few, "c")
    assert meters.value(few, "c") == 1


def test_many_threads_lose_nothing() -> None:
    meters = Meters()

    def work() -> None:
        for _ in range(2_000):
            meters.count(CALLS, "get")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert meters.value(CALLS, "get") == 8_000


def test_numbers_are_as_prometheus_reads_them() -> None:
    assert [number(each) for each in (1.0, 0.1, float("inf"), float("-inf"), 2**60)] == [
        "1",
        "0.1",
        "+Inf",
        "-Inf",
        "1.152921504606847e+18",
    ]
    assert number(float("nan")) == "NaN"
