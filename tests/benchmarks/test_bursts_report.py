"""What the benchmark of bursts says: its ratios, and what it says of pods that were not Ready in time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from benchmarks.bursts.report import MEASURES, OURS, burst, plot, table

EVENLY = [0.1 * number for number in range(1, 51)]
OURS_50 = replace(burst(OURS, "simulated", 50, EVENLY), cpu_s=1.0, memory_mib=90.0)
OTHER_50 = replace(burst("kubelet", "simulated", 50, [10.0] * 50), cpu_s=2.0, memory_mib=180.0)
UNFINISHED = burst("kubelet", "simulated", 5000, [float(number) for number in range(4411)])


@pytest.mark.parametrize(
    ("pods", "times", "half_s", "last_s"),
    [
        (1, [3.0], 3.0, 3.0),
        (2, [3.0, 4.0], 3.0, 4.0),
        (5, [1.0, 2.0, 3.0, 4.0, 5.0], 3.0, 5.0),
        (5, [1.0, 2.0, 3.0], 3.0, None),
        (5, [1.0, 2.0], None, None),
        (5, [], None, None),
    ],
)
def test_half_and_last_are_told_only_when_so_many_were_ready(
    pods: int, times: list[float], half_s: float | None, last_s: float | None
) -> None:
    told = burst(OURS, "simulated", pods, times)
    assert (told.half_s, told.last_s, told.ready) == (half_s, last_s, len(times))


def test_the_table_divides_ours_by_what_the_others_took() -> None:
    ours, other = table([OURS_50, OTHER_50]).splitlines()[2:]
    assert ours == "| simulated | 50 | actorlet | 2.5 s | 5 s | 1 s | 90 MiB | 0.50 |"
    figures = "10 s (ours 0.25) | 10 s (ours 0.50) | 2 s (ours 0.50) | 180 MiB (ours 0.50)"
    assert other == f"| simulated | 50 | kubelet | {figures} | 1.00 |"


def test_the_table_divides_only_bursts_of_one_size_on_one_runtime() -> None:
    assert "ours" not in table([OURS_50, replace(OTHER_50, runtime="containerd"), replace(OTHER_50, pods=110)])


def test_the_table_counts_the_pods_of_a_burst_that_did_not_end_in_time() -> None:
    assert "| 5,000 | kubelet | 2499 s | 4,411 Ready |" in table([UNFINISHED])


def test_what_pods_cost_at_rest_is_shown_where_it_was_measured() -> None:
    head, _, ours, other = table([replace(OURS_50, rest_kib=50.0, rest_core=0.0125), OTHER_50]).splitlines()
    assert head.endswith("| memory | a pod at rest | 1,000 pods at rest | half / last |")
    assert ours.endswith("| 50 KiB | 0.0125 core | 0.50 |")
    assert other.endswith("|  |  | 1.00 |")


def test_the_plot_has_a_line_for_each_agent_and_measure() -> None:
    bursts = [OURS_50, OTHER_50, replace(OURS_50, pods=1, half_s=0.1, last_s=0.1), UNFINISHED]
    drawn = ET.fromstring(plot(bursts))
    lines = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2 * len(MEASURES)


def test_a_plot_of_nothing_is_still_a_plot() -> None:
    ET.fromstring(plot([]))
    ET.fromstring(plot([burst("bare client, 4 at a time", "simulated", 50, [])]))
