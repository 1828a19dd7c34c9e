"""The files to read to follow one pod to Running are few, and listed in `docs/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.pod_trace import PLACE, as_markdown, traced_files

FILES_AT_MOST = 46
"""Six of them serve admission: the worker of a pod works out what grows with it."""
DOC = Path(__file__).parents[3] / "docs" / "explanation" / "pod-start.md"


@pytest.fixture(scope="module")
def files() -> tuple[str, ...]:
    return traced_files()


def test_the_start_of_a_pod_runs_through_few_files(files: tuple[str, ...]):
    assert len(files) <= FILES_AT_MOST


def test_the_documentation_lists_these_files_in_order(files: tuple[str, ...]):
    assert DOC.read_text().partition(PLACE)[2].strip() == as_markdown(files)


def test_the_order_is_the_same_in_every_run(files: tuple[str, ...]):
    assert traced_files() == files
