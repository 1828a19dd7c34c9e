"""The rules that a scenario asks for by itself: what whoever wrote it wants to know first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulation.scenarios.scenario import Scenario

OF_MIXES: Mapping[str, tuple[str, ...]] = {
    "starts_within": ("starts-in-time", "the-newest-starts-in-time"),
    "ends_within": ("ends-in-time",),
    "shown_within": ("the-truth-is-shown-in-time",),
    "probed_within": ("probes-come-in-time",),
    "slower_at_most": ("no-pod-takes-anothers-turn",),
    "writes_until_running": ("few-writes-on-the-way",),
    "logs_at_most": ("logs-are-bounded",),
    "says": ("unsaid",),
    "steady": ("the-steady-start-once", "the-steady-stay-ready"),
}
"""A field of a mix -> the rules that it brings."""
OF_LEASES = "leases-are-renewed-in-time"


def promises_of(scenario: Scenario) -> frozenset[str]:
    """The names of those rules."""
    found = {
        rule for mix in scenario.pods for field, rules in OF_MIXES.items() if getattr(mix, field) for rule in rules
    }
    return frozenset(found | ({OF_LEASES} if scenario.leases_every else set()))


def promises_first(rules: Iterable[str], promises: frozenset[str]) -> list[str]:
    """Each rule once: the promises of the scenario, then the others, both in the order in which they come."""
    return sorted(dict.fromkeys(rules), key=lambda rule: rule not in promises)
