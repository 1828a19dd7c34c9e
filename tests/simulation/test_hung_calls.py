"""Calls that never return, in a simulated world: whatever hangs for one pod, the others start and end as without it.

Every verb of the runtime hangs in turn, about one pod or, where it is about none, once. Verbs are read from
`runtime.cri.verbs`, so that a new one is covered by itself. So does every call to the API about one pod.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cli.inspect.explanation import next_lines
from cli.inspect.local_views import explanation
from runtime.api import ApiCall
from runtime.cri.verbs import ALL_VERBS
from simulation.cri.hung_calls import HungCalls
from simulation.play.play import Play
from simulation.scenarios.scenario import Scenario, read_scenario

SECOND_NS = 10**9
PLAYED_NS = 280 * SECOND_NS
"""Longer than the longest deadline, of RunPodSandbox."""
SLOWER = 1.2
OWN_IMAGE = "registry.example/sick:1"
VERBS = [verb.name for verb in ALL_VERBS if not verb.streaming]
OF_THE_NODE = ("Status", "ListImages", "ImageFsInfo")
"""Verbs about no pod that this world calls: one call of each hangs."""
NOT_CALLED = frozenset(
    {"Version", "RemoveContainer", "UpdateContainerResources", "Exec", "Attach", "PortForward", "ContainerStats"}
    | {"ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "UpdateRuntimeConfig", "CheckpointContainer"}
    | {"ListMetricDescriptors", "ListPodSandboxMetrics", "RuntimeConfig", "UpdatePodSandboxResources", "RemoveImage"}
)
"""Verbs that an agent calls before its node is ready, for users alone, or never. The test says when one is called."""
SCENARIO = b"""
about: one sick pod with something of everything, and others that must not notice
node:
  configuration: {containerLogMaxSize: 100Ki, containerLogMonitorInterval: 3s}
pods:
  - name: sick
    count: 1
    hopeless: true
    arrives: [1s, 1s]
    lives: [30s, 30s]
    behaviour: {image-size: 20Mi, output: "so it goes", output-every: 1s, output-size: 64Ki}
    volumes:
      - {name: data, kind: emptyDir}
      - {name: config, kind: configMap}
      - {name: secret, kind: secret}
      - {name: labels, kind: downwardAPI}
      - {name: share, kind: nfs}
    containers:
      - name: app
        image: registry.example/sick:1
        livenessEvery: 3
        spec:
          readinessProbe: {exec: {command: ["true"]}, periodSeconds: 2}
          lifecycle: {postStart: {exec: {command: ["true"]}}, preStop: {exec: {command: ["true"]}}}
    spec: {hostUsers: false}
  - name: other
    count: 24
    arrives: [2s, 60s]
    lives: [8s, 15s]
    volumes: [{name: data, kind: emptyDir}, {name: config, kind: configMap}]
    containers: [{name: app, readinessEvery: 5}]
