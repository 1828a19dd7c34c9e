"""Which pods are yet to be admitted, and how their requests count for a while."""

from __future__ import annotations

import msgspec
import pytest

from actors.messages.eviction import PodHere
from actors.model.allocation import Book, allocation_of
from actors.resources.resize.newcomers import allocations_of, newcomers
from config.objects import Container, ObjectMeta, Pod, PodSpec, PodStatus, ResourceRequirements


def pod(uid: str, cpu: str = "1", **fields: object) -> Pod:
    container = Container(name="app", resources=ResourceRequirements(requests={"cpu": cpu}))
    return msgspec.structs.replace(
        Pod(metadata=ObjectMeta(name=uid, namespace="shop", uid=uid), spec=PodSpec(containers=(container,))), **fields
    )


DELETED = ObjectMeta(name="a", namespace="shop", uid="a", deletion_timestamp="2026-11-01T00:00:00Z")


@pytest.mark.parametrize(
    ("here", "is_new"),
    [
        (PodHere(pod("a"), None), True),
        (PodHere(pod("a", status=PodStatus(phase="Pending")), None), True),
        (PodHere(pod("booked"), None), False),
        (PodHere(pod("a"), None, turned_away=True), False),
        (PodHere(pod("a"), None, released=True), False),
        (PodHere(pod("a"), None, finished=True), False),
        (PodHere(pod("a", status=PodStatus(phase="Failed")), None), False),
        (PodHere(pod("a", metadata=DELETED), None), False),
    ],
)
def test_a_pod_is_new_until_it_is_booked_refused_or_over(here: PodHere, is_new: bool) -> None:
    book = Book()
    book.put(allocation_of(pod("booked")))
    assert newcomers([here], book) == ((here,) if is_new else ())


def test_what_newcomers_ask_for_counts_only_within_the_block() -> None:
    book = Book()
    book.put(allocation_of(pod("booked", "2")))
    before = book.written()
    with book.with_more(allocations_of([PodHere(pod("new", "1500m"), None), PodHere(pod("odd", "much"), None)])):
        assert book.used("cpu") == 3_500_000_000
        assert "odd" not in book
    assert book.used("cpu") == 2_000_000_000
    assert book.written() == before
