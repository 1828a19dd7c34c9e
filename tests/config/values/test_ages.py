"""How long ago, in few letters, by table."""

from __future__ import annotations

import pytest

from config.values.ages import SECOND_NS, short_duration, since, spoken

HOUR, DAY = 3600, 86400
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (7200, "120m"),
        (3 * HOUR + 600, "3h10m"),
        (8 * HOUR, "8h"),
        (49 * HOUR, "2d1h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 20 * DAY, "2y20d"),
        (8 * YEAR + 20 * DAY, "8y"),
    ],
)
def test_durations_have_two_units_at_most(seconds: int, expected: str) -> None:
    assert short_duration(seconds) == expected


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("1970-01-01T00:00:00Z", "100s"),
        ("1970-01-01T00:01:00.500000Z", "39s"),
        ("1970-01-01T00:01:41Z", "0s"),
        ("1970-01-01T00:02:00Z", "<invalid>"),
        ("", ""),
        (None, ""),
        ("yesterday", "?"),
    ],
)
def test_the_age_of_a_time_stamp(timestamp: str | None, expected: str) -> None:
    assert since(timestamp, 100 * SECOND_NS) == expected


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (-1, "0.0 s"),
        (400_000_000, "0.4 s"),
        (9_940_000_000, "9.9 s"),
        (12 * SECOND_NS, "12 s"),
        (119 * SECOND_NS, "119 s"),
        (120 * SECOND_NS, "2 min"),
        (200 * SECOND_NS, "3 min 20 s"),
    ],
)
def test_durations_are_told_as_people_say_them(ns: int, text: str) -> None:
    assert spoken(ns) == text
