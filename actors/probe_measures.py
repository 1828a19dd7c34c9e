"""What probes have come to and how long they took, by container (spec 5). Forgotten with their pod."""

from __future__ import annotations

from collections.abc import Iterable

from actors.probe_rules import ProbeKind
from config.objects import Pod
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from runtime.probes import Outcome

_RESULTS = {Outcome.SUCCESS: "successful", Outcome.WARNING: "successful", Outcome.FAILURE: "failed"}
_UNKNOWN = "unknown"


def measure_probe(meters: Meters, pod: Pod, container: str, kind: ProbeKind, outcome: Outcome, took_ns: int) -> None:
    """One probe of this pod has an answer."""
    who = (container, pod.metadata.name, pod.metadata.namespace)
    meters.count(names.PROBE_TOTAL, kind.heading, _RESULTS.get(outcome, _UNKNOWN), *who, pod.metadata.uid)
    meters.took(names.PROBE_DURATION, took_ns, kind.heading, *who)


def forget_probes(meters: Meters, pod: Pod, containers: Iterable[str]) -> None:
    """The pod is over: its series go."""
    for container in containers:
        who = (container, pod.metadata.name, pod.metadata.namespace)
        for kind in ProbeKind:
            meters.drop(names.PROBE_DURATION, kind.heading, *who)
            for result in (*sorted(set(_RESULTS.values())), _UNKNOWN):
                meters.drop(names.PROBE_TOTAL, kind.heading, result, *who, pod.metadata.uid)
