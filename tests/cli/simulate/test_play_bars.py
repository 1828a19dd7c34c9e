"""The progress bars of a simulation: what a person reads of the time."""

from __future__ import annotations

import io
import re
import sys

import pytest

from cli.simulate.play_bars import PlayBars

SAY_OTHERWISE = ("FORCE_COLOR", "TTY_COMPATIBLE")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        """What was drawn, without colours and moves."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error from now on; pytest would take it away between a fixture and its test."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("NO_COLOR", *SAY_OTHERWISE):
        monkeypatch.delenv(name, raising=False)
    return shown


def test_a_bar_says_how_much_time_is_left_as_soon_as_it_moves(monkeypatch: pytest.MonkeyPatch):
    terminal, now_s = terminal_of(monkeypatch), [1000.0]
    bars = PlayBars(quiet=False, clock=lambda: now_s[0])
    bar = bars.add("all seeds")
    with bars:
        bars.refresh()
        assert "left: -:--:--" in terminal.text()
        for share in (0.1, 0.2, 0.3):
            now_s[0] += 60
            bars.stand(bar, share)
        bars.refresh()
    assert "0:03:00 left: 0:07:00" in terminal.text()


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    for name in SAY_OTHERWISE:
        monkeypatch.delenv(name, raising=False)
    bars = PlayBars(quiet=False)
    with bars:
        bars.stand(bars.add("all seeds"), 0.5)
        bars.refresh()
    assert shown.getvalue() == ""
