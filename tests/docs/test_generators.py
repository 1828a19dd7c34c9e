"""Drawn pages: those in `docs/` are the ones that the code draws now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.records.folder import RecordedRun, runs_in
from actors.replays.record_replay import RecordReplay
from docs.generators import (
    container_start,
    example_record,
    kubelet_book,
    metrics,
    pod_lifecycle,
    probe_states,
    replayed_failure,
    scenarios,
    volume_states,
)
from docs.generators.drawn_page import DrawnPage, main
from docs.generators.state_page import StatePage

STATE_PAGES = [each.PAGE for each in (container_start, pod_lifecycle, probe_states, volume_states)]
PAGES: list[DrawnPage] = [*STATE_PAGES, metrics.PAGE, scenarios.PAGE, *kubelet_book.PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)
def test_a_page_is_the_one_that_the_code_draws(page: DrawnPage) -> None:
    assert page.path.read_text() == page.text(), f"run: {page.command}"
    assert main(page, ["--check"]) == 0


class _PageElsewhere(StatePage, frozen=True):
    folder: Path = Path()

    @property
    def path(self) -> Path:
        return self.folder / super().path.name


def test_the_agent_of_today_decides_as_in_the_record_of_the_tutorial() -> None:
    assert example_record.differences() == 0, f"run: {example_record.COMMAND}, then: {replayed_failure.COMMAND}"


def test_a_record_of_the_tutorial_is_made_as_it_is_there(tmp_path: Path) -> None:
    example_record.make(tmp_path)
    (made,), (there,) = runs_in(str(tmp_path)), runs_in(str(example_record.FOLDER))
    assert msgspec.structs.replace(made.header, plan=b"") == msgspec.structs.replace(there.header, plan=b"")
    assert trace_of(made) == trace_of(there)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 100 << 10


def trace_of(run: RecordedRun) -> list[str]:
    lines: list[str] = []
    replay = RecordReplay(run, lines.append)
    while not replay.done:
        replay.next(100)
    assert lines
    return lines


def test_a_check_says_which_command_mends_an_old_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = _PageElsewhere(**msgspec.structs.asdict(STATE_PAGES[0]), folder=tmp_path)
    assert main(page, []) == 0
    assert main(page, ["--check"]) == 0
    page.path.write_text("an old page")
    assert main(page, ["--check"]) == 1
    assert "run: python -m docs.generators.container_start" in capsys.readouterr().err
