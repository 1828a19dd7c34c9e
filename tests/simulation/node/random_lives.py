"""Random pods and what happens to them.

The plans on which the properties of a pod's life are tried, and how one is played.

A `Plan` is all that chance decides. It has the pod (init containers, sidecars, policies and rules, hooks, probes), what
its containers do, and what others do to them (`OPERATIONS`). It says which calls the runtime fails, and how the pod is
deleted: by its manifest, or by the API, then maybe again with another grace period. `play` gives a `Life`, which is
what could be seen of it from outside. `life_properties` says what must hold of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import strategies as st

from actors.kernel import SimulatedDispatcher
from runtime.api import ApiLines
from runtime.cri.identity import CONTAINER_NAME
from runtime.cri.messages import RemoveContainerRequest
from runtime.cri.verbs import REMOVE_CONTAINER
from simulation.apiserver.core import Options
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.chance.call_faults import CallFaults, FaultPlan, Faults
from simulation.cri.state import ContainerRecord
from tests.simulation.node.worlds import SECOND, World, container, manifest

HOOKS = st.sampled_from(
    [None, None, {"exec": {"command": ["x"]}}, {"sleep": {"seconds": 2}}, {"httpGet": {"port": 80}}]
)
POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
PROBE_OPERATIONS = st.sampled_from(["ok", "ok*3, fail", "fail*2, ok", "fail", "hang", "error"])
RESTART_CODE = 7
"""The exit code that rules are about."""
COUNTED = CallFaults(fail=0.05, lose=0.05, late=0.1)
AWAY_S = 4


class Member(msgspec.Struct, frozen=True):
    """A container of a plan.

    `policy`: the one that holds for it; `rule`: the action of its restart rule, or empty.
    """

    name: str
    policy: str
    rule: str = ""
    sidecar: bool = False


class Plan(msgspec.Struct, frozen=True):
    """See the module.

    `operations`: (after ms, what); `again_s`: (seconds after the first order to end it, another's grace).

    `joined`: the pod comes from an API server. `faults_to_the_end`: calls fail while it is being deleted, too.
    """

    spec: dict[str, Any]
    behaviour: dict[str, str]
    inits: tuple[Member, ...]
    regular: tuple[Member, ...]
    grace_s: int
    operations: tuple[tuple[int, str], ...] = ()
    faults: bool = False
    faults_to_the_end: bool = False
    joined: bool = False
    again_s: tuple[tuple[int, int], ...] = ()
    ending_operations: tuple[tuple[int, str], ...] = ()

    @property
    def policy(self) -> str:
        return str(self.spec["restartPolicy"])

    @property
    def restarts_all(self) -> bool:
        return any(each.rule == "RestartAllContainers" for each in (*self.inits, *self.regular))

    @property
    def what_happens(self) -> frozenset[str]:
        """The operations of its life, without names."""
        return frozenset(operation.partition(" ")[0] for _, operation in self.operations)


@dataclass
class Life:
    """What was seen.

    `phases`: those that were published, in order. Times are wall-clock ns, as records have them.
    """

    plan: Plan
    world: World
    phases: list[str] = field(default_factory=list)
    orders: list[tuple[int, int]] = field(default_factory=list)
    """When its end was asked for, and the grace that was given with it (s)."""
    agents: list[int] = field(default_factory=list)
    """When agents were started while it ended."""
    ended_at: int = 0
    lost: set[str] = field(default_factory=set)
    """Ids of containers that other hands have removed."""
    is_gone: bool = False

    def of(self, name: str) -> list[ContainerRecord]:
        """The containers of that name that were started, in order."""
        made = [each for each in self.world.made.values() if name_of(each) == name and each.started_at]
        return sorted(made, key=lambda each: each.started_at)


def name_of(record: ContainerRecord) -> str:
    return record.config.labels[CONTAINER_NAME]


# --- chance ---------------------------------------------------------------------------------------------------------


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    policy, grace_s = draw(POLICIES), draw(st.integers(2, 12))
    behaviour: dict[str, str] = {"probe-delay": draw(st.sampled_from(["0", "300ms"]))}
    inits, init_members, regular, members = [], [], [], []
    for index in range(draw(st.integers(0, 2))):
        name, sidecar = f"init{index}", draw(st.booleans())
        behaviour[f"run-for.{name}"] = (
            draw(st.sampled_from(["forever", "forever", "4s,forever", "2s"]))
            if sidecar
            else draw(st.sampled_from(["0s", "1s", "3s"]))
        )
        fields: dict[str, Any] = {"restartPolicy": "Always"} if sidecar else {}
        inits.append(_container(draw, name, behaviour, lasting=sidecar, **fields))
        init_members.append(Member(name, "Always" if sidecar else policy, sidecar=sidecar))
    for index in range(draw(st.integers(1, 3))):
        name, own = f"main{index}", draw(st.sampled_from([None, None, "Never", "OnFailure"]))
        behaviour[f"run-for.{name}"] = draw(st.sampled_from(["forever", "2s", "5s,forever", "1s,20s"]))
        rule = draw(st.sampled_from(["", "Restart", "RestartAllContainers"])) if own == "Never" else ""
        fields = {} if own is None else {"restartPolicy": own}
        if rule:
            codes = {"operator": "In", "values": [RESTART_CODE]}
            fields["restartPolicyRules"] = [{"action": rule, "exitCodes": codes}]
        regular.append(_container(draw, name, behaviour, lasting=True, **fields))
        members.append(Member(name, own or policy, rule))
    names = [each.name for each in (*members, *init_members)]
    kinds = [*(f"kill {name}" for name in names), *(f"lose {name}" for name in names), "sandbox", "agent", "away"]
    joined = draw(st.booleans())
    more = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 12)), max_size=2)) if joined else []
    deadline_s = draw(st.sampled_from([None, None, None, 6, 20]))
    return Plan(
        {
            "containers": regular,
            "initContainers": inits,
            "restartPolicy": policy,
            "terminationGracePeriodSeconds": grace_s,
            **({} if deadline_s is None else {"activeDeadlineSeconds": deadline_s}),
        },
        behaviour,
        tuple(init_members),
        tuple(members),
        grace_s,
        tuple(draw(st.lists(st.tuples(st.integers(0, 15_000), st.sampled_from(kinds)), max_size=5))),
        draw(st.booleans()),
        draw(st.booleans()),
        joined,
        tuple(more),
        tuple(draw(st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from(kinds)), max_size=2))),
    )


def _container(
    draw: st.DrawFn, name: str, behaviour: dict[str, str], *, lasting: bool, **fields: Any
) -> dict[str, Any]:
    """`lasting`: it may have hooks and probes."""
    behaviour[f"exit-code.{name}"] = draw(st.sampled_from(["0", "1", "7", "7,0", "1,0"]))
    behaviour[f"stop-delay.{name}"] = draw(st.sampled_from(["0", "1s", "9s"]))
    behaviour[f"ignore-stop-signal.{name}"] = draw(st.sampled_from(["false", "false", "true"]))
    behaviour[f"exec-delay.{name}"] = draw(st.sampled_from(["0", "1s", "1h"]))
    behaviour[f"hook-call.{name}"] = draw(st.sampled_from(["ok", "fail", "hang"]))
    if not lasting:
        return container(name, **fields)
    hooks = {key: draw(HOOKS) for key in ("postStart", "preStop")}
    lifecycle = {key: hook for key, hook in hooks.items() if hook is not None}
    if lifecycle:
        fields["lifecycle"] = lifecycle
    for kind in ("startup", "readiness", "liveness"):
        if draw(st.integers(0, 3)) == 0:
            behaviour[f"{kind}-probe.{name}"] = draw(PROBE_OPERATIONS)
            grace = {"terminationGracePeriodSeconds": draw(st.integers(1, 4))} if kind != "readiness" else {}
            fields[f"{kind}Probe"] = {"tcpSocket": {"port": 80}, "periodSeconds": draw(st.integers(1, 3)), **grace}
    return container(name, **fields)


# --- playing --------------------------------------------------------------------------------------------------------


class Joined(World):
    """A node of an API server; the pod `web` is bound to it."""

    def __init__(self, plan: Plan, seed: int, faults: Faults) -> None:
        dispatcher = SimulatedDispatcher(seed)
        self.server = ApiServer(dispatcher, Options(node_grace_ns=0))
        api = InProcessApi(dispatcher, self.server, latency_ns=SECOND // 500)
        super().__init__(seed=seed, dispatcher=dispatcher, faults=faults, api=ApiLines(api, api, api))
        body = json.loads(manifest("web", behaviour=plan.behaviour, **plan.spec))
        body["spec"] |= {"nodeName": "node", "automountServiceAccountToken": False}
        self.ask("POST", "/api/v1/namespaces/default/pods", body)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.server.handle(ApiRequest(method, path, (), b"" if body is None else json.dumps(body).encode()))
        return json.loads(answer.body())  # type: ignore[union-attr]  # nobody watches here

    def phases(self) -> dict[str, str]:
        """As the API shows them."""
        found = self.ask("GET", "/api/v1/pods")["items"]
        return {each["metadata"]["name"]: each.get("status", {}).get("phase", "") for each in found}

    def delete(self, grace_s: int) -> None:
        self.ask("DELETE", "/api/v1/namespaces/default/pods/web", {"gracePeriodSeconds": grace_s})


def play(plan: Plan, seed: int) -> Life:
    """Run the plan from the pod's coming to a good while after its end."""
    faults = Faults(FaultPlan({"*": COUNTED} if plan.faults else {}), seed)
    world: World
    if plan.joined:
        world = Joined(plan, seed, faults)
    else:
        text = manifest("web", plan.spec["containers"], behaviour=plan.behaviour, **_without_containers(plan.spec))
        world = World({"web": text}, seed, faults=faults)
    life = Life(plan, world.start())
    for after_ms, operation in plan.operations:
        _watch(life, after_ms * 10**6, 4)
        _do(life, operation)
    _watch(life, 20 * SECOND, 20)
    if not plan.faults_to_the_end:
        faults.heal()
    _watch(life, 20 * SECOND, 4)
    _end(life)
    _watch(life, (max((at for at, _ in plan.again_s), default=0) + 2) * SECOND, 4)
    faults.heal()
    _wait_for_the_end(life)
    return life


def _without_containers(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key != "containers"}


def _watch(life: Life, ns: int, looks: int) -> None:
    """Let time pass, and look at the phase now and then."""
    for _ in range(looks):
        life.world.run(ns // looks)
        _look(life)


def _look(life: Life) -> None:
    phase = life.world.phases().get("web", "")
    if phase and (not life.phases or life.phases[-1] != phase):
        life.phases.append(phase)


def _end(life: Life) -> None:
    """Ask for the pod's end, maybe more than once, while other operations go on."""
    world, plan = life.world, life.plan

    def order(grace_s: int) -> None:
        life.orders.append((world.dispatcher.wall_ns(), grace_s))
        if isinstance(world, Joined):
            world.delete(grace_s)
        else:
            world.node.remove_manifest("web")

    order(plan.grace_s)
    began_ns = world.dispatcher.now_ns()
    steps = [(at_s * SECOND, str(grace_s)) for at_s, grace_s in plan.again_s]
    steps += [(at_ms * 10**6, operation) for at_ms, operation in plan.ending_operations]
    for at_ns, step in sorted(steps):
        world.run(max(0, began_ns + at_ns - world.dispatcher.now_ns()))
        if step.isdecimal() and "web" in world.phases():
            order(int(step))
        elif not step.isdecimal():
            _do(life, step)
            if step == "agent":
                life.agents.append(world.dispatcher.wall_ns())


def _wait_for_the_end(life: Life) -> None:
    world = life.world
    limit_ns = world.dispatcher.now_ns() + 300 * SECOND
    while world.running_records() and world.dispatcher.now_ns() < limit_ns:
        world.run(SECOND // 4)
        _look(life)
    life.ended_at = max((each.finished_at for each in world.made.values()), default=0)
    if world.running_records():
        life.ended_at = world.dispatcher.wall_ns()
    world.run(90 * SECOND)
    _look(life)
    life.is_gone = not (world.running_records() or world.phases() or world.cri.state.containers)


def _do(life: Life, operation: str) -> None:
    world = life.world
    kind, _, name = operation.partition(" ")
    if kind == "agent":
        world.node.restart_agent()
    elif kind == "away":
        world.cri.go_down()
        world.run(AWAY_S * SECOND)
        world.cri.come_back()
    for record in world.running_records():
        if kind == "sandbox":
            world.cri.lose_sandbox(record.sandbox.id)
            return
        if kind == "kill" and name_of(record) == name:
            world.cri.kill_container(record.id)
    if kind == "lose":
        for record in [each for each in world.cri.state.containers.values() if name_of(each) == name]:
            life.lost.add(record.id)
            world.cri.call(REMOVE_CONTAINER, RemoveContainerRequest(container_id=record.id))
