"""What bursts of pods cost, as a table with ratios and as a plot (`benchmarks.bursts`)."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

OURS = "actorlet"
_WIDTH, _PANEL, _LEFT, _TOP, _BELOW = 360, 220, 52, 28, 34
_COLOURS = ("#1f6feb", "#9aa4b2", "#bf8700", "#1a7f37", "#cf222e")
_STYLE = "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}polyline{fill:none;stroke-width:2}"


@dataclass(frozen=True)
class Burst:
    """One burst. `half_s`, `last_s`: when half of the pods and the last were Ready; None: not in time.

    `cpu_s` and `memory_mib` are those of the agent; None: there is none. `warnings`: what events warned of.
    """

    who: str
    runtime: str
    pods: int
    ready: int
    half_s: float | None
    last_s: float | None
    cpu_s: float | None = None
    memory_mib: float | None = None
    warnings: tuple[str, ...] = ()

    def rounded(self) -> dict[str, Any]:
        """For people who read the JSON."""
        return {name: round(each, 3) if isinstance(each, float) else each for name, each in asdict(self).items()}


class Measure(NamedTuple):
    name: str
    unit: str
    of: Callable[[Burst], float | None]


MEASURES = (
    Measure("half Ready after", "s", lambda each: each.half_s),
    Measure("last Ready after", "s", lambda each: each.last_s),
    Measure("CPU", "s", lambda each: each.cpu_s),
    Measure("memory", "MiB", lambda each: each.memory_mib),
)


def burst(who: str, runtime: str, pods: int, ready_after_s: Sequence[float]) -> Burst:
    """A burst of which these pods became Ready, sorted by time."""
    ready = len(ready_after_s)
    half = max(0, math.ceil(pods / 2) - 1)
    return Burst(
        who,
        runtime,
        pods,
        ready,
        ready_after_s[half] if ready > half else None,
        ready_after_s[-1] if ready == pods else None,
    )


def table(bursts: Iterable[Burst]) -> str:
    """A Markdown table. Behind a figure of another stands ours of the same burst, divided by it."""
    bursts = list(bursts)
    ours = {(each.runtime, each.pods): each for each in bursts if each.who == OURS}
    names = ["runtime", "pods", "who", *(each.name for each in MEASURES), "half / last"]
    rows = [names, ["---"] * len(names)]
    for each in bursts:
        figures = [_figure(measure, each, ours.get((each.runtime, each.pods))) for measure in MEASURES]
        rows.append([each.runtime, f"{each.pods:,}", each.who, *figures, _in_order(each)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _figure(measure: Measure, each: Burst, ours: Burst | None) -> str:
    value = measure.of(each)
    if value is None:
        return f"{each.ready:,} Ready" if measure is MEASURES[1] else ""
    text = f"{value:.3g} {measure.unit}" if value < 100 else f"{value:.0f} {measure.unit}"
    mine = None if ours is None or each.who == OURS else measure.of(ours)
    return text if mine is None or value <= 0 else f"{text} (ours {mine / value:.2f})"


def _in_order(each: Burst) -> str:
    """How much of the time of the last pod passes until half are Ready: 0.5 when they become Ready evenly."""
    return f"{each.half_s / each.last_s:.2f}" if each.half_s and each.last_s and each.pods > 1 else ""


# --- the plot ---------------------------------------------------------------------------------------------------------


def plot(bursts: Iterable[Burst]) -> str:
    """One panel a measure, a line for each agent and runtime; both axes are logarithmic. An SVG document."""
    bursts = list(bursts)
    lines = list(dict.fromkeys((each.who, each.runtime) for each in bursts))
    width, height = 2 * _WIDTH, 2 * _PANEL + 18 * len(lines) + 12
    panels = "".join(
        _panel(measure, bursts, lines, (number % 2) * _WIDTH, (number // 2) * _PANEL)
        for number, measure in enumerate(MEASURES)
    )
    legend = "".join(
        f'<text x="{_LEFT}" y="{2 * _PANEL + 18 * number + 14}" style="fill:{_colour(number)}">'
        f"{html.escape(' on '.join(line))}</text>\n"
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect width="{width}" height="{height}" fill="#fff"/>\n{panels}{legend}</svg>\n'
    )


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _panel(measure: Measure, bursts: list[Burst], lines: list[tuple[str, str]], left: int, top: int) -> str:
    known = [(each, value) for each in bursts if (value := measure.of(each)) is not None and value > 0]
    parts = [f'<text class="title" x="{left + _LEFT}" y="{top + 18}">{measure.name}, {measure.unit}</text>\n']
    if not known:
        return parts[0]
    across = _Scale([each.pods for each, _ in known], left + _LEFT, left + _WIDTH - 20)
    up = _Scale([value for _, value in known], top + _PANEL - _BELOW, top + _TOP)
    for pods in sorted({each.pods for each, _ in known}):
        x, y = across.at(pods), top + _PANEL - _BELOW + 16
        parts.append(f'<text x="{x:.0f}" y="{y}" text-anchor="middle">{pods:,}</text>\n')
    for value in sorted({up.low, up.high}):
        parts.append(f'<text x="{left + _LEFT - 8}" y="{up.at(value) + 4:.0f}" text-anchor="end">{value:.3g}</text>\n')
    for number, line in enumerate(lines):
        points = sorted((each.pods, value) for each, value in known if (each.who, each.runtime) == line)
        drawn = " ".join(f"{across.at(pods):.0f},{up.at(value):.0f}" for pods, value in points)
        parts.append(f'<polyline points="{drawn}" style="stroke:{_colour(number)}"/>\n' if points else "")
    return "".join(parts)


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
