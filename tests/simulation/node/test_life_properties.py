"""What holds of every pod, whatever it is made of and whatever the runtime does to it (spec 2 to 4).

Random pods on a simulated node, with containers that end by themselves, hooks, sidecars and rules; random deeds of
other hands meanwhile: containers killed, sandboxes lost, agents that die, calls that fail; and at the end a deletion.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from actors.start.identity import CONTAINER_NAME
from simulation.cri.state import ContainerRecord
from simulation.faults import CallFaults, FaultPlan, Faults
from tests.simulation.node.worlds import SECOND, World, container, manifest

HOOKS = st.sampled_from([None, {"exec": {"command": ["x"]}}, {"sleep": {"seconds": 2}}, {"httpGet": {"port": 80}}])
POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
RULES = st.sampled_from([(), ("Restart", 7), ("RestartAllContainers", 7)])
ALLOWED = {
    "": {"", "Pending", "Running", "Succeeded", "Failed"},
    "Pending": {"Pending", "Running", "Succeeded", "Failed"},
    "Running": {"Running", "Pending", "Succeeded", "Failed"},
    "Succeeded": {"Succeeded"},
    "Failed": {"Failed"},
}
"""Running goes back to Pending only with a sandbox, or all containers, made anew; no end goes back to anything."""
RUNTIME_SLACK_S = 2.5
"""The floor under what StopContainer is given, and the time in which a removed manifest is noticed."""


@dataclass(frozen=True)
class Plan:
    """A pod and what happens to it. `deeds`: (after ms, what)."""

    text: str
    policy: str
    grace_s: int
    inits: tuple[tuple[str, bool], ...]
    regular: tuple[str, ...]
    restarts_all: bool
    deeds: tuple[tuple[int, str], ...]
    faults: bool


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    policy = draw(POLICIES)
    grace_s = draw(st.integers(2, 12))
    behaviour: dict[str, str] = {}
    restarts_all = False

    def one(name: str, **fields: Any) -> dict[str, Any]:
        hooks = {key: draw(HOOKS) for key in ("postStart", "preStop")}
        lifecycle = {key: hook for key, hook in hooks.items() if hook is not None}
        behaviour[f"exit-code.{name}"] = draw(st.sampled_from(["0", "1", "7", "7,0", "1,0"]))
        behaviour[f"stop-delay.{name}"] = draw(st.sampled_from(["0", "1s", "9s"]))
        behaviour[f"ignore-stop-signal.{name}"] = draw(st.sampled_from(["false", "false", "true"]))
        behaviour[f"exec-delay.{name}"] = draw(st.sampled_from(["0", "1s", "1h"]))
        behaviour[f"hook-call.{name}"] = draw(st.sampled_from(["ok", "fail", "hang"]))
        if lifecycle and (fields.get("restartPolicy") == "Always" or "of_init" not in fields):
            fields["lifecycle"] = lifecycle
        fields.pop("of_init", None)
        return container(name, **fields)

    inits, regular = [], []
    for index in range(draw(st.integers(0, 2))):
        name, sidecar = f"init{index}", draw(st.booleans())
        behaviour[f"run-for.{name}"] = "forever" if sidecar else draw(st.sampled_from(["0s", "1s", "3s"]))
        fields = {"restartPolicy": "Always"} if sidecar else {"of_init": True}
        inits.append((one(name, **fields), sidecar))
    for index in range(draw(st.integers(1, 3))):
        name = f"main{index}"
        behaviour[f"run-for.{name}"] = draw(st.sampled_from(["forever", "2s", "5s,forever", "1s,20s"]))
        rule = draw(RULES)
        fields = {}
        if rule:
            restarts_all |= rule[0] == "RestartAllContainers"
            codes = {"operator": "In", "values": [rule[1]]}
            fields = {"restartPolicy": "Never", "restartPolicyRules": [{"action": rule[0], "exitCodes": codes}]}
        regular.append(one(name, **fields))
    names = [each["name"] for each in regular] + [each["name"] for each, _ in inits]
    kinds = [*(f"kill {name}" for name in names), "lose sandbox", "agent"]
    deeds = draw(st.lists(st.tuples(st.integers(0, 15_000), st.sampled_from(kinds)), max_size=5))
    text = manifest(
        "web",
        regular,
        behaviour=behaviour,
        restartPolicy=policy,
        terminationGracePeriodSeconds=grace_s,
        initContainers=[each for each, _ in inits],
    )
    return Plan(
        text,
        policy,
        grace_s,
        tuple((each["name"], sidecar) for each, sidecar in inits),
        tuple(each["name"] for each in regular),
        restarts_all,
        tuple(deeds),
        draw(st.booleans()),
    )


def run(plan: Plan, seed: int) -> tuple[World, list[str], float]:
    """Play it; the world after it, the phases that were published in order, and how long the deletion took."""
    faults = Faults(FaultPlan({"*": CallFaults(fail=0.05, lose=0.05, late=0.1)} if plan.faults else {}), seed)
    world = World({"web": plan.text}, seed, faults=faults).start()
    phases: list[str] = []

    def look() -> None:
        phase = world.phases().get("web", "")
        if phase and (not phases or phases[-1] != phase):
            phases.append(phase)

    for after_ms, deed in plan.deeds:
        for _ in range(4):
            world.run(after_ms * 10**6 // 4)
            look()
        _do(world, deed)
    for _ in range(20):
        world.run(SECOND)
        look()
    faults.heal()
    world.run(20 * SECOND)
    look()
    began_ns = world.dispatcher.now_ns()
    world.node.remove_manifest("web")
    while world.running_records() and world.dispatcher.now_ns() < began_ns + 300 * SECOND:
        world.run(SECOND // 4)
    took_s = (world.dispatcher.now_ns() - began_ns) / SECOND
    world.run(90 * SECOND)
    return world, phases, took_s


def _do(world: World, deed: str) -> None:
    if deed == "agent":
        world.node.restart_agent()
        return
    for record in world.running_records():
        if deed == "lose sandbox":
            world.cri.lose_sandbox(record.sandbox.id)
            return
        if deed == f"kill {record.config.labels[CONTAINER_NAME]}":
            world.cri.kill_container(record.id)


def lives(world: World, name: str) -> list[ContainerRecord]:
    return [each for each in world.made.values() if each.config.labels[CONTAINER_NAME] == name and each.started_at]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), seed=st.integers(0, 10**6))
def test_whatever_happens_a_pod_lives_by_its_rules(plan: Plan, seed: int) -> None:
    world, phases, took_s = run(plan, seed)
    event(f"ended as {phases[-1] if phases else 'nothing'}")
    # The phase never goes back from an end, nor to Pending while the pod is as it was.
    for before, after in pairwise(phases):
        assert after in ALLOWED[before], phases
    made_anew = plan.restarts_all or any(deed in ("lose sandbox", "agent") for _, deed in plan.deeds)
    if not made_anew and not plan.inits:
        assert ("Running", "Pending") not in list(pairwise(phases)), phases
    # A container of a Never pod never runs twice, unless a rule of its pod says so.
    if plan.policy == "Never" and "restartPolicyRules" not in plan.text:
        for name in (*plan.regular, *(name for name, sidecar in plan.inits if not sidecar)):
            assert len(lives(world, name)) <= 1, f"{name} ran twice"
    _init_order_holds(plan, world)
    # No grace period is exceeded by more than the runtime's own stop; a deleted pod ends, and nothing of it is left.
    assert took_s <= plan.grace_s + RUNTIME_SLACK_S + 1.5, f"{took_s} s of {plan.grace_s} s"
    assert world.running_records() == []
    assert world.phases() == {}
    assert world.cri.state.containers == {}


def _init_order_holds(plan: Plan, world: World) -> None:
    """Within one sandbox nothing begins before the init containers ahead of it were through (or ran, if sidecars)."""
    for sandbox in {each.sandbox.id for each in world.made.values()}:
        here = [each for each in world.made.values() if each.sandbox.id == sandbox and each.started_at]
        firsts = {
            name: min((e.started_at for e in here if e.config.labels[CONTAINER_NAME] == name), default=0)
            for name in (*(name for name, _ in plan.inits), *plan.regular)
        }
        for index, (name, sidecar) in enumerate(plan.inits):
            later = [firsts[each] for each, _ in plan.inits[index + 1 :]] + [firsts[each] for each in plan.regular]
            begun = [at for at in later if at]
            if not begun:
                continue
            assert firsts[name], f"{name} was passed over"
            if sidecar:
                assert firsts[name] <= min(begun)
                continue
            good = [
                e.finished_at
                for e in here
                if e.config.labels[CONTAINER_NAME] == name and e.finished_at and e.exit_code == 0
            ]
            assert good, f"{name} had not ended well"
            assert min(good) <= min(begun)
