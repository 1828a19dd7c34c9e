"""Scenarios: what a world is to live through, as YAML. The structs here are the format; `schema()` is made of them.

A scenario says which pods there are (mixes of equal ones), when they come and go, what goes wrong until the world is
healed, and what must hold at the end. Reading checks everything that can be checked without a world, and every fault
names its place. Refuses to know how any of it is played. `docs/simulate.md` has the format for users.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from config.documents import read_document
from simulation.cri.behaviour import PREFIX, BehaviourError, parse_behaviour
from simulation.cri.behaviour_values import duration_ns
from simulation.sometimes import KNOWN

IMAGE = "registry.example/app:1"
DEFAULT = "everyday"

Duration = Annotated[
    str, Meta(pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$|^0$", description="as in Go: 90s, 1m30s, 250ms, 0")
]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$")]
Range = tuple[Duration, Duration]


class ScenarioError(ValueError):
    """A scenario that cannot be played. The text has a reason per fault, with its path."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    pass


class ContainerMix(_Part, frozen=True):
    """One container of each pod of a mix."""

    name: Name = "app"
    image: str = IMAGE
    runs_for: str = "forever"
    """From start to exit; one value per attempt, the last one goes on: `3s,forever`."""
    exit_code: str = "0"
    start_delay: str = "0"
    readiness_every: Annotated[int, Meta(ge=0)] = 0
    """Seconds between readiness probes; 0: it has none."""
    liveness_every: Annotated[int, Meta(ge=0)] = 0
    behaviour: Mapping[str, str] = {}
    """More knobs of the simulated runtime, without their prefix."""


class PodMix(_Part, frozen=True):
    """Pods that are alike."""

    name: Name
    count: Annotated[int, Meta(ge=0, le=1_000_000)]
    containers: Annotated[tuple[ContainerMix, ...], Meta(min_length=1)] = (ContainerMix(),)
    restart_policy: Annotated[str, Meta(pattern="^(Always|OnFailure|Never)$")] = "Always"
    grace_seconds: Annotated[int, Meta(ge=1)] = 5
    behaviour: Mapping[str, str] = {}
    """Knobs of the simulated runtime for the whole pod, without their prefix."""
    arrives: Range = ("0s", "10s")
    """When each is created, drawn evenly from this stretch."""
    lives: Range | None = None
    """From creation to deletion, drawn evenly; without it, it stays."""
    replaced: bool = False
    """Each that has gone is followed by another, until the world is healed."""
    replaced_hourly: Share = 0.0
    """So large a part of them is deleted in each hour, at times drawn evenly, and each is followed by another."""
    fixed: bool = False
    """The count is kept when a run asks for another number of pods."""
    disk_hangs: bool = False
    """The directory of each hangs until the world is healed."""
    hopeless: bool = False
    """It need not come to run, nor to its end."""
    steady: bool = False
    """No container of it is ever started twice, and once ready it stays so."""
    starts_within: Duration | None = None
    """Each must show Running so soon after it was created."""
    ends_within: Duration | None = None
    """Each must be gone so soon after it was deleted."""
    says: str | None = None
    """Reason of an event that each of them must have."""


class _Fault(_Part, frozen=True, tag_field="fault"):
    pass


class RuntimeCalls(_Fault, frozen=True, tag="runtime-calls"):
    """Chances of what a call to the runtime meets. `verb`: such as StartContainer; `*` for all not named."""

    verb: str = "*"
    fail: Share = 0.0
    lose: Share = 0.0
    hang: Share = 0.0
    slow: Share = 0.0
    late: Share = 0.0


class RuntimeEvents(_Fault, frozen=True, tag="runtime-events"):
    """Chances of what an event of the runtime meets."""

    double: Share = 0.0
    lose: Share = 0.0
    delay: Share = 0.0
    cut: Share = 0.0


class ApiCalls(_Fault, frozen=True, tag="api-calls"):
    """Chances of what a call to the API server meets. `verb`: such as `patch pods/status`; `*` for all not named."""

    verb: str = "*"
    fail: Share = 0.0
    lose: Share = 0.0
    slow: Share = 0.0
    late: Share = 0.0


class ApiWatches(_Fault, frozen=True, tag="api-watches"):
    """Chances of what an event of a watch meets."""

    delay: Share = 0.0
    cut: Share = 0.0


class ApiOutage(_Fault, frozen=True, tag="api-outage"):
    """Nobody reaches the API server. `forgets`: its history is lost, too."""

    at: Duration
    lasts: Duration
    forgets: bool = False


class RuntimeOutage(_Fault, frozen=True, tag="runtime-outage"):
    """The runtime of every node is away; what runs, runs on."""

    at: Duration
    lasts: Duration


class AgentKills(_Fault, frozen=True, tag="agent-kills"):
    """Each agent is killed `times` times, at any moment of the scenario, and is away for a while."""

    times: Annotated[int, Meta(ge=1, le=1000)]
    away: Range = ("0s", "3s")


