"""How a soak is judged: by the line through its last two thirds."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from benchmarks.soak_report import MEASURES, Sample, judged, plots

MEMORY = MEASURES[0]


def samples(*memory_mib: float) -> list[Sample]:
    return [Sample(60.0 * minute, mib, 30, 20, 0.1, 4.0, 80, 50) for minute, mib in enumerate(memory_mib)]


@pytest.mark.parametrize(
    ("memory_mib", "flat"),
    [
        ([100.0] * 60, True),
        ([float(min(100, 60 + 4 * minute)) for minute in range(60)], True),
        ([100.0 + 0.2 * minute for minute in range(60)], False),
        ([100.0 - minute for minute in range(60)], True),
        ([100.0 if minute % 10 else 104.0 for minute in range(60)], True),
    ],
    ids=["constant", "grows-only-at-first", "leaks-12-MiB-an-hour", "falls", "peaks-again-and-again"],
)
def test_a_soak_is_flat_when_its_last_two_thirds_do_not_rise(memory_mib: list[float], flat: bool) -> None:
    assert judged(samples(*memory_mib), MEMORY).flat is flat


def test_the_plots_are_one_svg_with_a_line_for_each_measure() -> None:
    taken = samples(*range(600))
    drawn = ET.fromstring(plots(taken, [judged(taken, each) for each in MEASURES]))
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == len(MEASURES)
    assert all(len(each.attrib["points"].split()) <= 240 for each in lines)
