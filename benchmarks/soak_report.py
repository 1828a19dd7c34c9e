"""What a soak found: whether each measure stayed flat, and its plots, as SVG that needs nothing else.

Flat: a straight line through the last two thirds of the samples (least squares) rises by no more than the bound of the
measure. The first third is left out, since caches fill and the allocator finds its size.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import linear_regression
from typing import Any, Protocol

WARM_UP = 1 / 3
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 110, 60, 22, 18
POINTS = 240
"""A plot shows at most so many points, each the highest of its stretch."""
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.line{fill:none;stroke:#1f6feb}"
    ".fit{stroke:#d1242f;stroke-dasharray:4 3}.frame{fill:#fff;stroke:#ccc}"
)


class Timed(Protocol):
    """A sample: a dataclass with a number for each measure."""

    @property
    def at_s(self) -> float: ...


@dataclass(frozen=True)
class Sample:
    """The agent at one moment. `cpu_percent` of one core is since the sample before."""

    at_s: float
    memory_mib: float
    descriptors: int
    threads: int
    oldest_message_s: float
    cpu_percent: float
    actors: int
    pods: int

    def rounded(self) -> dict[str, float]:
        return {name: round(value, 2) for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Measure:
    """A field of a sample, its title, and how much its line may rise over the last two thirds."""

    name: str
    title: str
    bound: float


MEASURES = (
    Measure("memory_mib", "memory (RSS), MiB", 5.0),
    Measure("descriptors", "open descriptors", 5.0),
    Measure("threads", "threads", 2.0),
    Measure("oldest_message_s", "age of the oldest message in a mailbox, s", 0.5),
    Measure("cpu_percent", "CPU, % of a core", 5.0),
    Measure("actors", "actors", 60.0),
    Measure("pods", "pods", 10.0),
)


@dataclass(frozen=True)
class Verdict:
    """What a measure did: its range over all samples, and the line through the last two thirds."""

    measure: Measure
    lowest: float
    highest: float
    slope_per_s: float
    from_s: float
    from_value: float
    rise: float

    @property
    def flat(self) -> bool:
        return self.rise <= self.measure.bound

    def rounded(self) -> dict[str, float | bool]:
        return {
            "lowest": round(self.lowest, 2),
            "highest": round(self.highest, 2),
            "rise": round(self.rise, 2),
            "bound": self.measure.bound,
            "flat": self.flat,
        }


def judged(samples: Sequence[Timed], measure: Measure) -> Verdict:
    """At least three samples are needed."""
    begins = samples[-1].at_s * WARM_UP
    late = [each for each in samples if each.at_s >= begins]
    times, values = [each.at_s for each in late], [float(getattr(each, measure.name)) for each in late]
    slope, intercept = linear_regression(times, values)
    everything = [float(getattr(each, measure.name)) for each in samples]
    return Verdict(
        measure,
        min(everything),
        max(everything),
        slope,
        times[0],
        intercept + slope * times[0],
        slope * (times[-1] - times[0]),
    )


def plots(samples: Sequence[Timed], verdicts: list[Verdict]) -> str:
    """All plots, one below the other, as one SVG document."""
    height = len(verdicts) * (HEIGHT + TOP + BOTTOM)
    drawn = (_plot(samples, each, number * (HEIGHT + TOP + BOTTOM)) for number, each in enumerate(verdicts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 10}" height="{height}">\n'
        f"<style>{_STYLE}</style>\n{''.join(drawn)}</svg>\n"
    )


def page(samples: Sequence[Timed], verdicts: list[Verdict], result: dict[str, Any]) -> str:
    """The whole report."""
    rows = "".join(
        f"<tr><td>{html.escape(each.measure.title)}<td>{each.lowest:.2f}<td>{each.highest:.2f}<td>{each.rise:+.2f}"
        f"<td>{each.measure.bound:g}<td>{'flat' if each.flat else 'RISES'}</tr>\n"
        for each in verdicts
    )
    return (
        "<!doctype html><meta charset=utf-8><title>Soak of actorlet</title>"
        "<style>body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:left}</style>\n"
        f"<h1>{result['minutes']:g} minutes, {result['pods']} pods</h1>\n"
        "<table><tr><th>measure<th>lowest<th>highest<th>rise over the last two thirds<th>bound<th></tr>\n"
        f"{rows}</table>\n{plots(samples, verdicts)}"
        f"<pre>{html.escape(json.dumps(result, indent=2))}</pre>\n"
    )


def _plot(samples: Sequence[Timed], verdict: Verdict, top: int) -> str:
    lasts = max(samples[-1].at_s, 1.0)
    low, high = verdict.lowest, max(verdict.highest, verdict.lowest + 1e-6)
    if verdict.measure.name != "memory_mib":
        low = 0.0

    def x(at_s: float) -> float:
        return LEFT + WIDTH * at_s / lasts

    def y(value: float) -> float:
        return top + TOP + HEIGHT * (1 - (value - low) / (high - low))

    points = " ".join(f"{x(at):.0f},{y(value):.1f}" for at, value in _thinned(samples, verdict.measure.name))
    end = verdict.from_value + verdict.rise
    return (
        f'<text class="title" x="{LEFT}" y="{top + 14}">{html.escape(verdict.measure.title)}; '
        f"rise {verdict.rise:+.2f}, bound {verdict.measure.bound:g}</text>\n"
        f'<rect class="frame" x="{LEFT}" y="{top + TOP}" width="{WIDTH}" height="{HEIGHT}"/>\n'
        f'<text x="2" y="{top + TOP + 10}">{high:.4g}</text><text x="2" y="{top + TOP + HEIGHT}">{low:.4g}</text>\n'
        f'<text x="{LEFT + WIDTH - 45}" y="{top + TOP + HEIGHT + 13}">{_lasting(lasts)}</text>\n'
        f'<polyline class="line" points="{points}"/>\n'
        f'<line class="fit" x1="{x(verdict.from_s):.0f}" y1="{y(verdict.from_value):.1f}" x2="{x(lasts):.0f}" '
        f'y2="{y(end):.1f}"/>\n'
    )


def _lasting(seconds: float) -> str:
    hours = seconds / 3600
    return f"{seconds / 60:.0f} min" if hours < 10 else f"{hours:.0f} h"


def _thinned(samples: Sequence[Timed], name: str) -> list[tuple[float, float]]:
    step = max(1, -(-len(samples) // POINTS))
    stretches = (samples[first : first + step] for first in range(0, len(samples), step))
    return [(each[0].at_s, max(float(getattr(one, name)) for one in each)) for each in stretches]
