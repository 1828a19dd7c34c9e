"""The book of what a node has given away, on its way to the disk and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.model.allocation import Allocation, Book, book_in

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
