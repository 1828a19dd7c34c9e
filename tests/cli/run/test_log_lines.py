"""Log lines in the kubelet's form."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.run.log_lines import LineFormatter, log_as, log_to, set_verbosity
from config.kubelet.configuration import Logging, LogOptions, LogStream, VerbosityByFile
from tests.attacks.words import WORDS, forged_lines, raw_characters


@pytest.fixture(autouse=True)
def log_of_others() -> Iterator[None]:
    """The next test has the log as it was before this one."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


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
    assert re.match(r"E.*actorlet\.x: it failed\n  Traceback", out.getvalue())


def attacked(log: logging.Logger) -> None:
    log.warning("image %s cannot be pulled", WORDS)
    try:
        raise ValueError(WORDS) from RuntimeError(WORDS)
    except ValueError:
        log.exception("it failed: %s", WORDS)
    log.info("long: %s", "x" * 10**6)


def test_no_word_from_outside_forges_a_line_or_acts_on_who_reads_the_log() -> None:
    lines, _ = lines_of(Logging(), attacked)
    text = "\n".join(lines)
    assert not raw_characters(text)
    assert not forged_lines(text)
    heads = [line for line in lines if line and not line.startswith("  ")]
    assert [line[0] for line in heads] == ["W", "E", "I"]
    assert all(WORDS[-20:] in line for line in heads[:2]), "the rest of the text is there"
    assert any("RuntimeError: " in line for line in lines), "and so is the traceback"
    assert len(heads[2]) < 10_000


def test_a_line_of_json_has_the_true_text_and_no_raw_one() -> None:
    lines, _ = lines_of(Logging(format="json"), attacked)
    assert not raw_characters("".join(lines))
    warned, failed, long = map(json.loads, lines)
    assert warned["msg"] == f"image {WORDS} cannot be pulled"
    assert (failed["msg"], failed["err"]) == (f"it failed: {WORDS}", WORDS)
    assert "RuntimeError" in failed["stacktrace"]
    assert len(long["msg"]) < 10_000


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


def lines_of(settings: Logging, write: Callable[[logging.Logger], None]) -> tuple[list[str], list[str]]:
    """The lines that go to standard error, and those that go to standard output."""
    errors, information = io.StringIO(), io.StringIO()
    root = logging.getLogger()
    before = root.level
    handlers = log_as(settings, errors, information)
    try:
        write(logging.getLogger("actorlet.X"))
    finally:
        for handler in handlers:
            root.removeHandler(handler)
        root.setLevel(before)
    return errors.getvalue().splitlines(), information.getvalue().splitlines()


def speak(log: logging.Logger) -> None:
    log.debug("detail")
    log.info("pod %s runs", "wéb\n")
    log.warning("late")
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("it failed")


def test_json_lines_have_the_fields_that_a_kubelet_writes() -> None:
    lines, nothing = lines_of(Logging(format="json", verbosity=4), speak)
    detail, runs, late, failed = (json.loads(line) for line in lines)
    assert not nothing
    assert list(runs) == ["ts", "logger", "caller", "msg", "v"]
    assert (runs["logger"], runs["msg"], runs["v"]) == ("actorlet.X", "pod wéb\n runs", 0)
    assert re.fullmatch(r"run/test_log_lines\.py:\d+", runs["caller"])
    assert runs["ts"] == pytest.approx(datetime.now(UTC).timestamp() * 1000, abs=3_600_000), "in milliseconds"
    assert (detail["v"], late["v"]) == (4, 0)
    assert (failed["msg"], failed["err"], "v" in failed) == ("it failed", "no", False)
    assert failed["stacktrace"].startswith("Traceback")


@pytest.mark.parametrize("form", ["text", "json"])
def test_where_streams_are_split_errors_alone_go_to_standard_error(form: str) -> None:
    split = LogStream(split_stream=True)
    errors, information = lines_of(Logging(format=form, options=LogOptions(text=split, json=split)), speak)
    assert "it failed" in errors[0]
    assert "wéb" in information[0]
    assert "late" in information[-1]


@pytest.mark.parametrize(
    ("pattern", "verbosity", "own", "shown"),
    [
        ("test_log*", 0, 4, True),
        ("test_log_lines", 0, 5, True),
        ("test_log_lines", 4, 3, False),
        ("other", 0, 4, False),
        ("other", 4, 0, True),
    ],
)
def test_vmodule_is_the_verbosity_of_single_files(pattern: str, verbosity: int, own: int, shown: bool) -> None:
    entry = VerbosityByFile(file_pattern=pattern, verbosity=own)
    lines, _ = lines_of(Logging(verbosity=verbosity, vmodule=(entry,)), speak)
    assert any("detail" in line for line in lines) == shown
    assert any("late" in line for line in lines)


def test_vmodule_holds_when_the_verbosity_is_set_while_the_agent_runs() -> None:
    def change(log: logging.Logger) -> None:
        set_verbosity(5)
        log.debug("one")
        set_verbosity(0)
        log.debug("two")

    entry = VerbosityByFile(file_pattern="test_log_lines", verbosity=4)
    assert len(lines_of(Logging(vmodule=(entry,)), change)[0]) == 2
    assert len(lines_of(Logging(vmodule=(VerbosityByFile(file_pattern="x", verbosity=4),)), change)[0]) == 1
