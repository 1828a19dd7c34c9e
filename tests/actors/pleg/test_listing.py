"""Two pictures of the runtime and what has happened between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.messages.pods import RuntimePod
from actors.model.runtime_shown import GONE
from actors.pleg.listing import NOTHING, ListedContainer, ListingDifference, Picture, difference, picture_of, strangers
from config.frozen_map import FrozenMap
from runtime.cri.messages import Container, ContainerState, PodSandbox, PodSandboxMetadata, PodSandboxState

READY, NOT_READY = PodSandboxState.SANDBOX_READY, PodSandboxState.SANDBOX_NOTREADY
CREATED, RUNNING = ContainerState.CONTAINER_CREATED, ContainerState.CONTAINER_RUNNING
EXITED, UNKNOWN = ContainerState.CONTAINER_EXITED, ContainerState.CONTAINER_UNKNOWN


def sandbox(uid: str, state: PodSandboxState = READY) -> PodSandbox:
    meta = PodSandboxMetadata(name=f"name-{uid}", uid=uid, namespace="default")
    return PodSandbox(id=f"s-{uid}", metadata=meta, state=state)


def container(uid: str, name: str, state: ContainerState = RUNNING, number: int = 0) -> Container:
    labels = {
        "io.kubernetes.pod.uid": uid,
        "io.kubernetes.container.name": name,
        "io.kubernetes.pod.name": f"labelled-{uid}",
        "io.kubernetes.pod.namespace": "default",
    }
    return Container(id=f"c-{uid}-{name}-{number}", labels=labels, state=state)


def test_strangers_are_running_pods_that_have_no_worker():
    picture = picture_of(
        [sandbox("1"), sandbox("2", NOT_READY), sandbox("3", NOT_READY)],
        [container("1", "web", EXITED), container("3", "web"), container("4", "web", EXITED)],
    )
    first, third = RuntimePod("1", "name-1", "default", True), RuntimePod("3", "name-3", "default", True)
    assert strangers(picture, ()) == (first, third)
    assert strangers(picture, {"1": None}) == (third,)
    assert strangers(picture, {"3", "1"}) == ()
    assert strangers(picture_of([], [container("4", "web")]), ()) == (RuntimePod("4", "labelled-4", "default", True),)
    assert picture.entries["c-1-web-0"] == ListedContainer("1", "labelled-1", "default", "web", False, EXITED)
    assert picture.entries["s-1"] == ListedContainer("1", "name-1", "default", "", True, READY)


def test_sandboxes_and_containers_without_a_pod_uid_are_ignored():
    foreign = [Container(id="c", state=RUNNING), Container(id="d", labels={"io.kubernetes.pod.uid": ""}, state=RUNNING)]
    assert (
        picture_of([PodSandbox(id="s"), PodSandbox(id="t", metadata=PodSandboxMetadata(name="x"))], foreign) == NOTHING
    )


FOREIGN = ("a/b", "../x", "..", ".", "/", "a\0b", "x" * 10_000, " ", "a b", "-rf", "\u0661", "a\nb")


@pytest.mark.parametrize("uid", FOREIGN, ids=range(len(FOREIGN)))
def test_what_has_a_uid_that_no_agent_gives_is_ignored(uid: str):
    listed = ([sandbox(uid), sandbox("1")], [container(uid, "web"), container("1", "web")])
    picture = picture_of(*listed)
    assert {entry.uid for entry in picture.entries.values()} == {"1"}
    assert picture.foreign == {f"s-{uid}": uid, f"c-{uid}-web-0": uid}
    assert [each.uid for each in strangers(picture, ())] == ["1"]
    assert picture_of(*listed, picture) is picture
    assert picture_of(listed[0][1:], listed[1][1:], picture).foreign == {}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([], [], ListingDifference({}, ())),
        ([], [("a", RUNNING)], ListingDifference({"u": FrozenMap({"c-u-a-0": RUNNING})}, ())),
        ([("a", RUNNING)], [("a", RUNNING)], ListingDifference({}, ())),
        ([("a", CREATED)], [("a", RUNNING)], ListingDifference({"u": FrozenMap({"c-u-a-0": RUNNING})}, ())),
        ([("a", RUNNING)], [("a", EXITED)], ListingDifference({"u": FrozenMap({"c-u-a-0": EXITED})}, (("u", "a"),))),
        ([("a", RUNNING)], [("a", UNKNOWN)], ListingDifference({"u": FrozenMap({"c-u-a-0": UNKNOWN})}, (("u", "a"),))),
        ([("a", CREATED)], [("a", EXITED)], ListingDifference({"u": FrozenMap({"c-u-a-0": EXITED})}, ())),
        ([("a", RUNNING)], [], ListingDifference({"u": FrozenMap({"c-u-a-0": GONE})}, (("u", "a"),))),
        ([("a", EXITED)], [], ListingDifference({"u": FrozenMap({"c-u-a-0": GONE})}, ())),
        ([], [("a", EXITED)], ListingDifference({"u": FrozenMap({"c-u-a-0": EXITED})}, ())),
        (
            [("a", RUNNING), ("b", RUNNING)],
            [("b", EXITED)],
            ListingDifference({"u": FrozenMap({"c-u-b-0": EXITED, "c-u-a-0": GONE})}, (("u", "b"), ("u", "a"))),
        ),
    ],
)
# (spec 2.5.1)
def test_two_listings_give_the_changed_pods_and_the_dead_containers(
    before: list[tuple[str, ContainerState]], now: list[tuple[str, ContainerState]], expected: ListingDifference
):
    pictures = [picture_of([], [container("u", name, state) for name, state in each]) for each in (before, now)]
    assert difference(*pictures) == expected


# (spec 2.5.1)
def test_a_sandbox_that_is_lost_or_gone_is_a_change_and_no_death():
    ready, lost = picture_of([sandbox("1")], []), picture_of([sandbox("1", NOT_READY)], [])
    assert difference(ready, lost) == ListingDifference({"1": FrozenMap({"s-1": NOT_READY})}, ())
    assert difference(ready, NOTHING) == ListingDifference({"1": FrozenMap({"s-1": GONE})}, ())


def test_pods_come_in_the_order_of_listing():
    found = difference(NOTHING, picture_of([sandbox("2"), sandbox("1")], [container("3", "a")]))
    assert list(found.changed) == ["2", "1", "3"]


_CONTAINERS = st.lists(
    st.builds(
        container,
        uid=st.sampled_from("12"),
        name=st.sampled_from("ab"),
        state=st.sampled_from([CREATED, RUNNING, EXITED, UNKNOWN]),
        number=st.integers(0, 2),
    ),
    max_size=12,
    unique_by=lambda each: each.id,
)
_SANDBOXES = st.lists(
    st.builds(sandbox, uid=st.sampled_from("12"), state=st.sampled_from([READY, NOT_READY])),
    max_size=2,
    unique_by=lambda each: each.id,
)
_PICTURES = st.builds(picture_of, _SANDBOXES, _CONTAINERS)


@given(st.lists(st.tuples(_SANDBOXES, _CONTAINERS), max_size=4))
def test_a_picture_made_from_the_one_before_is_the_one_that_the_lists_make(
    lists: list[tuple[list[PodSandbox], list[Container]]],
):
    before = NOTHING
    for sandboxes, containers in lists:
        now = picture_of(sandboxes, containers, before)
        whole = picture_of(sandboxes, containers)
        assert now.entries == whole.entries
        assert difference(before, now) == difference(before, whole)
        assert picture_of(sandboxes, containers, now) is now, "nothing has changed"
        before = now


@given(_PICTURES, _PICTURES)
# (spec 2.5.2)
def test_exactly_the_pods_whose_entries_differ_are_looked_at_again(before: Picture, now: Picture):
    def of(picture: Picture, uid: str) -> dict[str, int]:
        return {key: entry.state for key, entry in picture.entries.items() if entry.uid == uid}

    found = difference(before, now)
    assert set(found.changed) == {uid for uid in "12" if of(before, uid) != of(now, uid)}
    assert {uid for uid, _ in found.died} <= set(found.changed)
    assert difference(now, now) == ListingDifference({}, ())
