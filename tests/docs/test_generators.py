"""Drawn pages: those in `docs/` are the ones that the code draws now."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from docs.generators import (
    container_start,
    kubelet_book,
    metrics,
    pod_lifecycle,
    probe_states,
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


def test_a_check_says_which_command_mends_an_old_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = _PageElsewhere(**msgspec.structs.asdict(STATE_PAGES[0]), folder=tmp_path)
    assert main(page, []) == 0
    assert main(page, ["--check"]) == 0
    page.path.write_text("an old page")
    assert main(page, ["--check"]) == 1
    assert "run: python -m docs.generators.container_start" in capsys.readouterr().err
