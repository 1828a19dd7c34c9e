"""The faults of a scenario until its world is healed.

Each fault is a struct, known by its word under `fault`.

`simulation.play.fault_injection` carries them out; nothing here knows how. A random fault has a likelihood or a
frequency. A planned fault has a beginning and a length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, get_args

from msgspec import Meta

from simulation.cri.behaviour_values import duration_ns, size_bytes
from simulation.scenarios import names
from simulation.scenarios.devices import DriverTrouble, PluginTrouble
from simulation.scenarios.words import Duration, Range, ScenarioPart, Share, Size, Times, faults_in_words

EVERYWHERE = names.EVERYTHING


Scarce = Literal["memory", "disk", "image-disk", "inodes", "pids"]
"""`image-disk`: the disk of images and layers, where it is one of its own; else the node's."""


class Fault(ScenarioPart, frozen=True, tag_field="fault"):
    """The base of all faults; the field `fault` of the document names the kind."""


# --- calls, events and the network ------------------------------------------------------------------------------------


class RuntimeCalls(Fault, frozen=True, tag="runtime-calls"):
    """Chances of faults of a call to the runtime. `verb`: such as StartContainer; `*` for all not named."""

    verb: str = "*"
    fail: Share = 0.0
    lose: Share = 0.0
    hang: Share = 0.0
    slow: Share = 0.0
    late: Share = 0.0


class RuntimeEvents(Fault, frozen=True, tag="runtime-events"):
    """Chances of faults of a runtime event."""

    double: Share = 0.0
    lose: Share = 0.0
    delay: Share = 0.0
    cut: Share = 0.0


class ApiCalls(Fault, frozen=True, tag="api-calls"):
    """Chances of faults of a call to the API server.

    `verb`: such as `patch pods/status`; `*` for all not named.
    """

    verb: str = "*"
    fail: Share = 0.0
    lose: Share = 0.0
    slow: Share = 0.0
    late: Share = 0.0


class ApiWatches(Fault, frozen=True, tag="api-watches"):
    """Chances of faults of a watch event."""

    delay: Share = 0.0
    cut: Share = 0.0


class ApiOutage(Fault, frozen=True, tag="api-outage"):
    """The API server is unreachable. `forgets`: its history is lost too."""

    at: Duration
    lasts: Duration
    forgets: bool = False


class RuntimeOutage(Fault, frozen=True, tag="runtime-outage"):
    """The runtime of every node is away; what runs, runs on."""

    at: Duration
    lasts: Duration


class Network(Fault, frozen=True, tag="network"):
    """The network between a node and the API server.

    Each message takes from one `delay` to the other, and is lost with the chance `loss`. Then it is sent again after
    200 ms, 400 ms, and so on, as TCP does it.
    """

    node: str = EVERYWHERE
    delay: Range = ("0s", "0s")
    loss: Annotated[float, Meta(ge=0, le=0.9)] = 0.0


class NetworkCuts(Fault, frozen=True, tag="network-cuts"):
    """The network from each node to the API server is cut so many `times`, at any moment.

    Nothing is refused, and nothing arrives, until it is over. `node`: of this one only.
    """

    times: Times
    lasts: Range
    node: str = EVERYWHERE


# --- agents and clocks ------------------------------------------------------------------------------------------------


class AgentKills(Fault, frozen=True, tag="agent-kills"):
    """Each agent is killed `times` times, at any moment of the scenario, or `at` given times.

    Or with the chance `atOperations` before each single operation on its disk. Each time it is away for a while.
    `atMoments`: numbers of moments, counted over all agents from when the nodes are ready. `actorlet simulate
    --kill-everywhere` goes through them.
    """

    times: Annotated[int, Meta(ge=0, le=1000)] = 0
    at: tuple[Duration, ...] = ()
    at_operations: Share = 0.0
    at_moments: tuple[Annotated[int, Meta(ge=1)], ...] = ()
    away: Range = ("0s", "3s")


class PowerCuts(Fault, frozen=True, tag="power-cuts"):
    """Each node loses power `times` times, at any moment of the scenario, or `at` given times.

    It boots after a while, and its agent begins.
    """

    times: Annotated[int, Meta(ge=0, le=1000)] = 0
    at: tuple[Duration, ...] = ()
    away: Range = ("10s", "30s")


