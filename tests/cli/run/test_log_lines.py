"""Log lines in the kubelet's form."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest

from cli.run.log_lines import LineFormatter, log_to


@pytest.mark.parametrize(
    ("level", "letter"),
    [(logging.DEBUG, "I"), (logging.INFO, "I"), (logging.WARNING, "W"), (logging.ERROR, "E"), (logging.CRITICAL, "F")],
)
def test_a_line_tells_severity_time_process_place_and_text(level: int, letter: str) -> None:
    record = logging.LogRecord("actorlet.x", level, "/a/sync_loop.py", 42, "pod %s is late", ("web",), None)
    record.created, record.process = 1_767_323_045.25, 77
    line = LineFormatter().format(record)
    assert line == f"{letter}0102 03:04:05.250000      77 sync_loop.py:42] actorlet.x: pod web is late"


def test_an_exception_follows_its_line() -> None:
    out = io.StringIO()
    handler = log_to(out)
    try:
        try:
            raise ValueError("no")
        except ValueError:
            logging.getLogger("actorlet.x").exception("it failed")
    finally:
        logging.getLogger().removeHandler(handler)
    assert re.match(r"E.*actorlet\.x: it failed\nTraceback", out.getvalue())


@pytest.mark.parametrize(("verbosity", "level"), [(0, logging.INFO), (3, logging.INFO), (4, logging.DEBUG)])
def test_verbosity_is_that_of_the_kubelet(verbosity: int, level: int) -> None:
    root = logging.getLogger()
    before = root.level
    handler = log_to(io.StringIO(), verbosity)
    try:
        assert root.level == level
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def test_a_line_is_written_sooner_than_any_flush_frequency(tmp_path: Path) -> None:
    """`logging.flushFrequency` is the longest that a line may wait in memory. Here none waits."""
    with open(tmp_path / "log", "w") as stream:
        handler = log_to(stream)
        try:
            logging.getLogger("actorlet.test").warning("something")
            assert "something" in (tmp_path / "log").read_text()
        finally:
            logging.getLogger().removeHandler(handler)