leasesEvery: 11s
lasts: 300s
"""

Hang = Callable[[Play], Any]
"""Lets something hang in a play, and gives what counts how often it did."""


class Told(logging.Handler):
    """What the agent logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Played:
    """A play with something that hangs. `broken`: what the others suffered; `said`: of the sick pod, by the agent."""

    def __init__(self, scenario: Scenario, hang: Hang) -> None:
        play = Play(scenario, 1)
        while not play.world.chronicle.nodes_ready.get("node-0"):
            play.advance(SECOND_NS // 10)
        self.hung = hang(play)
        told = Told()
        logger = logging.getLogger("actorlet")
        level = logger.level
        logger.addHandler(told)
        logger.setLevel(logging.INFO)
        try:
            play.advance(PLAYED_NS)
        finally:
            logger.removeHandler(told)
            logger.setLevel(level)
        self.broken = [f"{each['invariant']}: {each['what']}" for each in play.outcome().violations]
        uids = [uid for uid, pod in play.world.chronicle.pods.items() if pod.name == "sick-0"]
        events = [each for each in play.world.events() if each["involvedObject"]["name"] == "sick-0"]
        uids += [each["involvedObject"].get("uid", "") for each in events]
        self.said = [f"{each['reason']}: {each['message']}" for each in events]
        self.said += [line for line in told.lines if "sick-0" in line or any(uid and uid in line for uid in uids)]
        node = play.world.nodes["node-0"].node
        explained = explanation(node, "sick-0") if "sick-0" in {pod.metadata.name for pod in node.pods()} else None
        self.said += [str(explained.waits), str(explained.why), *next_lines(explained)] if explained is not None else []
        self.node_said = told.lines
        gc.collect()


def scenario(*, starts_ns: int | None = None, ends_ns: int | None = None, sick_stays: bool = False) -> Scenario:
    """The scenario, with so long for others to start and to end."""
    read = read_scenario(SCENARIO)
    sick, other = read.pods
    if sick_stays:
        sick = msgspec.structs.replace(sick, lives=None)
    other = msgspec.structs.replace(
        other,
        starts_within=None if starts_ns is None else f"{starts_ns}ns",
        ends_within=None if ends_ns is None else f"{ends_ns}ns",
    )
    return msgspec.structs.replace(read, pods=(sick, other))


class Undisturbed(msgspec.Struct):
    """How long others take where nothing hangs, and what could: names of calls of lanes and of the API."""

    starts_ns: int
    ends_ns: int
    lane_calls: list[str]
    api_calls: list[str]


@pytest.fixture(scope="module")
def undisturbed() -> Undisturbed:
    lane_calls, api_calls, ends_ns = dict[str, None](), dict[str, None](), list[int]()
    starts_ns: list[int] = []

    def listen(play: Play) -> None:
        gone = play.world.chronicle.on_gone

        def on_gone(pod: Any) -> None:
            if pod.name != "sick-0":
                ends_ns.append(play.world.now_ns() - pod.deleted_ns)
                starts_ns.append(pod.running_ns - pod.created_ns)
            gone(pod)

        play.world.chronicle.on_gone = on_gone
        play.world.nodes["node-0"].agent.hangs = lambda name, key: lane_calls.update({name: None}) is not None
        play.world.apis["node-0"].hangs = lambda call: api_calls.update({call.what: None}) is not None

    assert Played(scenario(), listen).broken == []
    assert len(ends_ns) == 24
    return Undisturbed(max(starts_ns), max(ends_ns), sorted(lane_calls), sorted(api_calls))


def bounded(usual: Undisturbed, *, patience_ns: int = 0, sick_stays: bool = False) -> Scenario:
    """Others have 1.2 times the usual time, and may be held up once for so long."""
    starts_ns, ends_ns = (int(SLOWER * ns) + patience_ns for ns in (usual.starts_ns, usual.ends_ns))
    return scenario(starts_ns=starts_ns, ends_ns=ends_ns, sick_stays=sick_stays)


def names(said: list[str], *words: str) -> bool:
    return any(word in line for line in said for word in words)


# --- the runtime ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in OF_THE_NODE])
def test_a_verb_that_hangs_for_one_pod_holds_up_no_other_and_is_named(verb: str, undisturbed: Undisturbed):
    def hang(play: Play) -> HungCalls:
        hung = HungCalls(play.world.nodes["node-0"].cri)
        hung.hang(verb, pod="sick-0", image=OWN_IMAGE)
        return hung

    both = [Played(bounded(undisturbed, sick_stays=stays), hang) for stays in (False, True)]
    assert [played.broken for played in both] == [[], []]
    assert any(played.hung.hung for played in both) == (verb not in NOT_CALLED)
    if verb not in NOT_CALLED:
        waits = {"ExecSync": "hook", "PullImage": "pull"}.get(verb, verb)
        assert any(names(played.said, verb, waits) for played in both), [played.said for played in both]


@pytest.mark.parametrize("verb", OF_THE_NODE)
def test_one_call_of_the_node_that_hangs_costs_a_moment_and_is_logged(verb: str, undisturbed: Undisturbed):
    def hang(play: Play) -> HungCalls:
        hung = HungCalls(play.world.nodes["node-0"].cri)
        hung.hang(verb, times=1)
        return hung

    played = Played(bounded(undisturbed, patience_ns=2 * SECOND_NS), hang)
    assert played.hung.hung[verb] == 1
    assert played.broken == []
    assert names(played.node_said, verb)


# --- the API ----------------------------------------------------------------------------------------------------------


def test_an_api_call_that_hangs_for_one_pod_holds_up_no_other(undisturbed: Undisturbed):
    hung: list[str] = []

    def let_hang(what: str) -> Hang:
        def hang(play: Play) -> None:
            def hangs(call: ApiCall[Any]) -> bool:
                is_meant = call.what == what and call.name.startswith("sick-0")
                hung.extend([what] if is_meant else [])
                return is_meant

            play.world.apis["node-0"].hangs = hangs

        return hang

    played = {what: Played(bounded(undisturbed), let_hang(what)) for what in undisturbed.api_calls}
    assert {what: each.broken for what, each in played.items() if each.broken} == {}
    assert set(hung) == {"create events", "delete pods", "patch pods/status"}
    for what in ("delete pods", "patch pods/status"):
        assert names(played[what].node_said, f"{what} default/sick-0: no answer within 15 s")
