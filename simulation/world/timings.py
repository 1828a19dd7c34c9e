"""How long pods waited for what an agent does for them, to compare two plays of one seed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from simulation.scenarios.pods import PodMix

MS = 10**6
START, PROBE, END = "start", "next probe", "end"


class Timings:
    """By mix, what was waited for, and how long, in ns."""

    def __init__(self) -> None:
        self._waits_ns: dict[tuple[str, str], list[int]] = {}

    def waited(self, mix: PodMix | None, what: str, ns: int) -> None:
        """Note a wait, if the mix has a limit of how much longer it may be."""
        if mix is not None and mix.slower_at_most is not None:
            self._waits_ns.setdefault((mix.name, what), []).append(ns)

    def slower_than(self, other: Timings, mix: PodMix) -> Iterator[str]:
        """What took pods of the mix longer than their limit allows, by the times of the other play."""
        for (name, what), usual_ns in other._waits_ns.items():
            waits_ns = self._waits_ns.get((name, what))
            if name != mix.name or mix.slower_at_most is None:
                continue
            if waits_ns is None:
                yield f"no {name} came to its {what}"
                continue
            for measure, of in (("median", statistics.median_low), ("longest", max)):
                took_ns, may_ns = of(waits_ns), of(usual_ns) * mix.slower_at_most
                if took_ns > may_ns:
                    usual = f"{of(usual_ns) / MS:,.1f} ms without greedy pods"
                    yield f"the {measure} wait of {name} for its {what} was {took_ns / MS:,.1f} ms, and {usual}"
