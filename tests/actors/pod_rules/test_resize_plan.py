"""Resizes of a running pod: what changes in place, what restarts, in which order (spec 10.16)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.model.observed import ObservedContainer, ObservedPod
from actors.model.pod_resources import PodResources, resources_of
from actors.pod_rules.resize import NOTHING_TOLD, Told, actuated, may_have, not_in_force, resize_plan, restored
from actors.pod_rules.resize_words import resize_message
from actors.start.resources import ResourceRules, container_resources
from config.frozen_map import FrozenMap
from config.objects import Container, ContainerResizePolicy, ObjectMeta, Pod, PodSpec, ResourceRequirements
from runtime.cri.identity import POD_LIMITS, RESOURCES, lasting_annotations, resources_text
from runtime.cri.messages import ContainerState

RULES = ResourceRules(memory_capacity_bytes=2**33)


def resources(cpu: str, memory: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": cpu}, limits={"cpu": cpu, "memory": memory})


SMALL, BIG = resources("1", "64Mi"), resources("2", "128Mi")


def container(name: str, given: ResourceRequirements, *restarts: str) -> Container:
    policy = tuple(ContainerResizePolicy(resource_name=each, restart_policy="RestartContainer") for each in restarts)
    return Container(name=name, resources=given, resize_policy=policy)


def pod(*containers: Container, **spec: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name="web", uid="u"), spec=PodSpec(containers=containers, **spec))


def running(*made: Container, state: ContainerState = ContainerState.CONTAINER_RUNNING) -> ObservedPod:
    """Containers that were made with what these say."""
    found = {
        each.name: (
            ObservedContainer(
                id=f"id-{each.name}",
                name=each.name,
                attempt=0,
                state=state,
                annotations={RESOURCES: resources_text(each)},
            ),
        )
        for each in made
    }
    return ObservedPod("u", by_name=found)


def ids(plan: Any) -> list[str]:
    return [each.id for each in plan.updates]


@pytest.mark.parametrize(
    ("has", "wanted", "restarts", "expected"),
    [
        (SMALL, SMALL, (), ([], [])),
        (SMALL, resources("1000m", "64Mi"), (), ([], [])),
        (SMALL, BIG, (), (["id-app"], [])),
        (SMALL, BIG, ("memory",), ([], ["app"])),
        (SMALL, resources("2", "64Mi"), ("memory",), (["id-app"], [])),
        (SMALL, resources("1", "128Mi"), ("cpu",), (["id-app"], [])),
    ],
)
# (spec 10.16.6)
def test_a_container_is_updated_or_restarts(
    has: ResourceRequirements, wanted: ResourceRequirements, restarts: tuple[str, ...], expected: Any
) -> None:
    plan = resize_plan(pod(container("app", wanted, *restarts)), running(container("app", has)), NOTHING_TOLD, RULES)
    assert (ids(plan), sorted(plan.restarts)) == expected
    assert plan.done == (expected == ([], []))


# (spec 10.16.4)
def test_containers_that_shrink_are_updated_first() -> None:
    wanted = pod(container("grows", BIG), container("shrinks", SMALL))
    plan = resize_plan(wanted, running(container("grows", SMALL), container("shrinks", BIG)), NOTHING_TOLD, RULES)
    assert ids(plan) == ["id-shrinks", "id-grows"]
    assert [each.lowers_memory_to for each in plan.updates] == [64 * 2**20, 0]


def test_a_resize_plan_counts_the_updates_already_sent_to_the_runtime() -> None:
    wanted = pod(container("app", BIG))
    seen = running(container("app", SMALL))
    plan = resize_plan(wanted, seen, NOTHING_TOLD, RULES)
    told = NOTHING_TOLD.after(plan.updates[0])
    assert resize_plan(wanted, seen, told, RULES).done
    assert ids(resize_plan(pod(container("app", SMALL)), seen, told, RULES)) == ["id-app"]


def test_a_container_that_does_not_run_gets_new_resources_at_its_next_start() -> None:
    seen = running(container("app", SMALL), state=ContainerState.CONTAINER_EXITED)
    assert resize_plan(pod(container("app", BIG)), seen, NOTHING_TOLD, RULES).done


def test_a_bound_of_the_pod_holds_for_a_container_without_one() -> None:
    bare = Container(name="app")
    told = Told(whole=SMALL)
    assert ids(resize_plan(pod(bare, resources=BIG), running(bare), told, RULES)) == ["id-app"]
    assert resize_plan(pod(bare, resources=SMALL), running(bare), told, RULES).done


def test_a_container_has_the_bound_of_the_pod_with_which_it_was_updated_last() -> None:
    bare, other = Container(name="app"), Container(name="other")
    wanted, seen = pod(bare, other, resources=BIG), running(bare, other)
    first, second = resize_plan(wanted, seen, Told(whole=SMALL), RULES).updates
    told = Told(whole=SMALL).after(first)
    assert ids(resize_plan(wanted, seen, told, RULES)) == [second.id]
    assert resize_plan(wanted, seen, told.after(second), RULES).done
    back = pod(bare, other, resources=SMALL)
    assert ids(resize_plan(back, seen, told, RULES)) == [first.id]
    assert resize_plan(wanted, seen, told.after(second).after_all(BIG), RULES).done


@pytest.mark.parametrize(
    ("own", "policy", "wanted", "expected"),
    [
        (None, "memory", resources("1", "128Mi"), ([], ["app"])),
        (None, "memory", resources("2", "64Mi"), (["id-app"], [])),
        (None, "cpu", resources("1", "128Mi"), (["id-app"], [])),
        (None, "cpu", resources("2", "64Mi"), ([], ["app"])),
        (ResourceRequirements(limits={"memory": "32Mi"}), "memory", BIG, (["id-app"], [])),
        (ResourceRequirements(limits={"memory": "32Mi"}), "memory", resources("1", "128Mi"), ([], [])),
    ],
)
@pytest.mark.parametrize("noted", [True, False])
def test_a_container_restarts_for_a_limit_that_it_has_from_the_pod(
    own: ResourceRequirements | None, policy: str, wanted: ResourceRequirements, expected: Any, noted: bool
) -> None:
    """`noted`: the container says with which pod level it was made."""
    app = container("app", own or ResourceRequirements(), policy)
    notes = {RESOURCES: resources_text(app)}
    if noted:
        notes[POD_LIMITS] = lasting_annotations(pod(app, resources=SMALL).spec, app)[POD_LIMITS]
    made = msgspec.structs.replace(running(app).by_name["app"][0], annotations=notes)
    seen = ObservedPod("u", by_name={"app": (made,)})
    plan = resize_plan(pod(app, resources=wanted), seen, NOTHING_TOLD if noted else Told(whole=SMALL), RULES)
    assert (ids(plan), sorted(plan.restarts)) == expected


def test_a_container_that_restarted_for_the_pod_level_does_not_restart_again() -> None:
    """The pod level has not been reached as a whole then.

    Nor does an agent that died meanwhile restart it.
    """
    app = container("app", ResourceRequirements(), "memory")
    wanted = pod(app, resources=BIG)
    made = running(app).by_name["app"][0]
    notes = lasting_annotations(wanted.spec, app)
    seen = ObservedPod("u", by_name={"app": (msgspec.structs.replace(made, annotations=notes),)})
    assert resize_plan(wanted, seen, Told(whole=SMALL), RULES).done
    told = restored(wanted, seen, PodResources(FrozenMap({"app": ResourceRequirements()}), SMALL))
    plan = resize_plan(wanted, seen, told, RULES)
    assert (ids(plan), plan.restarts) == (["id-app"], frozenset()), "for its CPU, of which the record counts"


def test_a_record_never_makes_a_container_restart() -> None:
    """The record may be older than the container, which was made with the granted resources."""
    wanted = pod(container("app", BIG, "memory"), container("other", BIG))
    seen = running(*wanted.spec.containers)
    told = restored(wanted, seen, resources_of(pod(container("app", SMALL), container("other", SMALL)).spec))
    plan = resize_plan(wanted, seen, told, RULES)
    assert (ids(plan), plan.restarts) == (["id-other"], frozenset())


def test_a_container_of_which_nobody_knows_what_it_has_is_updated_in_any_case() -> None:
    wanted = pod(container("app", SMALL), container("other", SMALL))
    seen = running(*wanted.spec.containers)
    unsure = NOTHING_TOLD.doubting(["id-app"])
    (update,) = resize_plan(wanted, seen, unsure, RULES).updates
    assert (update.id, update.lowers_memory_to) == ("id-app", 2**26)
    assert set(actuated(wanted, seen, unsure).containers) == {"other"}
    assert dict(may_have(wanted, seen, unsure).containers) == {"app": ResourceRequirements(), "other": SMALL}
    assert resize_plan(wanted, seen, unsure.after(update), RULES).done
    assert set(actuated(wanted, seen, unsure.after(update)).containers) == {"app", "other"}


@pytest.mark.parametrize("record", [SMALL, None])
def test_an_agent_that_died_amid_an_update_left_a_container_of_which_nobody_knows_what_it_has(
    record: ResourceRequirements | None,
) -> None:
    wanted = pod(container("app", BIG), container("other", BIG))
    seen = running(*wanted.spec.containers)
    before = {"other": BIG} if record is None else {"app": record, "other": BIG}
    assert restored(wanted, seen, PodResources(FrozenMap(before))).unsure == {"id-app"}


@pytest.mark.parametrize(("shown", "expected"), [(SMALL, False), (BIG, True), (None, True)])
# (spec 10.16.7)
def test_it_is_in_force_when_the_runtime_shows_it_or_nothing(
    shown: ResourceRequirements | None, expected: bool
) -> None:
    wanted = pod(container("app", BIG))
    numbers = None if shown is None else container_resources(wanted, container("app", shown), RULES)
    seen = running(container("app", BIG)).by_name["app"][0]
    told = ObservedContainer(
        id=seen.id, name="app", attempt=0, state=ContainerState.CONTAINER_RUNNING, resources=numbers
    )
    assert (not not_in_force(wanted, ObservedPod("u", by_name={"app": (told,)}), RULES)) is expected


# (spec 10.16.7)
def test_the_event_has_what_tools_read() -> None:
    text = resize_message("OutOfcpu", pod(container("app", BIG)), 3, "too little")
    assert text == (
        'Pod resize OutOfcpu: {"containers":[{"name":"app","resources":{"limits":{"cpu":"2","memory":"128Mi"},'
        '"requests":{"cpu":"2"}}}],"generation":3,"error":"too little"}'
    )
