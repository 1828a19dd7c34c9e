"""Mistakes in the pods and faults of a scenario that their types do not show.

Times in the wrong order, unknown names, two mixes of one name, pods that no API server takes. It also works if only
some pods and faults could be read. Refuses to know how a scenario is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from simulation.scenarios.faults import Fault, said_twice
from simulation.scenarios.faults import faults_in as faults_of_fault
from simulation.scenarios.objects import refused_pods
from simulation.scenarios.pods import PodMix
from simulation.scenarios.pods import faults_in as faults_of_mix
from simulation.scenarios.words import faults_in_words


class Parts(NamedTuple):
    """Pods and faults of a scenario, by their numbers.

    `lasts`: that of the scenario. `nodes`: how many share a world, or None if unknown.
    """

    pods: Mapping[int, PodMix]
    faults: Mapping[int, Fault]
    lasts: str | None
    nodes: int | None


def faults_in_parts(parts: Parts) -> Iterator[str]:
    """The mistakes of all pods and faults, each with its path in the scenario."""
    names: set[str] = set()
    for number, mix in parts.pods.items():
        path = f"$.pods[{number}]"
        if mix.name in names:
            yield f"{path}.name: there is another mix {mix.name!r}"
        names.add(mix.name)
        of_mix = list(faults_in_words(mix, path)) or list(faults_of_mix(mix, path, lasts=parts.lasts))
        yield from of_mix or refused_pods(mix, path)
    for number, fault in parts.faults.items():
        yield from faults_of_fault(fault, f"$.faults[{number}]", lasts=parts.lasts, nodes=parts.nodes)
    yield from said_twice(parts.faults)
