"""Scenarios: what a world is to live through, as YAML.

The structs here are the format; `schema()` is made of them.

A scenario says which pods there are (mixes of equal ones), when they come and go, and what goes wrong. After the faults
the world is healed, and the scenario says what must hold at the end. Reading checks everything that can be checked
without a world, and every fault names its place. Refuses to know how any of it is played. `docs/reference/scenarios.md`
has the format for users.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from config.documents.text import read_document
from config.kubelet import KubeletConfiguration
from config.kubelet.reading import read_plain
from config.values.nearest import did_you_mean
from simulation.chance.sometimes import KNOWN
from simulation.cri.behaviour_values import duration_ns
from simulation.host.facts import MAX_PODS
from simulation.scenarios.faults import AnyFault, said_twice
from simulation.scenarios.faults import faults_in as faults_of_fault
from simulation.scenarios.misspelt import with_hint
from simulation.scenarios.names import wrong_actor
from simulation.scenarios.objects import refused_pods
from simulation.scenarios.pods import PodMix
from simulation.scenarios.pods import faults_in as faults_of_mix
from simulation.scenarios.words import Duration, ScenarioPart, Size, faults_in_words

DEFAULT = "everyday"
_LIBRARY = os.path.dirname(__file__)


class ScenarioError(ValueError):
    """A scenario that cannot be played. The text has a reason per fault, with its path."""


class NodeRules(ScenarioPart, frozen=True):
    """What the nodes are like."""

    serialize_image_pulls: bool = True
    api_requests_per_second: Annotated[int, Meta(ge=0)] = 0
    """0: as many as it likes."""
    configuration: Mapping[str, Any] = {}
    """Fields of a KubeletConfiguration."""
    mailboxes: Mapping[str, Annotated[int, Meta(ge=1)]] = {}
    """Class of actors, such as PodWorker -> how many messages may wait for each."""
    image_disk: Size | None = None
    """Of a disk that images and writable layers have for themselves; without it, they lie on the node's."""
    image_size: Size = "20Mi"
    """Of each image that is there from the start, or is pulled."""
    spare_images: Annotated[int, Meta(ge=0, le=1000)] = 0
    """So many more are there from the start, which no pod asks for."""
    dead_containers: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """So many are left on each node from before, of pods that nobody knows any more."""


class Scenario(ScenarioPart, frozen=True):
    """Pods, nodes and faults to play in a simulated world, and what must hold at the end."""

    about: str
    pods: Annotated[tuple[PodMix, ...], Meta(min_length=1)]
    nodes: Annotated[int, Meta(ge=1, le=1000)] = 1
    first_node: Annotated[int, Meta(ge=0, le=999)] = 0
    """The number in the name of the first, `node-0`."""
    apart: bool = False
    """Each node has a cluster to itself, and its share of the pods; see `simulation.play.parts`."""
    node: NodeRules = NodeRules()
    faults: tuple[AnyFault, ...] = ()
    lasts: Duration | None = None
    """Until then things go wrong and pods come and go.

    Without it, until the last that is to go was deleted.
    """
    converges_within: Duration = "10m"
    """After the world is healed, all must be as desired so soon."""
    nodes_stay_ready: bool = True
    leases_every: Duration | None = None
    """The lease of each node must be renewed at least so often."""
    reaches: tuple[str, ...] = ()
    """What must have happened at least once in a set of runs: names of `simulation.chance.sometimes`."""

    def pod_count(self) -> int:
        return sum(mix.count for mix in self.pods)

    def nodes_together(self) -> int:
        """How many share a world."""
        return 1 if self.apart else self.nodes


def read_scenario(data: bytes) -> Scenario:
    """Raises `ScenarioError`."""
    value, faults = read_document(data)
    if faults:
        raise ScenarioError("; ".join(str(fault) for fault in faults))
    try:
        scenario = msgspec.convert(value, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(with_hint(str(error), Scenario, value)) from None
    check_scenario(scenario)
    return scenario


def library() -> tuple[str, ...]:
    """The names of the scenarios that come along."""
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(_LIBRARY) if name.endswith(".yaml")))