Fault = RuntimeCalls | RuntimeEvents | ApiCalls | ApiWatches | ApiOutage | RuntimeOutage | AgentKills


class NodeRulesOfScenario(_Part, frozen=True):
    """What the nodes are like."""

    serialize_image_pulls: bool = True
    api_requests_per_second: Annotated[int, Meta(ge=0)] = 0
    """0: as many as it likes."""


class Scenario(_Part, frozen=True):
    """See the module."""

    about: str
    pods: Annotated[tuple[PodMix, ...], Meta(min_length=1)]
    nodes: Annotated[int, Meta(ge=1, le=1000)] = 1
    node: NodeRulesOfScenario = NodeRulesOfScenario()
    faults: tuple[Fault, ...] = ()
    lasts: Duration | None = None
    """Until then things go wrong and pods come and go; without it, until the last that is to go was deleted."""
    converges_within: Duration = "10m"
    """After the world is healed, all must be as desired so soon."""
    nodes_stay_ready: bool = True
    reaches: tuple[str, ...] = ()
    """What must have happened at least once in a set of runs: names of `simulation.sometimes`."""

    def pod_count(self) -> int:
        return sum(mix.count for mix in self.pods)


def read_scenario(data: bytes) -> Scenario:
    """Raises `ScenarioError`."""
    value, faults = read_document(data)
    if faults:
        raise ScenarioError("; ".join(str(fault) for fault in faults))
    try:
        scenario = msgspec.convert(value, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(str(error)) from None
    check_scenario(scenario)
    return scenario


def library() -> tuple[str, ...]:
    """The names of the scenarios that come along."""
    folder = files("simulation.scenarios")
    return tuple(sorted(one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml")))


def library_scenario(name: str) -> Scenario:
    """Raises `ScenarioError` when there is none of that name."""
    if name not in library():
        raise ScenarioError(f"there is no scenario {name!r}; there are {', '.join(library())}")
    return read_scenario((files("simulation.scenarios") / f"{name}.yaml").read_bytes())


def schema() -> dict[str, Any]:
    """The JSON schema of the format."""
    made = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Scenario)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A scenario of actorlet", **made}


def with_pods(scenario: Scenario, count: int) -> Scenario:
    """The same scenario with that many pods: mixes that are not fixed grow or shrink alike. Raises `ScenarioError`."""
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


def annotations_of(mix: PodMix) -> dict[str, str]:
    """What a mix asks of the simulated runtime, as annotations of its pods."""
    found = {PREFIX + knob: text for knob, text in mix.behaviour.items()}
    for container in mix.containers:
        own = {"run-for": container.runs_for, "exit-code": container.exit_code, "start-delay": container.start_delay}
        told = {knob: text for knob, text in own.items() if text not in ("forever", "0")} | dict(container.behaviour)
        found |= {f"{PREFIX}{knob}.{container.name}": text for knob, text in told.items()}
    return found


def lasting(scenario: Scenario, lasts: str) -> Scenario:
    """The same scenario, in which things come, go, and go wrong for so long (`24h`)."""
    return msgspec.structs.replace(scenario, lasts=lasts)


def check_scenario(scenario: Scenario) -> None:
    """What its types do not say: raises `ScenarioError` when it cannot be played."""
    faults: list[str] = []
    names: set[str] = set()
    for number, mix in enumerate(scenario.pods):
        path = f"$.pods[{number}]"
        if mix.name in names:
            faults.append(f"{path}.name: there is another mix {mix.name!r}")
        names.add(mix.name)
        for what, stretch in (("arrives", mix.arrives), ("lives", mix.lives)):
            if stretch is not None and duration_ns(stretch[0]) > duration_ns(stretch[1]):
                faults.append(f"{path}.{what}: write the shorter of {stretch[0]} and {stretch[1]} first")
        if mix.replaced and (mix.lives is None or scenario.lasts is None):
            faults.append(f"{path}.replaced: needs `lives`, and `lasts` of the scenario")
        if mix.replaced_hourly and (mix.lives is not None or scenario.lasts is None):
            faults.append(f"{path}.replacedHourly: needs `lasts` of the scenario, and no `lives`")
        try:
            parse_behaviour(annotations_of(mix))
        except BehaviourError as error:
            faults.append(f"{path}: {error}")
    for number, fault in enumerate(scenario.faults):
        if isinstance(fault, AgentKills) and scenario.lasts is None:
            faults.append(f"$.faults[{number}]: agents are killed within `lasts` of the scenario; write it")
    for number, name in enumerate(scenario.reaches):
        if name not in KNOWN:
            faults.append(f"$.reaches[{number}]: {name!r} is none of {', '.join(KNOWN)}")
    if faults:
        raise ScenarioError("; ".join(faults))
