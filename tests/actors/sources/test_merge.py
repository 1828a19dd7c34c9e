"""The merge of what sources desire: table of spec 1.4, and a model that applies the changes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.messages.pods import Operation, PodChanged, SourceRead
from actors.sources.pod_changes import compare
from actors.sources.storage import NOTHING, TELLING_ORDER, Desire, fixed_width_time, merge
from config.objects import Container, ObjectMeta, Pod, PodSpec, PodStatus
from config.pods.identity import CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE, source_of

T0_NS = 1_767_225_600_000_000_000
ADD, UPDATE, DELETE = Operation.ADD, Operation.UPDATE, Operation.DELETE
REMOVE, RECONCILE = Operation.REMOVE, Operation.RECONCILE


def pod(uid: str, image: str = "a", name: str | None = None, phase: str | None = None, **meta: object) -> Pod:
    metadata = ObjectMeta(name=name or f"pod-{uid}", namespace="default", uid=uid, **meta)  # type: ignore[arg-type]
    status = None if phase is None else PodStatus(phase=phase)
    return Pod(metadata=metadata, spec=PodSpec(containers=(Container(name="c", image=image),)), status=status)


def operations(desire: Desire, *pods: Pod) -> list[tuple[str, str]]:
    return [(c.operation.value, c.pod.metadata.uid) for c in merge(desire, "file", pods, T0_NS).changes]


def after(*pods: Pod, source: str = "file") -> Desire:
    return merge(NOTHING, source, pods, T0_NS).desire


# (spec 1.3.1, 1.4.2)
def test_a_pod_seen_for_the_first_time_is_added_with_its_source_and_time():
    merged = merge(NOTHING, "file", [pod("1")], T0_NS)
    assert merged.first
    (change,) = merged.changes
    assert change.operation is ADD
    assert source_of(change.pod) == "file"
    assert change.pod.metadata.annotations[CONFIG_SEEN] == "2026-01-01T00:00:00.000000000Z"


def test_a_pod_that_was_gone_since_the_last_set_is_added_anew_with_a_new_time():
    merged = merge(after(pod("1"), pod("2")), "file", [pod("1"), pod("2")], T0_NS + 5, {"1"})
    (change,) = merged.changes
    assert (change.operation, change.pod.metadata.uid, change.anew) == (ADD, "1", True)
    assert change.pod.metadata.annotations[CONFIG_SEEN] == "2026-01-01T00:00:00.000000005Z"


def test_what_waits_of_a_pod_keeps_that_it_begins_anew():
    began = PodChanged(ADD, pod("1"), "file", anew=True)
    assert PodChanged(UPDATE, pod("1"), "file").merged(began).anew
    assert SourceRead("file", ()).merged(SourceRead("file", (), anew=frozenset({"1"}))).anew == {"1"}


def test_a_source_cannot_pretend_to_be_another():
    forged = pod("1", annotations={CONFIG_SOURCE: "api", CONFIG_SEEN: "never"})
    annotations = merge(NOTHING, "file", [forged], T0_NS).changes[0].pod.metadata.annotations
    assert annotations[CONFIG_SOURCE] == "file"
    assert annotations[CONFIG_SEEN] != "never"


@pytest.mark.parametrize(
    ("edited", "operation"),
    [
        (pod("1"), None),
        (pod("1", resource_version="7"), None),
        (pod("1", generation=3), None),
        (pod("1", annotations={CONFIG_MIRROR: "x", CONFIG_SEEN: "y"}), None),
        (pod("1", image="b"), UPDATE),
        (pod("1", labels={"a": "b"}), UPDATE),
        (pod("1", annotations={"a": "b"}), UPDATE),
        (pod("1", deletion_grace_period_seconds=3), UPDATE),
        (pod("1", deletion_timestamp="2026-01-01T00:00:00Z"), DELETE),
        (pod("1", deletion_timestamp="2026-01-01T00:00:00Z", phase="Failed"), DELETE),
        (pod("1", phase="Running"), RECONCILE),
        (pod("1", image="b", phase="Running"), UPDATE),
    ],
)
# (spec 1.4.3)
def test_the_difference_between_pods_decides_the_operation(edited: Pod, operation: Operation | None):
    assert compare(after(pod("1")).sources["file"]["1"].pod, edited) is operation
    expected = [] if operation is None else [(operation.value, "1")]
    assert operations(after(pod("1")), edited) == expected


# (spec 1.4.4)
def test_an_update_keeps_first_seen_and_takes_everything_else():
    before = merge(NOTHING, "file", [pod("1", annotations={"old": "1"})], T0_NS).desire
    update = pod("1", image="b", annotations={"new": "1"}, generation=2)
    (change,) = merge(before, "file", [update], T0_NS + 5).changes
    meta = change.pod.metadata
    assert meta.annotations == {
        "new": "1",
        CONFIG_SOURCE: "file",
        CONFIG_SEEN: "2026-01-01T00:00:00.000000000Z",
    }
    assert meta.generation == 2
    assert change.pod.spec.containers[0].image == "b"


# (spec 1.4.4)
def test_a_mirror_stays_one_when_its_pod_is_updated():
    mirror = pod("1", annotations={CONFIG_MIRROR: "hash"})
    update = pod("1", image="b", annotations={CONFIG_MIRROR: "hash"})
    changes = merge(after(mirror, source="api"), "api", [update], T0_NS).changes
    assert changes[0].pod.metadata.annotations[CONFIG_MIRROR] == "hash"


# (spec 1.4.2)
def test_a_uid_that_vanished_is_removed_with_its_last_object():
    (change,) = merge(after(pod("1"), pod("2")), "file", [pod("2")], T0_NS).changes
    assert change.operation is REMOVE
    assert change.pod.metadata.name == "pod-1"


# (spec 1.4.5)
def test_changes_are_told_in_the_order_remove_add_update_delete_reconcile():
    before = after(pod("gone"), pod("edited"), pod("dying"), pod("moved"), pod("same"))
    now = [
        pod("same"),
        pod("moved", phase="Running"),
        pod("dying", deletion_timestamp="2026-01-01T00:00:00Z"),
        pod("edited", image="b"),
        pod("new"),
    ]
    assert operations(before, *now) == [
        ("REMOVE", "gone"),
        ("ADD", "new"),
        ("UPDATE", "edited"),
        ("DELETE", "dying"),
        ("RECONCILE", "moved"),
    ]


def test_one_source_never_removes_the_pods_of_another():
    both = merge(after(pod("1")), "http", [pod("2")], T0_NS).desire
    merged = merge(both, "http", [], T0_NS)
    assert [c.pod.metadata.uid for c in merged.changes] == ["2"]
    assert merged.desire.uids() == {"1"}
    assert not merged.first


# (spec 1.4.5)
def test_an_empty_first_set_is_a_first_set():
    merged = merge(NOTHING, "file", [], T0_NS)
    assert merged.first
    assert merged.changes == ()


@pytest.mark.parametrize(
    ("second", "words"),
    [(pod("2", name="pod-1"), "is named default/pod-1"), (pod("1", name="other"), "same UID 1")],
)
# (spec 1.4.1)
def test_a_later_duplicate_of_one_source_is_left_out_and_said(second: Pod, words: str):
    merged = merge(NOTHING, "file", [pod("1"), second], T0_NS)
    assert [c.pod.metadata.name for c in merged.changes] == ["pod-1"]
    (duplicate,) = merged.duplicates
    assert words in duplicate.reason
    assert duplicate.pod is second


# (spec 1.4.1)
def test_the_same_name_in_two_sources_is_no_duplicate():
    assert merge(after(pod("1")), "http", [pod("2", name="pod-1")], T0_NS).duplicates == ()


# (spec 1.3.1)
def test_times_of_fixed_width_sort_as_the_times_do():
    texts = [fixed_width_time(T0_NS + ns) for ns in (0, 1, 999_999_999, 1_000_000_000)]
    assert texts == sorted(texts)
    assert len({len(text) for text in texts}) == 1
    assert texts[1].endswith("00.000000001Z")


pods_of_a_set = st.lists(
    st.builds(
        pod,
        uid=st.sampled_from("abcdef"),
        image=st.sampled_from("xy"),
        name=st.sampled_from(["n1", "n2", "n3", "n4", "n5"]),
        phase=st.sampled_from([None, "Running"]),
        deletion_timestamp=st.sampled_from([None, None, "2026-01-01T00:00:00Z"]),
    ),
    max_size=8,
)


def bare(pod: Pod) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations={}))


@given(st.lists(st.tuples(st.sampled_from(["file", "http"]), pods_of_a_set), max_size=6))
def test_applying_the_changes_gives_the_pods_of_each_source(sets: list[tuple[str, list[Pod]]]):
    desire = NOTHING
    applied: dict[str, dict[str, Pod]] = {"file": {}, "http": {}}
    for step, (source, pods) in enumerate(sets):
        merged = merge(desire, source, pods, T0_NS + step)
        desire = merged.desire
        order = [TELLING_ORDER.index(change.operation) for change in merged.changes]
        assert order == sorted(order)
        for change in merged.changes:
            uid = change.pod.metadata.uid
            if change.operation is REMOVE:
                del applied[source][uid]
            else:
                assert (uid not in applied[source]) == (change.operation is ADD)
                applied[source][uid] = change.pod
        left_out = {id(duplicate.pod) for duplicate in merged.duplicates}
        kept = [pod for pod in pods if id(pod) not in left_out]
        assert {uid: bare(pod) for uid, pod in applied[source].items()} == {p.metadata.uid: p for p in kept}
        assert {uid: each.pod for uid, each in desire.sources[source].items()} == applied[source]
        assert merge(desire, source, pods, T0_NS).changes == ()
