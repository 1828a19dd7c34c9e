"""Scenarios: what a world is to live through, as YAML.

The structs here are the format; `schema()` is made of them.

A scenario says which pods there are (mixes of equal ones), when they come and go, and what goes wrong. After the faults
the world is healed, and the scenario says what must hold at the end. Reading checks everything that can be checked
without a world, and every fault names its place. Refuses to know how any of it is played. `docs/reference/scenarios.md`
has the format for users.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, structs

from config.documents.text import Document, only_document
from config.kubelet import KubeletConfiguration
from config.kubelet.reading import read_plain
from config.values.nearest import did_you_mean
from simulation.cri.behaviour_values import duration_ns
from simulation.host.facts import MAX_PODS
from simulation.scenarios.checks import Parts, faults_in_parts
from simulation.scenarios.devices import DriverDevices, PluginDevices, faults_in_devices, unknown
from simulation.scenarios.faults import AnyFault, DevicePlugins, DraDrivers
from simulation.scenarios.mistakes import mistakes
from simulation.scenarios.names import EVERYTHING, wrong_actor, wrong_events
from simulation.scenarios.pods import PodMix
from simulation.scenarios.words import Duration, ScenarioPart, Size, faults_in_words

DEFAULT = "everyday"
_LIBRARY = os.path.dirname(__file__)
_OTHER_KINDS = {
    "scenario": "$: it is a saved failure, not a scenario; play it with `actorlet replay`",
    "apiVersion": "$: it is a manifest, not a scenario; run it with `actorlet up --manifests`",
}
"""A field that no scenario has -> what the file is instead."""


class ScenarioError(ValueError):
    """A scenario that cannot be played: a text for each fault, with its path in the document.

    `lines`: where each is in the file, when it came from one.
    """

    def __init__(self, *faults: str, lines: tuple[int | None, ...] = ()) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults
        self.lines = lines or (None,) * len(faults)

    def of_file(self, file: str) -> tuple[str, ...]:
        """Each fault, with the file and the line before it."""
        places = (file if line is None else f"{file}:{line}" for line in self.lines)
        return tuple(f"{place}: {fault}" for place, fault in zip(places, self.faults, strict=True))


class NodeRules(ScenarioPart, frozen=True):
    """The settings of the nodes."""

    serialize_image_pulls: bool = True
    api_requests_per_second: Annotated[int, Meta(ge=0)] = 0
    """0: as many as it likes."""
    configuration: Mapping[str, Any] = {}
    """Fields of a KubeletConfiguration."""
    mailboxes: Mapping[str, Annotated[int, Meta(ge=1)]] = {}
    """Class of actors, such as PodWorker -> how many messages may wait for each."""
    image_disk: Size | None = None
    """Size of a separate disk for images and writable layers; without it, they use the node's disk."""
    image_size: Size = "20Mi"
    """Size of each image that is present at the start or is pulled."""
    spare_images: Annotated[int, Meta(ge=0, le=1000)] = 0
    """The number of additional images at the start, which no pod uses."""
    dead_containers: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """The number of dead containers on each node from earlier, of unknown pods."""
    devices: tuple[PluginDevices, ...] = ()
    """Device plugins of each node."""
    dra_drivers: tuple[DriverDevices, ...] = ()
    """Drivers for claims of devices on each node."""
    island: bool = False
    """Whether pods start from memory while the API server is away."""
    work_takes_time: bool = False
    """Whether the work of agents takes virtual time (`simulation.node.work`)."""


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
    """Events that must happen at least once in a set of runs: names of `simulation.chance.sometimes`."""

    def pod_count(self) -> int:
        return sum(mix.count for mix in self.pods)

    def nodes_together(self) -> int:
        """How many share a world."""
        return 1 if self.apart else self.nodes


def read_scenario(data: bytes) -> Scenario:
    """Read a scenario. Raises `ScenarioError` with all its mistakes."""
    document = only_document(data)
    if document.faults:
        raise with_lines(document, map(str, document.faults))
    if isinstance(document.value, dict):
        for field, fault in _OTHER_KINDS.items():
            if field in document.value:
                raise with_lines(document, [fault])
    try:
        scenario = msgspec.convert(document.value, Scenario)
    except msgspec.ValidationError:
        formal = mistakes(Scenario, document.value)
        rest = _faults_in_what_can_be_read(document.value)
        raise with_lines(document, [*map(str, formal), *rest]) from None
    if faults := list(_faults_in(scenario)):
        raise with_lines(document, faults)
    return scenario


def with_lines(document: Document, faults: Iterable[str]) -> ScenarioError:
    """The error of these faults, in the order of the file, each with its line."""
    found = sorted(((document.line_of(fault.partition(": ")[0]), fault) for fault in faults), key=_line_first)
    return ScenarioError(*(fault for _, fault in found), lines=tuple(line for line, _ in found))


def _line_first(fault: tuple[int | None, str]) -> int:
    return fault[0] or 0


def library() -> tuple[str, ...]:
    """The names of the scenarios that come along."""
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(_LIBRARY) if name.endswith(".yaml")))


def nearest_scenarios(name: str) -> str:
    """The nearest scenario of the library, or else all of them, in words."""
    return did_you_mean(name, library(), f"there are {', '.join(library())}; or give a YAML file")


