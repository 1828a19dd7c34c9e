"""What the benchmark of large clusters says: how the cost of a pod grows, and what its plot shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from benchmarks.cluster_scale import Run, plot, run, table

SMALL = Run(1000, 100, 1.0, 0.5, 1.5, 1.0, 0.5, 2.0, 200.0, 80.0)
LARGE = Run(10_000, 100, 1.0, 5.0, 20.0, 11.0, 0.5, 22.0, 900.0, 50.0)
OTHER = replace(SMALL, nodes=10, peak_mib=180.0)


def test_the_table_divides_the_cost_of_a_pod_by_that_of_the_smallest_run_on_as_many_nodes() -> None:
    rows = table([LARGE, SMALL, OTHER]).splitlines()[2:]
    assert rows == [
        "| 10,000 | 100 | 1.0 s | 5.0 s | 20.0 s | 11.0 s | 36.0 s | 1.20 | 22.0 s | 1.10 | 900 MiB | 50 KiB |",
        "| 1,000 | 100 | 1.0 s | 0.5 s | 1.5 s | 1.0 s | 3.0 s | 1.00 | 2.0 s | 1.00 | 200 MiB | 80 KiB |",
        "| 1,000 | 10 | 1.0 s | 0.5 s | 1.5 s | 1.0 s | 3.0 s | 1.00 | 2.0 s | 1.00 | 180 MiB | 80 KiB |",
    ]


def test_the_plot_has_time_and_memory_over_pods_and_over_nodes() -> None:
    drawn = ET.fromstring(plot([SMALL, LARGE, OTHER]))
    titles = [text.text for text in drawn.findall("{*}text[@class='title']")]
    assert titles == [
        "seconds over pods; 100 nodes",
        "MiB over pods; 100 nodes",
        "seconds over nodes; 1,000 pods",
        "MiB over nodes; 1,000 pods",
    ]
    assert len(drawn.findall("{*}polyline")) == 2 * (4 + 1)


def test_a_run_creates_runs_and_deletes_its_pods() -> None:
    small = run(30, 2)
    assert (small.pods, small.nodes) == (30, 2)
    assert small.peak_mib > 0 < small.pod_kib
