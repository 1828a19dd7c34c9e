"""What holds of the plan of any resize: what changes, what restarts, in which order (spec 10.16)."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.model.observed import ObservedContainer, ObservedPod
from actors.model.pod_resources import resources_of
from actors.pod_rules.resize import NOTHING_TOLD, Told, actuated, resize_plan, restored
from actors.pod_rules.resize_whole import wider_numbers
from actors.start.resources import ResourceRules, container_resources
from config.objects import Container, ContainerResizePolicy, ObjectMeta, Pod, PodSpec, ResourceRequirements
from runtime.cri.identity import lasting_annotations
from runtime.cri.messages import ContainerState, LinuxContainerResources

RULES = ResourceRules(memory_capacity_bytes=2**33)
RUNNING, EXITED = ContainerState.CONTAINER_RUNNING, ContainerState.CONTAINER_EXITED
NAMES = ("a", "b", "c")

Amounts: TypeAlias = dict[str, str]


def amounts(cpu: str, memory: str) -> st.SearchStrategy[Amounts]:
    """Of both, of one, or none."""
    choices = {"cpu": st.sampled_from(cpu.split()), "memory": st.sampled_from(memory.split())}
    return st.fixed_dictionaries({}, optional=choices).map(dict[str, str])


FULL = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["1", "2"]), "memory": st.sampled_from(["64Mi", "128Mi", "256Mi"])}
)
SOME = st.builds(ResourceRequirements, requests=amounts("10m 100m", "16Mi 32Mi"), limits=amounts("1 2", "64Mi 128Mi"))
LIMITED = st.builds(ResourceRequirements, limits=FULL)
POLICY = st.sets(st.sampled_from(["cpu", "memory"])).map(
    lambda names: tuple(ContainerResizePolicy(resource_name=each, restart_policy="RestartContainer") for each in names)
)
STATES = st.lists(st.sampled_from([RUNNING, RUNNING, EXITED]), min_size=3, max_size=3)


@st.composite
def pods(draw: st.DrawFn, resources: st.SearchStrategy[ResourceRequirements] = SOME) -> tuple[Pod, Pod]:
    """The same pod before and after a resize: no amount has gone away.

    Its first container is an init container.
    """
    policies = [draw(POLICY) for _ in NAMES]
    before = [draw(resources) for _ in NAMES]
    after = [merged(each, draw(resources)) for each in before]
    whole = draw(st.none() | LIMITED)
    whole_after = draw(LIMITED if whole is not None else st.none() | LIMITED)

    def form(has: list[ResourceRequirements], in_all: ResourceRequirements | None) -> Pod:
        first, *others = (
            Container(name=name, resources=each, resize_policy=policy)
            for name, each, policy in zip(NAMES, has, policies, strict=True)
        )
        spec = PodSpec(init_containers=(first,), containers=tuple(others), resources=in_all)
        return Pod(metadata=ObjectMeta(name="web", uid="u"), spec=spec)

    return form(before, whole), form(after, whole_after)


def merged(one: ResourceRequirements, other: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(requests={**one.requests, **other.requests}, limits={**one.limits, **other.limits})


def everyone(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.init_containers, *pod.spec.containers)


def seen(pod: Pod, states: list[ContainerState], attempts: dict[str, int] | None = None) -> ObservedPod:
    """Containers that were made with what the pod asks for."""
    found = {
        each.name: (
            ObservedContainer(
                id=f"id-{each.name}-{(attempts or {}).get(each.name, 0)}",
                name=each.name,
                attempt=0,
                state=state,
                annotations=lasting_annotations(pod.spec, each),
            ),
        )
        for each, state in zip(everyone(pod), states, strict=True)
    }
    return ObservedPod("u", by_name=found)


def bound(pod: Pod, container: Container, resource: str) -> tuple[str | None, str | None]:
    """The limit of a container, or else of its pod; and its request."""
    own, whole = container.resources, pod.spec.resources
    assert own is not None
    return own.limits.get(resource) or (whole.limits.get(resource) if whole else None), own.requests.get(resource)


@given(pods(), STATES)
def test_a_container_restarts_just_where_it_runs_and_its_policy_names_what_changes(
    forms: tuple[Pod, Pod], states: list[ContainerState]
) -> None:
    before, after = forms
    plan = resize_plan(after, seen(before, states), Told(whole=before.spec.resources), RULES)
    expected = {
        new.name
        for old, new, state in zip(everyone(before), everyone(after), states, strict=True)
        for policy in new.resize_policy
        if state is RUNNING and bound(before, old, policy.resource_name) != bound(after, new, policy.resource_name)
    }
    assert plan.restarts == expected


@given(pods(), STATES)
def test_whoever_is_left_out_of_a_plan_has_what_it_asks_for(
    forms: tuple[Pod, Pod], states: list[ContainerState]
) -> None:
    before, after = forms
    plan = resize_plan(after, seen(before, states), Told(whole=before.spec.resources), RULES)
    updated = [each.container.name for each in plan.updates]
    assert len(updated) == len(set(updated))
    assert not plan.restarts & set(updated)
    for old, new, state in zip(everyone(before), everyone(after), states, strict=True):
        if state is not RUNNING:
            assert new.name not in {*updated, *plan.restarts}
        elif new.name not in {*updated, *plan.restarts}:
            assert numbers(before, old) == numbers(after, new)


@given(pods(), STATES)
def test_a_plan_that_is_carried_out_leaves_nothing_to_do(forms: tuple[Pod, Pod], states: list[ContainerState]) -> None:
    before, after = forms
    told = Told(whole=before.spec.resources)
    plan = resize_plan(after, seen(before, states), told, RULES)
    for update in plan.updates:
        told = told.after(update)
    old, new = seen(before, states).by_name, seen(after, states, dict.fromkeys(NAMES, 1)).by_name
    now = ObservedPod("u", by_name={name: (new if name in plan.restarts else old)[name] for name in NAMES})
    assert resize_plan(after, now, told, RULES).done
    assert resize_plan(after, now, told.after_all(after.spec.resources), RULES).done
    has = actuated(after, now, told.after_all(after.spec.resources))
    assert has == resources_of(after.spec)


@given(pods(LIMITED))
def test_the_memory_limits_of_all_never_exceed_what_the_pod_had_and_has(forms: tuple[Pod, Pod]) -> None:
    before, after = (
        msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resources=None)) for pod in forms
    )
    plan = resize_plan(after, seen(before, [RUNNING] * 3), NOTHING_TOLD, RULES)
    limits = {each.name: numbers(before, each).memory_limit_in_bytes for each in everyone(before)}
    ends = {each.name: numbers(after, each).memory_limit_in_bytes for each in everyone(after)}
    ends |= {name: limits[name] for name in plan.restarts}
    most = max(sum(limits.values()), sum(ends.values()))
    for update in plan.updates:
        limits[update.container.name] = update.resources.memory_limit_in_bytes
        assert sum(limits.values()) <= most
    assert limits == ends


@given(pods(), STATES)
def test_no_record_makes_a_container_restart_that_was_made_as_it_is_asked_for(
    forms: tuple[Pod, Pod], states: list[ContainerState]
) -> None:
    """The record of an earlier life may be older than the container."""
    before, after = forms
    now = seen(after, states)
    told = restored(after, now, resources_of(before.spec))
    assert resize_plan(after, now, told, RULES).restarts == frozenset()


def numbers(pod: Pod, container: Container) -> LinuxContainerResources:
    """Those that a resize changes."""
    return msgspec.structs.replace(container_resources(pod, container, RULES), oom_score_adj=0)


LIMITS = st.builds(
    LinuxContainerResources,
    cpu_shares=st.integers(2, 1000),
    cpu_quota=st.sampled_from([-1, 1000, 2000, 3000]),
    memory_limit_in_bytes=st.sampled_from([0, 1, 2, 3]),
)


@given(LIMITS, LIMITS)
def test_a_pod_that_is_being_resized_has_room_for_both_its_forms(
    one: LinuxContainerResources, other: LinuxContainerResources
) -> None:
    wide = wider_numbers(one, other)
    assert wide == wider_numbers(other, one)
    for each in (one, other):
        assert wide.cpu_shares >= each.cpu_shares
        assert wide.cpu_quota == -1 or wide.cpu_quota >= each.cpu_quota > 0
        assert wide.memory_limit_in_bytes == 0 or wide.memory_limit_in_bytes >= each.memory_limit_in_bytes > 0
    assert wide.cpu_shares in (one.cpu_shares, other.cpu_shares)
    assert wide.cpu_quota in (one.cpu_quota, other.cpu_quota)
    assert wide.memory_limit_in_bytes in (one.memory_limit_in_bytes, other.memory_limit_in_bytes)
