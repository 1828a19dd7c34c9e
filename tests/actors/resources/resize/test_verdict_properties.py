"""What holds of the verdict on any resize, and of the order in which resizes are tried (spec 10.16)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from actors.model.allocation import Book, KeptBook, allocation_of
from actors.model.pod_resources import resources_of
from actors.resources.abilities import Abilities
from actors.resources.admission import Snapshot
from actors.resources.resize.infeasible import BY_DEFAULT, ResizeRules, infeasible
from actors.resources.resize.order import Waiting, grows, in_turn
from actors.resources.resize.verdicts import UNCHANGED, Deferred, Granted, resize_verdict
from actors.start.resources import ResourceRules, SwapRules
from config.objects import Container, ContainerResizePolicy, ObjectMeta, Pod, PodSpec, ResourceRequirements
from config.pods.identity import CONFIG_SOURCE, QosClass, qos_class
from tests.actors.resources.resize.test_resize_tables import NODE

CPU, MEMORY = st.sampled_from(["500m", "1", "1500m", "2"]), st.sampled_from(["1Gi", "2Gi", "3Gi"])
AMOUNTS = st.fixed_dictionaries({"cpu": CPU, "memory": MEMORY}).map(dict[str, str])
RESOURCES = st.builds(
    lambda found, full: ResourceRequirements(requests=found, limits=found if full else {}), AMOUNTS, st.booleans()
)
RESTART = (ContainerResizePolicy(resource_name="memory", restart_policy="RestartContainer"),)
SWAPS = ResourceRules(memory_capacity_bytes=2**33, swap=SwapRules(limited=True, capacity_bytes=2**30))
RULES = st.builds(
    ResizeRules,
    st.sampled_from([ResourceRules(), SWAPS]),
    cpu_policy=st.sampled_from(["none", "static"]),
    memory_policy=st.sampled_from(["None", "Static"]),
    pod_level=st.booleans(),
    init_containers=st.booleans(),
    exclusive_cpus=st.booleans(),
    exclusive_memory=st.booleans(),
)


@st.composite
def pods(draw: st.DrawFn, uid: str = "web") -> tuple[Pod, Pod]:
    """A pod of three containers as it is and as it asks to be; the first is an init container."""
    source, priority = draw(st.sampled_from(["api", "api", "api", "file"])), draw(st.integers(0, 2))
    policies = [RESTART if draw(st.booleans()) else () for _ in range(3)]
    sidecar = draw(st.sampled_from([None, "Always"]))
    whole = draw(st.booleans())

    def form() -> Pod:
        first, *others = (
            Container(name=name, resources=draw(RESOURCES), resize_policy=policy, restart_policy=restart)
            for name, policy, restart in zip("abc", policies, (sidecar, None, None), strict=True)
        )
        meta = ObjectMeta(name=uid, namespace="shop", uid=uid, annotations={CONFIG_SOURCE: source})
        resources = draw(RESOURCES) if whole else None
        spec = PodSpec(init_containers=(first,), containers=tuple(others), resources=resources, priority=priority)
        return Pod(metadata=meta, spec=spec)

    return form(), form()


# --- refused ----------------------------------------------------------------------------------------------------------


@given(pods())
def test_where_nothing_is_pinned_and_nobody_swaps_only_static_pods_are_refused(forms: tuple[Pod, Pod]) -> None:
    before, after = forms
    found = infeasible(after, resources_of(before.spec), BY_DEFAULT)
    static = after.metadata.annotations[CONFIG_SOURCE] == "file"
    assert (found.detail if found is not None else None) == ("static_pod" if static else None)


@given(pods(), RULES)
def test_a_pod_that_asks_for_what_it_has_is_refused_nothing(forms: tuple[Pod, Pod], rules: ResizeRules) -> None:
    pod, _ = forms
    found = infeasible(pod, resources_of(pod.spec), rules)
    assert found is None or found.detail == "static_pod"


@given(pods(), RULES)
def test_each_refusal_has_its_cause(forms: tuple[Pod, Pod], rules: ResizeRules) -> None:
    before, after = forms
    found = infeasible(after, resources_of(before.spec), rules)
    guaranteed = qos_class(after) is QosClass.GUARANTEED
    strict = all(each.resize_policy for each in (*after.spec.init_containers, *after.spec.containers))
    causes = {
        "static_pod": after.metadata.annotations[CONFIG_SOURCE] == "file",
        "swap_limitation": rules.containers.swap is not None and not strict,
        "plr_feature_gate_off": not rules.pod_level and after.spec.resources is not None,
        "feature_gate_off": not rules.init_containers and after.spec.init_containers[0].restart_policy is None,
        "guaranteed_pod_cpu_manager_static_policy": guaranteed
        and rules.cpu_policy == "static"
        and (not rules.exclusive_cpus or after.spec.resources is not None or becomes_whole_or_not(before, after)),
        "guaranteed_pod_memory_manager_static_policy": guaranteed
        and (rules.memory_policy, rules.exclusive_memory) == ("Static", False),
    }
    assert found is None or causes[found.detail]


def becomes_whole_or_not(before: Pod, after: Pod) -> bool:
    """Whether a container asks for whole CPUs in one form only."""
    containers = ((*each.spec.init_containers, *each.spec.containers) for each in (before, after))
    return any(_is_whole(one) != _is_whole(other) for one, other in zip(*containers, strict=True))


def _is_whole(container: Container) -> bool:
    assert container.resources is not None
    return not container.resources.requests["cpu"].endswith("m")


# --- granted or deferred ----------------------------------------------------------------------------------------------


def verdict_on(before: Pod, after: Pod, others: list[Pod], rules: ResizeRules = BY_DEFAULT) -> object:
    book = Book(KeptBook(tuple(allocation_of(each) for each in others)))
    return resize_verdict(after, resources_of(before.spec), rules, Snapshot(NODE, book, Abilities()))


OTHERS = st.lists(pods("other"), max_size=2).map(lambda found: [each for each, _ in found])


@given(pods(), OTHERS, RULES)
def test_what_is_granted_fits_and_was_asked_for(forms: tuple[Pod, Pod], others: list[Pod], rules: ResizeRules) -> None:
    before, after = forms
    verdict = verdict_on(before, after, others[:1], rules)
    if isinstance(verdict, Granted):
        assert verdict.wanted == allocation_of(after)
        assert infeasible(after, resources_of(before.spec), rules) is None
        assert fits([after, *others[:1]])
    elif isinstance(verdict, Deferred):
        assert not fits([after, *others[:1]])
        assert verdict.reason.startswith("OutOf")


@given(pods(), OTHERS)
def test_a_pod_that_asks_for_no_more_than_it_has_never_waits(forms: tuple[Pod, Pod], others: list[Pod]) -> None:
    before, after = forms
    if fits([before, *others[:1]]) and not grows(allocation_of(before), allocation_of(after)):
        assert not isinstance(verdict_on(before, after, others[:1]), Deferred)


def fits(everyone: list[Pod]) -> bool:
    cpu, memory = (sum(allocation_of(each).requests.get(name, 0) for each in everyone) for name in ("cpu", "memory"))
    return cpu <= 4 * 10**9 and memory <= 8 * 2**30 * 10**9


@given(pods())
def test_what_a_pod_has_is_unchanged_even_on_a_full_node(forms: tuple[Pod, Pod]) -> None:
    pod, other = forms
    assert verdict_on(pod, pod, [other, pod]) is UNCHANGED


# --- in which order ---------------------------------------------------------------------------------------------------

WAITING = st.lists(st.tuples(pods(), st.integers(0, 3)), max_size=6).map(
    lambda found: [
        Waiting(allocation_of(before), allocation_of(renamed(after, str(number))), since_s)
        for number, ((before, after), since_s) in enumerate(found)
    ]
)


def renamed(pod: Pod, uid: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=uid, namespace="shop", uid=uid), spec=pod.spec)


@given(WAITING, st.randoms(use_true_random=False))
def test_the_order_is_the_same_however_they_came(everyone: list[Waiting], chance: Random) -> None:
    mixed = list(everyone)
    chance.shuffle(mixed)
    assert in_turn(mixed) == in_turn(everyone)
    assert sorted(each.wanted.uid for each in mixed) == sorted(each.wanted.uid for each in in_turn(mixed))


@given(WAITING)
def test_whoever_comes_later_has_a_reason_to(everyone: list[Waiting]) -> None:
    for one, other in pairwise(in_turn(everyone)):
        one_grows, other_grows = (grows(each.has, each.wanted) for each in (one, other))
        if one_grows != other_grows:
            assert other_grows, "shrinking ones come first"
        elif one.wanted.priority != other.wanted.priority:
            assert (one.wanted.priority or 0) > (other.wanted.priority or 0)
        elif (one.wanted.qos is QosClass.GUARANTEED) != (other.wanted.qos is QosClass.GUARANTEED):
            assert one.wanted.qos is QosClass.GUARANTEED
        else:
            assert one.since_s <= other.since_s