class AgentPauses(Fault, frozen=True, tag="agent-pauses"):
    """Each agent gets no CPU `times` times, at any moment, or `at` given times."""

    lasts: Range
    times: Annotated[int, Meta(ge=0, le=1000)] = 0
    at: tuple[Duration, ...] = ()


class ClockJumps(Fault, frozen=True, tag="clock-jumps"):
    """The time of day jumps `times` times, at any moment, by so much.

    The direction is given or drawn.
    """

    times: Times
    by: Range
    direction: Literal["forward", "back", "both"] = "both"


class LostMessages(Fault, frozen=True, tag="lost-messages"):
    """Messages of that type, such as LookAgain, find the mailbox full with that chance, and are lost."""

    message: str
    share: Share


class FrozenActor(Fault, frozen=True, tag="frozen-actor"):
    """An actor of each node stops handling messages.

    It is the one of that `path`, such as `/node/status-manager`, or one drawn from all that health watches. Health must
    name it, and no other.
    """

    at: Duration
    lasts: Duration
    path: str = ""


class ActorFailures(Fault, frozen=True, tag="actor-failures"):
    """Actors of that class and `path` fail with the chance `share` at each `message`.

    A path is like `/node/sync-loop/*`. They fail before the work is done, amid it or after it, at most so many `times`
    on each node.
    """

    share: Share
    actor: str = names.EVERYTHING
    path: str = names.EVERYTHING
    message: str = names.EVERYTHING
    times: Times = 1000


# --- what nodes are short of ------------------------------------------------------------------------------------------


class NodeShortage(Fault, frozen=True, tag="node-shortage"):
    """Something else on each node takes so much of a resource that just `leaves` is left.

    It lasts for a while, again and again. `image-disk`: the disk of images and layers, where there is one, else the
    node's.
    """

    what: Scarce
    leaves: tuple[Size, Size]
    """Drawn each time."""
    lasts: Range
    pauses: Range
    """Before each of them."""


# --- disks ------------------------------------------------------------------------------------------------------------


class Volumes(Fault, frozen=True, tag="volumes"):
    """Chances that making a volume of that `kind`, such as nfs, hangs or fails.

    It hangs until the world is healed.
    """

    kind: str = EVERYWHERE
    hang: Share = 0.0
    fail: Share = 0.0


class DiskFull(Fault, frozen=True, tag="disk-full"):
    """The disks of all nodes are full."""

    at: Duration
    lasts: Duration


# --- devices ----------------------------------------------------------------------------------------------------------


class DevicePlugins(Fault, frozen=True, tag="device-plugins"):
    """The device plugins of each node have trouble so many `times`, at any moment, for a while.

    `what` is drawn: calls `hang`, it `die`s, half its devices are `sick`, it returns with `other-ids`, or it `lie`s
    about what it prefers. `resource`: of this one only.
    """

    times: Times
    lasts: Range
    what: tuple[PluginTrouble, ...] = get_args(PluginTrouble)
    resource: str = EVERYWHERE


class DraDrivers(Fault, frozen=True, tag="dra-drivers"):
    """The drivers for claims of each node have trouble so many `times`, at any moment, for a while.

    `what` is drawn: calls `hang` or `fail`, they are `slow`, or it `die`s. `driver`: of this one only.
    """

    times: Times
    lasts: Range
    what: tuple[DriverTrouble, ...] = get_args(DriverTrouble)
    driver: str = EVERYWHERE


AnyFault = (
    RuntimeCalls
    | RuntimeEvents
    | ApiCalls
    | ApiWatches
    | ApiOutage
    | RuntimeOutage
    | Network
    | NetworkCuts
    | AgentKills
    | PowerCuts
    | AgentPauses
    | ClockJumps
    | LostMessages
    | FrozenActor
    | ActorFailures
    | Volumes
    | DiskFull
    | DevicePlugins
    | DraDrivers
    | NodeShortage
)


_DRAWN = (ClockJumps, NetworkCuts, AgentKills, PowerCuts, AgentPauses, DevicePlugins, DraDrivers)
"""They come at any moment of what the scenario lasts."""


