"""What the benchmark of greedy pods measures, and how it judges."""

from __future__ import annotations

import pytest

from benchmarks.greedy_pods.report import Compared, Waits, line, memory_words
from benchmarks.greedy_pods.rows import Row, rows, small
from config.documents.codec import from_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.validation.pod import validate_pod

USUAL = Waits((0.1, 0.2, 0.4), (0.1, 0.1, 0.1))


def compared(starts_s: tuple[float | None, ...], ends_s: tuple[float | None, ...] = (0.1, 0.1, 0.1)) -> Compared:
    return Compared("many volumes", "starts", USUAL, Waits(starts_s, ends_s))


@pytest.mark.parametrize(
    ("beside", "ratio", "holds"),
    [
        (compared((0.1, 0.2, 0.4)), 1.0, True),
        (compared((0.1, 0.3, 0.4)), 1.5, True),
        (compared((0.1, 0.32, 0.4)), 1.6, False),
        (compared((0.1, 0.2, 0.8)), 2.0, False),
        (compared((0.1, 0.2, 0.4), (0.1, 0.1, 0.3)), 3.0, False),
        (compared((0.1, 0.2, None)), None, False),
    ],
)
def test_the_worst_of_median_and_longest_counts(beside: Compared, ratio: float | None, holds: bool) -> None:
    assert beside.ratio() == (None if ratio is None else pytest.approx(ratio))
    assert beside.holds is holds


def test_the_table_shows_both_columns_of_one_run() -> None:
    shown = line(compared((0.1, 0.3, 0.4)))
    assert shown == "| many volumes | starts | 200, 400 | 300, 400 | 100, 100 | 100, 100 | 1.50 holds |"


def test_the_table_says_who_did_not_finish() -> None:
    shown = line(compared((None, None, None)))
    assert shown.endswith("| does not hold: 3 did not finish |")
    assert "| - |" in shown


@pytest.mark.parametrize(("after_mib", "words"), [(119.0, "MiB more holds"), (121.0, "MiB more does not hold")])
def test_memory_may_grow_by_twenty_mebibytes(after_mib: float, words: str) -> None:
    assert words in memory_words(100.0, after_mib)


@pytest.mark.parametrize("row", rows(0.01), ids=lambda row: row.name)
def test_the_api_server_takes_the_greedy_pods(row: Row) -> None:
    document = row.document("node", "image", "/dead")
    assert validate_pod(default_pod(from_builtins(document, Pod))) == ()


def test_the_api_server_takes_the_small_pods() -> None:
    assert validate_pod(default_pod(from_builtins(small("small-0", "node", "image"), Pod))) == ()
