"""The table of `benchmarks.greedy_pods`: how others fared without and with each greedy pod. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

AT_MOST = 1.5
MEMORY_MIB_AT_MOST = 20.0
STAGES = ("starts", "is updated", "is deleted")
"""What the greedy pod does meanwhile."""


@dataclass(frozen=True)
class Waits:
    """How long each of the others took to start and to end, in s. None: it did not within the limit."""

    starts_s: tuple[float | None, ...]
    ends_s: tuple[float | None, ...]

    def unfinished(self) -> int:
        return sum(each is None for each in (*self.starts_s, *self.ends_s))


@dataclass(frozen=True)
class Compared:
    """One greedy pod in one stage, and the same others without it on the same node."""

    row: str
    stage: str
    without: Waits
    beside: Waits

    def ratio(self) -> float | None:
        """The largest of the ratios of medians and of longest waits. None: somebody did not finish."""
        if self.beside.unfinished() or self.without.unfinished():
            return None
        pairs = ((self.without.starts_s, self.beside.starts_s), (self.without.ends_s, self.beside.ends_s))
        return max(of(_known(beside)) / of(_known(without)) for without, beside in pairs for of in (_median, max))

    @property
    def holds(self) -> bool:
        ratio = self.ratio()
        return ratio is not None and ratio <= AT_MOST


HEAD = (
    f"| one pod | meanwhile it | starts without | starts with | ends without | ends with | at most {AT_MOST:g} |\n"
    "|---|---|---|---|---|---|---|"
)
"""The table is Markdown."""


def line(compared: Compared) -> str:
    """Of the table. Times are the median and the longest, in ms."""
    cells = (
        compared.row,
        compared.stage,
        _words(compared.without.starts_s),
        _words(compared.beside.starts_s),
        _words(compared.without.ends_s),
        _words(compared.beside.ends_s),
        _verdict(compared),
    )
    return f"| {' | '.join(cells)} |"


def memory_words(before_mib: float, after_mib: float) -> str:
    """What is left of the greedy pods a minute after the last has gone."""
    grown = after_mib - before_mib
    holds = "holds" if grown <= MEMORY_MIB_AT_MOST else "does not hold"
    return (
        f"The agent had {before_mib:.0f} MiB before, and {after_mib:.0f} MiB a minute after the last was gone:"
        f" at most {MEMORY_MIB_AT_MOST:g} MiB more {holds}."
    )


def _verdict(compared: Compared) -> str:
    ratio = compared.ratio()
    if ratio is None:
        return f"does not hold: {compared.beside.unfinished()} did not finish"
    return f"{ratio:.2f} {'holds' if compared.holds else 'does not hold'}"


def _words(waits_s: Sequence[float | None]) -> str:
    known = _known(waits_s)
    if not known:
        return "-"
    return f"{_median(known) * 1000:.0f}, {max(known) * 1000:.0f}"


def _known(waits_s: Sequence[float | None]) -> list[float]:
    return [each for each in waits_s if each is not None]


def _median(waits_s: Sequence[float]) -> float:
    return statistics.median(waits_s)
