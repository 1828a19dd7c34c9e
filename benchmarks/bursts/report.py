"""What bursts of pods cost, as a table with ratios and as a plot (`benchmarks.bursts`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from benchmarks.line_plot import Panel, line_plot

OURS = "actorlet"


@dataclass(frozen=True)
class Burst:
    """One burst. `half_s`, `last_s`: when half of the pods and the last were Ready; None: not in time.

    `cpu_s` and `memory_mib` are those of the agent; None: there is none. `warnings`: what events warned of.

    At rest, long after the burst: `rest_kib` is by how much each pod has made the agent larger, `rest_core` the share
    of a core that 1,000 pods take. None: not measured.
    """

    who: str
    runtime: str
    pods: int
    ready: int
    half_s: float | None
    last_s: float | None
    cpu_s: float | None = None
    memory_mib: float | None = None
    rest_kib: float | None = None
    rest_core: float | None = None
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
AT_REST = (
    Measure("a pod at rest", "KiB", lambda each: each.rest_kib),
    Measure("1,000 pods at rest", "core", lambda each: each.rest_core),
)


def _measures(bursts: Sequence[Burst]) -> tuple[Measure, ...]:
    return (*MEASURES, *(each for each in AT_REST if any(each.of(one) is not None for one in bursts)))


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
    measures = _measures(bursts)
    names = ["runtime", "pods", "who", *(each.name for each in measures), "half / last"]
    rows = [names, ["---"] * len(names)]
    for each in bursts:
        figures = [_figure(measure, each, ours.get((each.runtime, each.pods))) for measure in measures]
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


def plot(bursts: Iterable[Burst]) -> str:
    """One panel a measure, and a line for each agent and runtime. An SVG document."""
    bursts = list(bursts)
    panels = []
    for measure in _measures(bursts):
        lines: dict[str, list[tuple[float, float]]] = {f"{each.who} on {each.runtime}": [] for each in bursts}
        for each in bursts:
            value = measure.of(each)
            if value is not None:
                lines[f"{each.who} on {each.runtime}"].append((each.pods, value))
        panels.append(Panel(f"{measure.name}, {measure.unit}", lines))
    return line_plot(panels)
