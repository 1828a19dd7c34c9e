"""Which dead containers and sandboxes go: the table of spec 3.12, and what must never go."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.containers.gc_rules import (
    GcPolicy,
    Places,
    dead_containers,
    removable_sandboxes,
    surplus_of_names,
    uncovers,
    unit_of,
    victim_of,
)
from runtime.cri.identity import TERMINATION_MESSAGE_FILE
from runtime.cri.messages import (
    Container,
    ContainerMetadata,
    ContainerState,
    PodSandbox,
    PodSandboxMetadata,
    PodSandboxState,
)

CREATED = ContainerState.CONTAINER_CREATED
RUNNING = ContainerState.CONTAINER_RUNNING
EXITED = ContainerState.CONTAINER_EXITED
UNKNOWN = ContainerState.CONTAINER_UNKNOWN
READY = PodSandboxState.SANDBOX_READY
NOT_READY = PodSandboxState.SANDBOX_NOTREADY
NOW_NS = 1_000


def container(
    id_: str, unit: str = "p/c", state: ContainerState = EXITED, created: int = 0, sandbox: str = ""
) -> Container:
    uid, name = unit.split("/")
    labels = {
        "io.kubernetes.pod.uid": uid,
        "io.kubernetes.pod.name": f"pod-{uid}",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.container.name": name,
    }
    meta = ContainerMetadata(name=name, attempt=created)
    return Container(id=id_, metadata=meta, state=state, created_at=created, labels=labels, pod_sandbox_id=sandbox)


def sandbox(id_: str, uid: str = "p", state: PodSandboxState = NOT_READY, created: int = 0) -> PodSandbox:
    meta = PodSandboxMetadata(name=f"pod-{uid}", namespace="default", uid=uid, attempt=created)
    return PodSandbox(id=id_, metadata=meta, state=state, created_at=created)


def ids(containers: list[Container]) -> set[str]:
    return {each.id for each in containers}


def goes(policy: GcPolicy, *containers: Container, gone: str = "") -> set[str]:
    return ids(dead_containers(containers, policy, NOW_NS, lambda uid: uid == gone))


THREE = (container("1", created=1), container("2", created=2), container("3", created=3))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (GcPolicy(), {"1", "2"}),
        (GcPolicy(per_container=2), {"1"}),
        (GcPolicy(per_container=0), {"1", "2", "3"}),
        (GcPolicy(per_container=-1), set()),
        (GcPolicy(min_age_ns=998), {"1"}),
        (GcPolicy(min_age_ns=NOW_NS), set()),
        (GcPolicy(per_container=-1, total=2), {"1"}),
        (GcPolicy(total=0), {"1", "2", "3"}),
    ],
)
# (spec 3.12.1)
def test_the_newest_containers_of_a_name_are_kept(policy: GcPolicy, expected: set[str]):
    assert goes(policy, *THREE) == expected


# (spec 3.12.1)
def test_the_limit_in_total_takes_first_from_those_who_have_most():
    few = [container(f"few{n}", f"p{n}/c", created=n) for n in range(2)]
    many = [container(f"many{n}", "p9/c", created=10 + n) for n in range(8)]
    left_after = GcPolicy(per_container=-1, total=6)
    assert goes(left_after, *few, *many) == {f"many{n}" for n in range(6)}
    # When one of each is still too many, the oldest of all go.
    assert goes(GcPolicy(per_container=-1, total=1), *few, *many) == {"few0", "few1", *(f"many{n}" for n in range(7))}


# (spec 3.12.2)
def test_running_and_created_containers_are_kept():
    assert goes(GcPolicy(per_container=0), container("r", state=RUNNING), container("c", state=CREATED)) == set()


# (spec 3.12.3)
def test_a_pod_that_is_gone_keeps_nothing_but_what_runs():
    containers = [container(state.name, state=state) for state in (CREATED, RUNNING, EXITED, UNKNOWN)]
    young = container("young", created=NOW_NS)
    assert goes(GcPolicy(min_age_ns=1), *containers, young, gone="p") == {
        "CONTAINER_CREATED",
        "CONTAINER_EXITED",
        "CONTAINER_UNKNOWN",
        "young",
    }


def test_containers_without_a_pod_label_are_left_alone():
    assert goes(GcPolicy(per_container=0), Container(id="x", state=EXITED)) == set()


# (spec 2.1.10)
def test_after_a_death_at_least_the_newest_of_that_name_stays():
    others = [container("o1", "p/other"), container("o2", "p/other")]
    run = container("run", state=RUNNING, created=9)
    unit = {("p", "c")}
    assert ids(surplus_of_names([*THREE, *others, run], unit, GcPolicy(per_container=0))) == {"1", "2"}
    assert ids(surplus_of_names(THREE, unit, GcPolicy(per_container=2))) == {"1"}


# (spec 3.12.4)
def test_sandboxes_go_when_they_are_down_and_empty_and_not_the_newest_of_a_pod_that_stays():
    sandboxes = [
        sandbox("newest", created=9),
        sandbox("old", created=1),
        sandbox("holding", created=2),
        sandbox("ready", created=3, state=READY),
        sandbox("gone", uid="g", created=1),
        sandbox("gone ready", uid="g", created=2, state=READY),
    ]
    containers = [container("c", sandbox="holding")]
    assert removable_sandboxes(sandboxes, containers, lambda uid: uid == "g") == ["old", "gone"]


@pytest.mark.parametrize(
    ("dead", "removable", "is_more"),
    [
        ([], [], False),
        ([container("c", sandbox="up")], [], False),
        ([container("c", sandbox="old")], [], True),
        ([container("c", "g/c", sandbox="up of gone")], [], True),
        ([container("c", "g/c")], [], True),
        ([], ["old"], False),
        ([], ["gone"], True),
    ],
)
def test_more_can_go_after_the_last_container_of_a_sandbox_and_the_last_sandbox_of_a_pod(
    dead: list[Container], removable: list[str], is_more: bool
):
    sandboxes = [
        sandbox("up", state=READY),
        sandbox("old"),
        sandbox("gone", uid="g"),
        sandbox("up of gone", uid="g", state=READY),
    ]
    assert uncovers(dead, removable, sandboxes, lambda uid: uid == "g") is is_more


def test_a_victim_knows_its_log_and_the_link_to_it():
    victim = victim_of(container("abc", created=7, state=UNKNOWN), Places())
    assert victim.log_directory == "/var/log/pods/default_pod-p_p/c"
    assert victim.link == "/var/log/containers/pod-p_default_c-abc.log"
    assert (victim.attempt, victim.stop_first, victim.message) == (7, True, "")


@pytest.mark.parametrize(
    ("told", "is_taken"),
    [
        ("/r/pods/p/containers/c/00000007", True),
        ("/r/pods/p/containers/c/deep/file", False),
        ("/r/pods/p/containers/c/..", False),
        ("/r/pods/p/containers/c/", False),
        ("/r/pods/other/containers/c/00000007", False),
        ("/etc/passwd", False),
        ("/r/pods/p/containers/c/../../../../../etc/passwd", False),
    ],
)
def test_a_termination_message_goes_only_from_its_own_place(told: str, is_taken: bool):
    one = container("abc")
    one = msgspec.structs.replace(one, annotations={TERMINATION_MESSAGE_FILE: told})
    assert victim_of(one, Places(root="/r/")).message == (told if is_taken else "")


def test_a_container_whose_labels_lead_elsewhere_takes_no_file():
    one = container("abc")
    one = msgspec.structs.replace(
        one,
        labels={**one.labels, "io.kubernetes.pod.uid": "..", "io.kubernetes.container.name": "x"},
        annotations={TERMINATION_MESSAGE_FILE: "/r/pods/../containers/x/1"},
    )
    assert victim_of(one, Places(root="/r")).message == ""


some_containers = st.lists(
    st.builds(
        container,
        id_=st.uuids().map(str),
        unit=st.sampled_from(["a/x", "a/y", "b/x", "g/x"]),
        state=st.sampled_from([CREATED, RUNNING, EXITED, UNKNOWN]),
        created=st.integers(0, NOW_NS),
    ),
    max_size=30,
)


@given(some_containers, st.integers(-1, 3), st.integers(-1, 6))
def test_limits_hold_and_of_each_name_older_ones_go_first(containers: list[Container], per_container: int, total: int):
    policy = GcPolicy(per_container=per_container, total=total)
    gone = goes(policy, *containers, gone="g")
    assert len(gone) == len(dead_containers(containers, policy, NOW_NS, lambda uid: uid == "g"))
    stayed: dict[tuple[str, str], list[int]] = {}
    went: dict[tuple[str, str], list[int]] = {}
    for each in containers:
        if each.state == RUNNING:
            assert each.id not in gone
        elif unit_of(each)[0] == "g":
            assert each.id in gone
        elif each.state == CREATED:
            assert each.id not in gone
        else:
            (went if each.id in gone else stayed).setdefault(unit_of(each), []).append(each.created_at)
    for unit, times in stayed.items():
        assert per_container < 0 or len(times) <= per_container
        assert all(min(times) >= time for time in went.get(unit, ()))
    assert total < 0 or sum(map(len, stayed.values())) <= total


@pytest.mark.parametrize("uid", ["..", ".", "a b", "-rf", "a\0b", "x" * 10_000, "../../etc"])
def test_what_has_a_uid_that_no_agent_gives_is_not_removed(uid: str):
    meta = ContainerMetadata(name="c")
    foreign = Container(id="1", metadata=meta, state=EXITED, labels={"io.kubernetes.pod.uid": uid})
    assert dead_containers((foreign,), GcPolicy(0, 0, 0), NOW_NS, lambda _: True) == []
    assert removable_sandboxes((sandbox("s", uid),), (), lambda _: True) == []
