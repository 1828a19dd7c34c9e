"""Durations read and print as Go's do, in whole nanoseconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.values.durations import DurationError, format_duration_ns, parse_duration_ns

S = 10**9


@pytest.mark.parametrize(
    ("text", "duration_ns", "printed"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("-0s", 0, "0s"),
        ("1ns", 1, "1ns"),
        ("1100ns", 1100, "1.1\u00b5s"),
        ("2.2us", 2200, "2.2\u00b5s"),
        ("3.3\u03bcs", 3300, "3.3\u00b5s"),
        ("100ms", S // 10, "100ms"),
        ("1.5ms", 1_500_000, "1.5ms"),
        ("10s", 10 * S, "10s"),
        ("1.25s", 1_250_000_000, "1.25s"),
        ("1m30s", 90 * S, "1m30s"),
        ("90s", 90 * S, "1m30s"),
        ("2m", 120 * S, "2m0s"),
        ("1h", 3600 * S, "1h0m0s"),
        ("4h5m6.007s", 14706007 * 10**6, "4h5m6.007s"),
        ("+.5h", 1800 * S, "30m0s"),
        ("-1m30s", -90 * S, "-1m30s"),
        ("100h", 360000 * S, "100h0m0s"),
        ("9223372036854775807ns", 2**63 - 1, "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", -(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_read_and_printed_as_go_does(text: str, duration_ns: int, printed: str) -> None:
    assert parse_duration_ns(text) == duration_ns
    assert format_duration_ns(duration_ns) == printed


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no number"),
        ("-", "no number"),
        ("10", "unit"),
        ("1m30", "unit"),
        ("s", "number must stand"),
        (".s", "number must stand"),
        ("1d", "is not a unit"),
        ("1 s", "is not a unit"),
        ("10S", "is not a unit"),
        ("300y", "is not a unit"),
        ("9223372036854775808ns", "292 years"),
        ("1" * 200, "longer"),
    ],
)
def test_a_bad_duration_is_refused_in_words(text: str, word: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration_ns(text)
    assert word in caught.value.reason


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_printed_duration_reads_back_equal(duration_ns: int) -> None:
    assert parse_duration_ns(format_duration_ns(duration_ns)) == duration_ns


@given(st.text(alphabet="0123456789.-+hmsnu\u00b5", max_size=12))
def test_any_text_is_a_duration_or_a_clear_refusal(text: str) -> None:
    try:
        duration_ns = parse_duration_ns(text)
    except DurationError:
        return
    assert parse_duration_ns(format_duration_ns(duration_ns)) == duration_ns
