"""The result of a simulation: a JSON object for programs, a few lines for people.

`docs/reference/simulate.md` lists the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simulation.play.play import PlayOutcome
from simulation.play.promises import promises_first
from simulation.world.chronicle import VIOLATIONS_KEPT

SECOND_NS = 10**9
PERCENTILES = (50, 90, 99)
VIOLATIONS_SHOWN = 3
"""Of each rule, to people."""

Json = dict[str, Any]


def report_of(outcome: PlayOutcome, *, seed: int, nodes: int, wall_s: float, memory: int) -> Json:
    """The report as in `docs/reference/simulate.md`. `memory`: bytes."""
    return {
        "seed": seed,
        "pods": outcome.pods,
        "nodes": nodes,
        "virtual_seconds": round(outcome.virtual_ns / SECOND_NS, 3),
        "wall_seconds": round(wall_s, 3),
        "messages": outcome.messages,
        "peak_rss_bytes": memory,
        "trace_hash": outcome.trace_hash,
        "violations": list(outcome.violations),
        "sometimes": outcome.sometimes,
        "startup_seconds": {f"p{share}": percentile(outcome.startups_ns, share) for share in PERCENTILES},
        "converged": outcome.converged,
    }


def percentile(sorted_ns: Sequence[int], share: int) -> float | None:
    """The smallest number of seconds that at most `share` per cent exceed; None without values."""
    if not sorted_ns:
        return None
    return round(sorted_ns[max(0, -(-len(sorted_ns) * share // 100) - 1)] / SECOND_NS, 6)


def report_lines(report: Json, promises: frozenset[str] = frozenset()) -> Iterator[str]:
    """The report for people. Violations stand by their rules, those of `promises` first."""
    yield (
        f"seed {report['seed']}: {of(report['pods'], 'pod')} on {of(report['nodes'], 'node')}, "
        f"{report['virtual_seconds']:g} s of virtual time in {report['wall_seconds']:g} s, "
        f"{report['messages']} messages, {report['peak_rss_bytes'] // 2**20} MiB"
    )
    yield f"  trace {report['trace_hash']}"
    startup = report["startup_seconds"]
    times = [f"{name} {value} s" for name, value in startup.items() if value is not None]
    yield f"  start of pods: {', '.join(times) or 'none ran'}"
    yield f"  sometimes: {counted(report['sometimes']) or 'nothing rare'}"
    yield f"  {'all became as desired' if report['converged'] else 'it did not come to what is desired'}"
    yield from violation_lines(report["violations"], promises)


def violation_lines(violations: Sequence[Json], promises: frozenset[str]) -> Iterator[str]:
    """A few violations of each rule, and how many more there are."""
    by_rule: dict[str, list[Json]] = {}
    for violation in violations:
        by_rule.setdefault(violation["invariant"], []).append(violation)
    for rule in promises_first(by_rule, promises):
        for violation in by_rule[rule][:VIOLATIONS_SHOWN]:
            yield f"  VIOLATION {rule} at {violation['at_seconds']:g} s: {violation['what']}"
        if (left := len(by_rule[rule]) - VIOLATIONS_SHOWN) > 0:
            yield f"    and {left} more of this rule, the last at {by_rule[rule][-1]['at_seconds']:g} s"
    if len(violations) >= VIOLATIONS_KEPT:
        yield f"  there may be more: {VIOLATIONS_KEPT} are kept, and the first of each rule"


def all_seeds_line(seeds: int, failed: int, sometimes: dict[str, int]) -> str:
    """A line for several seeds together: every counter, also those at zero."""
    never = ", ".join(name for name, times in sometimes.items() if not times)
    held = "all held" if not failed else f"{failed} failed"
    never = f"; never: {never}" if never else ""
    return f"{seeds} seeds, {held}; sometimes: {counted(sometimes) or 'nothing rare'}{never}"


def counted(sometimes: dict[str, int]) -> str:
    """The counters as text."""
    return ", ".join(f"{name} {times}" for name, times in sometimes.items() if times)


def of(count: int, what: str) -> str:
    """The count with its noun: `no pods`, `1 pod`, `2 pods`."""
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
