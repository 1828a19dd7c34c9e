"""The book of what a node has given away, on its way to the disk and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.model.allocation import Allocation, Book, book_in
from config.frozen_map import FrozenMap
from config.pods.requests import HostPorts, Port, clash

_ALLOCATIONS = st.builds(
    Allocation,
    uid=st.sampled_from("abcd"),
    namespace=st.just("default"),
    name=st.text(max_size=3),
    requests=st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 10**12), max_size=2),
    ports=st.lists(st.tuples(st.just("TCP"), st.just(""), st.integers(1, 9)), max_size=2, unique=True).map(tuple),
)
_OPERATIONS = st.lists(st.one_of(_ALLOCATIONS, st.sampled_from("abcd"), st.none()), max_size=12)


@given(_OPERATIONS, st.sets(st.sampled_from("abcd")))
def test_the_written_book_has_the_current_allocations_at_any_time(
    operations: list[Allocation | str | None], without: set[str]
):
    book = Book()
    for operation in operations:
        if isinstance(operation, Allocation):
            book.put(operation)
        elif operation is not None:
            book.remove(operation)
        else:
            book.written()
    read = Book(book_in(book.written().allocated))
    assert {each.uid: each for each in read} == {each.uid: each for each in book}
    assert read.used("cpu") == book.used("cpu")
    left_out = Book(book_in(book.written(without).allocated))
    assert {each.uid for each in left_out} == {each.uid for each in book} - without


_PORTS = st.lists(
    st.tuples(st.sampled_from(["TCP", "UDP"]), st.sampled_from([80, 81]), st.sampled_from(["", "::", "10.0.0.1"])),
    max_size=3,
).map(lambda ports: tuple((address, protocol, number) for protocol, number, address in ports))


@given(_PORTS, _PORTS, _PORTS)
def test_ports_are_taken_if_one_of_them_clashes_with_one_of_a_pod_that_is_here(
    wanted: tuple[Port, ...], first: tuple[Port, ...], second: tuple[Port, ...]
):
    book = Book()
    for uid, ports in (("a", first), ("b", second), ("gone", wanted)):
        book.put(Allocation(uid=uid, namespace="default", name=uid, requests=FrozenMap(), ports=ports))
    book.remove("gone")
    assert book.takes_ports(HostPorts.of(wanted)) is any(
        clash(mine, its) for mine in wanted for its in (*first, *second)
    )
