"""Lines over numbers on logarithmic axes, two panels a row: an SVG document that needs nothing else."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_WIDTH, _PANEL, _LEFT, _TOP, _BELOW = 360, 220, 52, 28, 34
_COLOURS = ("#1f6feb", "#9aa4b2", "#bf8700", "#1a7f37", "#cf222e")
_STYLE = "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}polyline{fill:none;stroke-width:2}"


class Panel(NamedTuple):
    """`lines`: the points of each line, by its name. Only points above zero can be drawn."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def line_plot(panels: Sequence[Panel]) -> str:
    """All panels, and below them the names of the lines: a name has one colour in all panels."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    top_of_names = math.ceil(len(panels) / 2) * _PANEL
    width, height = 2 * _WIDTH, top_of_names + 18 * len(names) + 12
    drawn = "".join(
        _drawn(panel, names, (number % 2) * _WIDTH, (number // 2) * _PANEL) for number, panel in enumerate(panels)
    )
    legend = "".join(
        f'<text x="{_LEFT}" y="{top_of_names + 18 * number + 14}" style="fill:{_colour(number)}">'
        f"{html.escape(name)}</text>\n"
        for number, name in enumerate(names)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect width="{width}" height="{height}" fill="#fff"/>\n{drawn}{legend}</svg>\n'
    )


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _drawn(panel: Panel, names: list[str], left: int, top: int) -> str:
    lines = {name: sorted(point for point in points if point[1] > 0) for name, points in panel.lines.items()}
    known = [point for points in lines.values() for point in points]
    parts = [f'<text class="title" x="{left + _LEFT}" y="{top + 18}">{html.escape(panel.title)}</text>\n']
    if not known:
        return parts[0]
    across = _Scale([x for x, _ in known], left + _LEFT, left + _WIDTH - 20)
    up = _Scale([y for _, y in known], top + _PANEL - _BELOW, top + _TOP)
    for value in sorted({x for x, _ in known}):
        x, y = across.at(value), top + _PANEL - _BELOW + 16
        parts.append(f'<text x="{x:.0f}" y="{y}" text-anchor="middle">{value:,}</text>\n')
    for value in sorted({up.low, up.high}):
        parts.append(
            f'<text x="{left + _LEFT - 8}" y="{up.at(value) + 4:.0f}" text-anchor="end">{_short(value)}</text>\n'
        )
    for number, name in enumerate(names):
        drawn = " ".join(f"{across.at(x):.0f},{up.at(y):.0f}" for x, y in lines.get(name, ()))
        parts.append(f'<polyline points="{drawn}" style="stroke:{_colour(number)}"/>\n' if drawn else "")
    return "".join(parts)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class _Scale:
    """A logarithmic axis from one place to another."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.high = min(values), max(values)
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        if self.low == self.high:
            return (self._begin + self._end) / 2
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self._begin + share * (self._end - self._begin)