def faults_in(fault: Fault, path: str, *, lasts: str | None, nodes: int | None) -> Iterator[str]:
    """The mistakes of a fault in a scenario that `lasts` so long, with so many `nodes` (None: unknown)."""
    if lasts is None and isinstance(fault, _DRAWN):
        yield f"{path}: it comes at any moment within `lasts` of the scenario; write it"
    yield from alone(fault, path)
    if isinstance(fault, AgentKills) and not (fault.times or fault.at or fault.at_operations or fault.at_moments):
        yield f"{path}: write `times`, `at`, `atOperations` or `atMoments`, or no agent is ever killed"
    if isinstance(fault, PowerCuts) and not (fault.times or fault.at):
        yield f"{path}: write `times` or `at`, or no node ever loses power"
    if isinstance(fault, AgentPauses) and not (fault.times or fault.at):
        yield f"{path}: write `times` or `at`, or no agent ever stands still"
    known = () if nodes is None else names_of_nodes(nodes)
    if isinstance(fault, Network | NetworkCuts) and known and fault.node not in {EVERYWHERE, *known}:
        yield f"{path}.node: there is no {fault.node!r}; nodes are {known[0]} and so on"


def alone(fault: Fault, path: str) -> Iterator[str]:
    """The mistakes of a fault in any scenario."""
    if faults := list(faults_in_words(fault, path)):
        yield from faults
        return
    yield from _wrong_names(fault, path)
    if isinstance(fault, DevicePlugins | DraDrivers) and not fault.what:
        yield f"{path}.what: nothing goes wrong; name a trouble, or leave it out for all of them"
    if isinstance(fault, RuntimeCalls | ApiCalls) and fault.fail + fault.lose + getattr(fault, "hang", 0) > 1:
        yield f"{path}: the chances of fail, lose and hang exceed 1 together; a call meets at most one of them"
    if isinstance(fault, NodeShortage):
        if size_bytes(fault.leaves[0]) > size_bytes(fault.leaves[1]):
            yield f"{path}.leaves: write the smaller of {fault.leaves[0]} and {fault.leaves[1]} first"
        if not duration_ns(fault.lasts[1]) + duration_ns(fault.pauses[1]):
            yield f"{path}: it comes again and again at one moment; let it last, or pause"
    for name in ("away", "lasts", "delay", "by", "pauses"):
        stretch = getattr(fault, name, None)
        if isinstance(stretch, tuple) and duration_ns(stretch[0]) > duration_ns(stretch[1]):
            yield f"{path}.{name}: write the shorter of {stretch[0]} and {stretch[1]} first"


_NAMING: tuple[tuple[type[Fault], str, Callable[[str], str | None]], ...] = (
    (RuntimeCalls, "verb", names.wrong_runtime_verb),
    (ApiCalls, "verb", names.wrong_api_verb),
    (LostMessages, "message", names.wrong_message),
    (Volumes, "kind", names.wrong_volume),
    (ActorFailures, "actor", names.wrong_actor),
    (ActorFailures, "message", names.wrong_message),
)
"""Which fault names something by which field, and who knows why there is no such thing."""


def _wrong_names(fault: Fault, path: str) -> Iterator[str]:
    """A word that names nothing does nothing. Only one type of message can be lost by one fault."""
    for kind, field, wrong in _NAMING:
        if not isinstance(fault, kind):
            continue
        name = getattr(fault, field)
        if (name != names.EVERYTHING or kind is LostMessages) and (refusal := wrong(name)):
            yield f"{path}.{field}: {refusal}"


def said_twice(faults: Mapping[int, Fault]) -> Iterator[str]:
    """Report two faults about the same calls, events, messages or links: only one would count.

    `faults`: by their numbers in the scenario.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    for number, fault in faults.items():
        if not isinstance(fault, RuntimeCalls | RuntimeEvents | ApiCalls | ApiWatches | LostMessages | Network):
            continue
        about = tuple(getattr(fault, name, None) for name in ("verb", "message", "node"))
        seen[type(fault), about] += 1
        if seen[type(fault), about] == 2:
            which = next((f" {each!r}" for each in about if each is not None), "")
            yield f"$.faults[{number}]: there is another {fault.__struct_config__.tag}{which}; write both as one"


def names_of_nodes(count: int, first: int = 0) -> list[str]:
    """The names of that many nodes: `node-00` and so on, as wide as the last number.

    `first`: the number of the first.
    """
    width = len(str(first + count - 1))
    return [f"node-{number:0{width}}" for number in range(first, first + count)]