def nearest_scenarios(name: str) -> str:
    """The nearest scenario of the library, or else all of them, in words."""
    return did_you_mean(name, library(), f"there are {', '.join(library())}; or give a YAML file")


def library_scenario(name: str) -> Scenario:
    """Raises `ScenarioError` when there is none of that name."""
    if name not in library():
        raise ScenarioError(f"there is no scenario {name!r}; {nearest_scenarios(name)}")
    with open(os.path.join(_LIBRARY, f"{name}.yaml"), "rb") as file:
        return read_scenario(file.read())


def schema() -> dict[str, Any]:
    """The JSON schema of the format."""
    made = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Scenario)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A scenario of actorlet", **made}


def with_pods(scenario: Scenario, count: int) -> Scenario:
    """The same scenario with that many pods: mixes that are not fixed grow or shrink alike.

    Raises `ScenarioError`.
    """
    kept = sum(mix.count for mix in scenario.pods if mix.fixed)
    free = [mix for mix in scenario.pods if not mix.fixed]
    left, of = count - kept, sum(mix.count for mix in free)
    if left < 0 or not of:
        raise ScenarioError(f"this scenario cannot have {count} pods: {kept} of its pods are fixed")
    pods: list[PodMix] = []
    for mix in scenario.pods:
        if mix.fixed:
            pods.append(mix)
            continue
        share = left * mix.count // of if of else 0
        left, of = left - share, of - mix.count
        pods.append(msgspec.structs.replace(mix, count=share))
    return msgspec.structs.replace(scenario, pods=tuple(pods))


def lasting(scenario: Scenario, lasts: str) -> Scenario:
    """The same scenario, with its coming, going and faults lasting so long.

    `24h`, and whatever else Go can read.
    """
    try:
        words = msgspec.convert(lasts, Duration)
    except msgspec.ValidationError:  # such as .5h: scenarios have fewer ways to write it, and this may be saved
        words = f"{duration_ns(lasts)}ns"
    return msgspec.structs.replace(scenario, lasts=words)


def with_nodes(scenario: Scenario, nodes: int) -> Scenario:
    """The same scenario on that many nodes. Raises `ScenarioError` when one is missing that a fault names."""
    on_so_many = msgspec.structs.replace(scenario, nodes=nodes)
    check_scenario(on_so_many)
    return on_so_many


def check_scenario(scenario: Scenario) -> None:
    """What its types do not say: raises `ScenarioError` when it cannot be played."""
    if faults := list(faults_in_words(scenario, "$")):
        raise ScenarioError("; ".join(faults))
    names: set[str] = set()
    for number, mix in enumerate(scenario.pods):
        path = f"$.pods[{number}]"
        if mix.name in names:
            faults.append(f"{path}.name: there is another mix {mix.name!r}")
        names.add(mix.name)
        of_mix = list(faults_of_mix(mix, path, lasts=scenario.lasts))
        faults += of_mix or refused_pods(mix, path)
    for number, fault in enumerate(scenario.faults):
        faults += faults_of_fault(fault, f"$.faults[{number}]", lasts=scenario.lasts, nodes=scenario.nodes_together())
    faults += said_twice(scenario.faults)
    faults += configuration_of(scenario.node)[1]
    for name in scenario.node.mailboxes:
        if refusal := wrong_actor(name):
            faults.append(f"$.node.mailboxes.{name}: {refusal}")
    for number, name in enumerate(scenario.reaches):
        if name not in KNOWN:
            faults.append(f"$.reaches[{number}]: {name!r} is none of {', '.join(KNOWN)}")
    if faults:
        raise ScenarioError("; ".join(faults))


def configuration_of(node: NodeRules) -> tuple[KubeletConfiguration, list[str]]:
    """What the agents are told, and what is wrong with it."""
    plain = {
        "clusterDNS": ["10.0.0.10"],
        "clusterDomain": "cluster.local",
        "maxPods": MAX_PODS,
        "serializeImagePulls": node.serialize_image_pulls,
        **node.configuration,
    }
    read = read_plain(plain)
    faults = [f"$.node.configuration{str(fault).removeprefix('$')}" for fault in read.faults]
    return read.configuration, faults
