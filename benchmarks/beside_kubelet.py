"""Draws what starts of many pods cost, beside a Go kubelet: `docs/pictures/beside-kubelet.svg`.

    python -m benchmarks.beside_kubelet

The figures are given as text below, with their source: the peer is no part of this repository. Each panel has a scale
of its own.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "beside-kubelet.svg"
SOURCE = (
    "One Kubernetes 1.36 control plane, simulated runtimes, two cores. The peer is kubemark 1.36, a hollow kubelet."
)
PEER, OURS = "kubelet (kubemark)", "actorlet"
WIDTH, PANEL, BAR, LEFT = 720, 74, 18, 190
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.peer{fill:#9aa4b2}.ours{fill:#1f6feb}"
    ".source{font-size:10px;fill:#777}"
)


class Figure(NamedTuple):
    """One measure of both. `note`: what the number of the peer hides."""

    what: str
    unit: str
    peer: float
    ours: float
    note: str = ""


FIGURES = (
    Figure("1,000 pods: the last Running after", "s", 44, 26.5),
    Figure("1,000 pods: CPU of the agent", "s", 55.5, 20),
    Figure("5,000 pods: the last Running after", "s", 414, 162, "4,411 of 5,000 by then"),
    Figure("5,000 pods: CPU of the agent", "s", 666, 131),
    Figure("5,000 pods: memory of the agent", "MiB", 622, 628),
)
"""Middles of what was measured, where it was measured more than once."""


def drawn(figures: tuple[Figure, ...] = FIGURES) -> str:
    """The plot as one SVG document."""
    height = len(figures) * PANEL + 24
    panels = "".join(_panel(each, number * PANEL) for number, each in enumerate(figures))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n{panels}'
        f'<text class="source" x="8" y="{height - 8}">{html.escape(SOURCE)}</text>\n</svg>\n'
    )


def _panel(figure: Figure, top: int) -> str:
    longest = max(figure.peer, figure.ours)
    rows = [f'<text class="title" x="8" y="{top + 18}">{html.escape(figure.what)}</text>\n']
    bars = ((PEER, "peer", figure.peer, figure.note), (OURS, "ours", figure.ours, ""))
    for number, (who, kind, value, note) in enumerate(bars):
        y = top + 26 + number * (BAR + 4)
        length = (WIDTH - LEFT - 190) * value / longest
        text = f"{value:g} {figure.unit}" + (f", {note}" if note else "")
        rows.append(
            f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{html.escape(who)}</text>\n'
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.0f}" height="{BAR}"/>\n'
            f'<text x="{LEFT + length + 6:.0f}" y="{y + 13}">{html.escape(text)}</text>\n'
        )
    return "".join(rows)


if __name__ == "__main__":
    PICTURE.write_text(drawn())
