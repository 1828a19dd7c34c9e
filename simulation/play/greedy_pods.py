"""The greedy pods of a scenario: the fields that they grow, their updates, and how others fare.

The others are compared with themselves in a play of the same seed without the greedy pods. All other things come at the
same times there, since greedy pods draw from a stream of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from simulation.chance.chance import Chance
from simulation.cri.behaviour_values import size_bytes
from simulation.greedy.pods import LATER, drawn_field, greedy_pod
from simulation.greedy.recipes import KEY, OBJECT
from simulation.scenarios.pods import ANY_FIELD, PodMix, annotations_of, body_of
from simulation.scenarios.scenario import Scenario
from simulation.world.timings import MS, Timings
from simulation.world.world import PODS, World

CONTENT = "x" * 4096
"""What the ConfigMap and the Secret of greedy pods hold. 20,000 paths that show it take 80 MiB."""
TOLD_TURNS = 4
UID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Json = dict[str, Any]


class GreedyPods:
    """`seed`: of the play."""

    def __init__(self, world: World, scenario: Scenario, seed: int) -> None:
        self._world = world
        self._chance = Chance(f"greedy {seed}")
        self.fields: dict[str, str] = {}
        """By mix: the field that its pods grow."""
        self._forms: dict[str, Json] = {}
        for mix in scenario.pods:
            if mix.greedy is not None:
                self._forms[mix.name] = self._form_of(mix)

    def _form_of(self, mix: PodMix) -> Json:
        assert mix.greedy is not None
        at_most, field = size_bytes(mix.greedy.size), mix.greedy.field
        if field == ANY_FIELD:
            field = drawn_field(lambda below: self._chance.between(0, below - 1), at_most)
        self.fields[mix.name] = field
        pod = greedy_pod(field, at_most, tuple(annotations_of(mix).items())).document
        own: Json = msgspec.json.decode(msgspec.json.encode(body_of(mix)))
        spec = {**own["spec"], **pod["spec"], **mix.spec, "nodeName": next(iter(self._world.nodes))}
        labels = {**pod["metadata"].get("labels", {}), "mix": mix.name}
        return {**pod, "metadata": {**pod["metadata"], "labels": labels}, "spec": spec}

    def prepare(self) -> None:
        """Make the objects that greedy pods refer to."""
        if self._forms:
            self._world.create_settings(OBJECT, {KEY: CONTENT}, {KEY: CONTENT})
        for mix, field in self.fields.items():
            self._world.note(f"lets {mix} grow {field}")

    def form_of(self, mix: PodMix) -> Json | None:
        """A pod of the mix without its name, as it is created; None of a mix that is not greedy."""
        form = self._forms.get(mix.name)
        if form is None or LATER not in form["spec"]:
            return form
        return {**form, "spec": {name: part for name, part in form["spec"].items() if name != LATER}}

    def between(self, low: int, high: int) -> int:
        """A number for a greedy pod, from its own stream."""
        return self._chance.between(low, high)

    def update(self, mix: PodMix, name: str) -> None:
        """Give a pod of the mix one more label, and what it could not be created with."""
        shown = self._world.server.store.get("pods", "default", name)
        if shown is None or shown.object["metadata"].get("deletionTimestamp"):
            return
        self._world.note(f"updates {name}")
        metadata = shown.object["metadata"]
        labels = {**metadata.get("labels", {}), "updated": "yes"}
        pod = {**shown.object, "metadata": {**metadata, "labels": labels}}
        later = self._forms.get(mix.name, {"spec": {}})["spec"].get(LATER)
        if later is None:
            self._world.ask("PUT", f"{PODS}/{name}", pod)
        else:
            self._world.ask("PUT", f"{PODS}/{name}/{LATER.lower()}", {**pod, "spec": {**pod["spec"], LATER: later}})

    # --- the others -------------------------------------------------------------------------------------------------

    def took_turns_of_others(self, scenario: Scenario, usual: Timings) -> Iterator[str]:
        """What took others too long, by the times of a play without the greedy pods."""
        grown = (f"{mix} grows {field}" for mix, field in self.fields.items())
        why = ", ".join((*grown, *self._longest_turns()))
        for mix in scenario.pods:
            for slower in self._world.chronicle.timings.slower_than(usual, mix):
                yield f"{slower} ({why})"

    def _longest_turns(self) -> Iterator[str]:
        """The actors with the longest turns, those of pods by what stands above them."""
        longest_ns: dict[str, int] = {}
        for node in self._world.nodes.values():
            for path, ns in node.agent.work.longest_ns.items() if node.agent.work is not None else ():
                kind = "/".join("*" if UID.fullmatch(step) else step for step in path.split("/"))
                longest_ns[kind] = max(ns, longest_ns.get(kind, 0))
        for path, ns in sorted(longest_ns.items(), key=lambda each: -each[1])[:TOLD_TURNS]:
            yield f"{path} took {ns / MS:,.0f} ms for a turn"


def is_compared(scenario: Scenario) -> bool:
    """Whether some pods must fare as without the greedy ones."""
    return any(mix.greedy is not None and mix.count for mix in scenario.pods) and any(
        mix.slower_at_most is not None for mix in scenario.pods
    )


def without_greedy(scenario: Scenario) -> Scenario:
    """The scenario without its greedy pods."""
    return replace(scenario, pods=tuple(mix for mix in scenario.pods if mix.greedy is None))
