"""The files of allocations as a kubelet reads them: shape, checksum, and what each record says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.model.allocation import Book, KeptBook, allocation_of, book_in
from actors.model.kubelet_records import (
    KubeletRecords,
    certain,
    data_of,
    record_from,
    record_of,
    records_in,
    resources_in,
)
from actors.model.pod_resources import PodResources
from config.frozen_map import FrozenMap
from config.objects import Container, ContainerResizePolicy, ObjectMeta, Pod, PodSpec, ResourceRequirements
from config.values.go_dump import hash_of_text
from runtime.files.state_file import decoded
from runtime.state.checkpoint import Checksums

CHECKSUMS = Checksums()
SMALL = ResourceRequirements(limits={"cpu": "1"}, requests={"cpu": "100m"})
BIG = ResourceRequirements(requests={"memory": "1Gi"})


def pod(uid: str, *containers: Container, **spec: Any) -> Pod:
    meta = ObjectMeta(name=f"n-{uid}", namespace="shop", uid=uid)
    return Pod(metadata=meta, spec=PodSpec(containers=containers, **spec))


WEB = pod("web", Container(name="app", resources=SMALL))


def entries_of(content: bytes) -> dict[str, Any]:
    """Read a file as a kubelet does: it refuses to start if the checksum is wrong."""
    checkpoint = json.loads(CHECKSUMS.added(content))
    assert checkpoint["checksum"] == hash_of_text(checkpoint["data"].encode())
    entries: dict[str, Any] = json.loads(checkpoint["data"])["entries"]
    return entries


def book_of(*pods: Pod) -> Book:
    book = Book()
    for each in pods:
        book.put(allocation_of(each))
        book.record(each)
    return book


def test_a_record_has_all_containers_that_can_be_resized_and_the_pod_as_a_whole() -> None:
    spec = PodSpec(
        init_containers=(Container(name="once", resources=BIG), Container(name="side", restart_policy="Always")),
        containers=(
            Container(
                name="app",
                resources=SMALL,
                resize_policy=(ContainerResizePolicy(resource_name="cpu", restart_policy="RestartContainer"),),
            ),
        ),
        resources=BIG,
    )
    assert json.loads(record_of(spec)) == {
        "ContainerResources": {
            "once": {"requests": {"memory": "1Gi"}},
            "side": {},
            "app": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}},
        },
        "PodLevelResources": {"requests": {"memory": "1Gi"}},
    }


# (spec 10.16.1)
def test_both_files_hold_the_record_of_each_pod_that_has_an_allocation() -> None:
    book = book_of(WEB, pod("bare", Container(name="app")))
    written = book.written()
    expected: dict[str, dict[str, Any]] = {
        "web": {"ContainerResources": {"app": {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}}},
        "bare": {"ContainerResources": {"app": {}}},
    }
    assert entries_of(written.allocated) == {uid: {**each, "PodLevelResources": None} for uid, each in expected.items()}
    assert entries_of(written.actuated) == entries_of(written.allocated)
    book.remove("web")
    assert list(entries_of(book.written().actuated)) == ["bare"]


def test_a_pod_for_which_room_is_kept_has_no_record() -> None:
    book = book_of(WEB, pod("heir", Container(name="app")))
    assert list(entries_of(book.written(without={"heir"}).allocated)) == ["web"]


def test_a_record_stays_when_the_resources_change_and_after_a_restart() -> None:
    book = book_of(WEB)
    resized = pod("web", Container(name="app", resources=BIG))
    book.put(allocation_of(resized))
    assert not book.record(resized)
    kept = decoded(book.written().allocated, book_in)
    after = Book(kept)
    assert not after.record(resized)
    assert entries_of(after.written().actuated) == entries_of(book_of(WEB).written().actuated)


@pytest.mark.parametrize(
    ("told", "given", "expected"),
    [
        ({"app": SMALL, "side": BIG}, {"app": SMALL, "side": BIG}, {"app", "side"}),
        ({"app": SMALL, "side": BIG}, {"app": BIG, "side": BIG}, {"side"}),
        ({"side": BIG}, {"app": BIG, "side": BIG}, {"side"}),
        ({"app": SMALL, "gone": BIG}, {"app": SMALL}, {"app"}),
    ],
)
def test_a_container_whose_records_differ_may_have_either(
    told: dict[str, ResourceRequirements], given: dict[str, ResourceRequirements], expected: set[str]
) -> None:
    record = certain(record_from(PodResources(FrozenMap(told))), record_from(PodResources(FrozenMap(given))))
    assert resources_in(record).containers.keys() == expected


def test_all_containers_may_have_either_when_the_records_of_the_pod_level_differ() -> None:
    same = FrozenMap({"app": SMALL})
    record = certain(record_from(PodResources(same, SMALL)), record_from(PodResources(same, BIG)))
    assert resources_in(record) == PodResources(whole=SMALL)


def test_a_resize_that_is_taken_back_after_a_restart_is_told_to_the_runtime() -> None:
    """An earlier agent may have told the runtime of the resize and died before it recorded that."""
    grown = pod("web", Container(name="app", resources=BIG))
    desired, actuated = (FrozenMap({"web": record_of(each.spec)}) for each in (grown, WEB))
    book = Book(KeptBook((allocation_of(grown),), records=desired, actuated=actuated))
    book.resize(allocation_of(WEB), WEB)
    assert book.resources("web") == resources_in(record_of(WEB.spec))
    assert book.actuated("web") == PodResources()


def test_the_file_of_a_kubelet_holds_no_allocation() -> None:
    written = book_of(WEB).written()
    assert decoded(written.actuated, book_in) == KeptBook()


def test_the_file_of_an_earlier_agent_holds_allocations_without_records() -> None:
    document = json.loads(book_of(WEB).written().allocated)
    del document["data"]
    kept = decoded(json.dumps(document).encode(), book_in)
    assert ([each.uid for each in kept.allocations], dict(kept.records)) == (["web"], {})
    assert Book(kept).record(WEB)


def test_data_that_cannot_be_read_holds_no_record() -> None:
    spoiled = ("", "{", "[" * 100_000, '{"entries":{"web":{"ContainerResources":{"app":{"limits":{"cpu":{}}}}}}}')
    assert [records_in(data) for data in spoiled] == [{}] * len(spoiled)


class Steps(msgspec.Struct):
    """One change of the records."""

    uid: str
    put: bool
    written: bool


@settings(max_examples=100, deadline=None)
@given(st.lists(st.builds(Steps, st.sampled_from(["a", "b", "c", 'd"<&']), st.booleans(), st.booleans()), max_size=12))
def test_the_checksum_fits_after_any_changes(steps: list[Steps]) -> None:
    records, expected = KubeletRecords(), dict[str, Any]()
    for number, step in enumerate(steps):
        if step.put:
            records.put(step.uid, b'{"ContainerResources":{"%d":{}}}' % number)
            expected[step.uid] = {"ContainerResources": {str(number): {}}}
        else:
            records.remove(step.uid)
            expected.pop(step.uid, None)
        if step.written:
            CHECKSUMS.added(b"{%b}" % data_of(records.entries()))
    assert entries_of(b"{%b}" % data_of(records.entries())) == expected