def library_scenario(name: str) -> Scenario:
    """Read a scenario of the library. Raises `ScenarioError` for an unknown name."""
    if name not in library():
        raise ScenarioError(f"there is no scenario {name!r}; {nearest_scenarios(name)}")
    with open(os.path.join(_LIBRARY, f"{name}.yaml"), "rb") as file:
        return read_scenario(file.read())


def schema() -> dict[str, Any]:
    """The JSON schema of the format."""
    made = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Scenario)))
    for struct in made["$defs"].values():
        if text := struct.get("description"):
            # Releases of msgspec before 0.23 keep the indentation of a docstring.
            struct["description"] = inspect.cleandoc(text)
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
        pods.append(structs.replace(mix, count=share))
    return structs.replace(scenario, pods=tuple(pods))


def lasting(scenario: Scenario, lasts: str) -> Scenario:
    """The same scenario, with pods and faults that come and go for `lasts`.

    `lasts` is a duration of Go, such as `24h`.
    """
    try:
        words = msgspec.convert(lasts, Duration)
    except msgspec.ValidationError:  # such as .5h: scenarios have fewer ways to write it, and this may be saved
        words = f"{duration_ns(lasts)}ns"
    return structs.replace(scenario, lasts=words)


def with_nodes(scenario: Scenario, nodes: int) -> Scenario:
    """The same scenario on that many nodes. Raises `ScenarioError` when one is missing that a fault names."""
    on_so_many = structs.replace(scenario, nodes=nodes)
    check_scenario(on_so_many)
    return on_so_many


def check_scenario(scenario: Scenario) -> None:
    """Check the rules that types cannot express. Raises `ScenarioError`."""
    if faults := list(_faults_in(scenario)):
        raise ScenarioError(*faults)


def _faults_in(scenario: Scenario) -> Iterator[str]:
    pods, faults = dict(enumerate(scenario.pods)), dict(enumerate(scenario.faults))
    return _faults_beyond_types(scenario, Parts(pods, faults, scenario.lasts, scenario.nodes_together()))


def _faults_beyond_types(scenario: Scenario, parts: Parts) -> Iterator[str]:
    """Mistakes that types do not show. `parts` replaces the pods and faults of the scenario."""
    yield from faults_in_words(structs.replace(scenario, pods=(), faults=()), "$")
    yield from faults_in_parts(parts)
    yield from configuration_of(scenario.node)[1]
    for name in scenario.node.mailboxes:
        if refusal := wrong_actor(name):
            yield f"$.node.mailboxes.{name}: {refusal}"
    yield from wrong_events(scenario.reaches)
    yield from _faults_of_devices(scenario.node, parts)


def _faults_of_devices(node: NodeRules, parts: Parts) -> Iterator[str]:
    """Devices that cannot be, and pods and faults that name others than the nodes have."""
    yield from faults_in_devices(node.devices, node.dra_drivers)
    resources, drivers = [each.resource for each in node.devices], [each.driver for each in node.dra_drivers]
    named = [
        (f"$.pods[{number}].{field}.{name}", name, known, what)
        for number, mix in parts.pods.items()
        for field, names, known, what in (
            ("devices", mix.devices, resources, "a plugin of"),
            ("claims", mix.claims, drivers, "the driver"),
        )
        for name in names
    ]
    for number, fault in parts.faults.items():
        if isinstance(fault, DevicePlugins) and (fault.resource != EVERYTHING or not resources):
            named.append((f"$.faults[{number}].resource", fault.resource, resources, "a plugin of"))
        if isinstance(fault, DraDrivers) and (fault.driver != EVERYTHING or not drivers):
            named.append((f"$.faults[{number}].driver", fault.driver, drivers, "the driver"))
    for path, name, known, what in named:
        if refusal := unknown(name, known, what):
            yield f"{path}: {refusal}"


def _faults_in_what_can_be_read(document: object) -> Iterator[str]:
    """Mistakes that types do not show, in the well-formed fields, pods and faults.

    The ill-formed ones count as left out.
    """
    fields = document if isinstance(document, dict) else {}
    hints = get_type_hints(Scenario, include_extras=True)
    given = {each.name: fields[each.encode_name] for each in structs.fields(Scenario) if each.encode_name in fields}
    read = {name: found for name, value in given.items() for found in _converted(value, hints[name])}
    pods, faults = (_numbered(given.get(name), kind) for name, kind in (("pods", PodMix), ("faults", AnyFault)))
    scenario = Scenario(**{"about": "", "pods": (), **read})
    lasts = "1h" if "lasts" in given and "lasts" not in read else scenario.lasts
    unsure = any(name in given and name not in read for name in ("nodes", "apart"))
    parts = Parts(pods, faults, lasts, None if unsure else scenario.nodes_together())
    return _faults_beyond_types(scenario, parts)


def _numbered(items: object, kind: Any) -> dict[int, Any]:
    """The well-formed items of a list, by number."""
    listed = enumerate(items if isinstance(items, list) else ())
    return {number: found for number, item in listed for found in _converted(item, kind)}


def _converted(value: object, kind: Any) -> list[Any]:
    """The value as that type, in a list; an empty list if it is ill-formed."""
    try:
        return [msgspec.convert(value, kind)]
    except msgspec.ValidationError:
        return []


def configuration_of(node: NodeRules) -> tuple[KubeletConfiguration, list[str]]:
    """The configuration of the agents, and its faults."""
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
