"""Caches of what comes from outside: bounded by bytes, whatever the texts are."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
import pytest

from config.caches import ENTRY_BYTES, KIB, LONGEST_BYTES, MIB, KeptBytes, kept, size_of, with_its_object


class Verdict(msgspec.Struct, frozen=True):
    name: str
    parts: tuple[str, ...] = ()


class Plain(msgspec.Struct, frozen=True, gc=False):
    name: str


@dataclass(eq=False)
class Thing:
    text: str = ""


def live_bytes() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_what_is_kept_takes_no_more_than_the_limit_in_bytes() -> None:
    @kept(256 * KIB)
    def judged(text: str) -> Verdict:
        return Verdict(f"judged {text}", (text, text[1:]))

    tracemalloc.start()
    try:
        before = live_bytes()
        for length in (10, 100, 1000):
            for number in range(2000):
                assert judged(f"{number}{'a' * length}").parts[0].startswith(str(number))
            assert live_bytes() - before < 1.2 * 256 * KIB
        assert live_bytes() - before > 128 * KIB, "the newest are kept"
    finally:
        tracemalloc.stop()


def test_a_result_is_worked_out_once_and_a_long_text_each_time() -> None:
    worked: list[str] = []

    @kept(MIB)
    def judged(text: str, policy: str) -> Verdict:
        worked.append(text)
        return Verdict(text, (policy,))

    assert judged("image", "Always") is judged("".join(("im", "age")), "Always")
    assert judged("image", "Never") is not judged("image", "Always")
    assert worked == ["image", "image"]
    long = "a" * LONGEST_BYTES
    assert judged(long, "Always") == judged(long, "Always")
    assert worked == ["image", "image", long, long]


def test_a_result_that_is_long_is_not_kept_either() -> None:
    worked: list[int] = []

    @kept(MIB)
    def spread(count: int) -> str:
        worked.append(count)
        return "a" * count

    for _ in range(2):
        spread(10)
        spread(LONGEST_BYTES)
    assert worked == [10, LONGEST_BYTES, LONGEST_BYTES]


def test_a_failure_is_not_kept() -> None:
    tries: list[str] = []

    @kept(MIB)
    def read(text: str) -> int:
        tries.append(text)
        return int(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            read("x")
    assert tries == ["x", "x"]


def test_the_oldest_go_first() -> None:
    size_bytes = 1000
    table: KeptBytes[int, str] = KeptBytes(3 * (size_bytes + ENTRY_BYTES))
    for number in range(4):
        table.keep(number, "x", size_bytes)
    assert len(table) == 3
    with pytest.raises(KeyError):
        table[0]
    assert [table[number] for number in (1, 2, 3)] == ["x"] * 3


def test_threads_share_a_cache() -> None:
    @kept(64 * KIB)
    def doubled(text: str) -> str:
        return text + text

    texts = [str(number) * 20 for number in range(500)]

    def all_of_them(_: int) -> bool:
        return all(doubled(text) == text + text for text in texts * 5)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(all_of_them, range(8)))


def test_a_finalizer_in_the_middle_of_a_write_may_use_the_same_cache() -> None:
    table: KeptBytes[int, object] = KeptBytes(2 * (100 + ENTRY_BYTES))
    ended: list[int] = []

    class Ends:
        def __init__(self, number: int) -> None:
            self.number = number

        def __del__(self) -> None:
            table.keep(-self.number, "late", 100)
            ended.append(self.number)

    for number in range(10):
        table.keep(number, Ends(number), 100)
    assert ended == list(range(8))
    assert table.size_bytes <= table.most_bytes


def test_a_cleared_table_gives_nothing() -> None:
    table: KeptBytes[int, str] = KeptBytes(MIB)
    table.keep(1, "x")
    table.clear()
    assert len(table) == 0
    assert table.entry(1) is None
    with pytest.raises(KeyError):
        table[1]


def test_a_size_counts_all_that_a_value_holds() -> None:
    text = "a" * 1000
    for holder in (
        (text,),
        [text],
        {"key": text},
        {text: 1},
        frozenset({text}),
        Verdict(text),
        Verdict("", (text,)),
        Plain(text),
        Thing(text),
        {"deep": [({"er": Verdict("", (text,))},)]},
    ):
        assert 1000 < size_of(holder, MIB) < 3000, holder
    assert size_of((text, text), MIB) < 2000, "the same object counts once"
    assert size_of(10**5000, MIB) > 2000
    assert size_of((Thing(text), 1), MIB, beside=(Thing,)) < 200
    assert size_of((Thing, size_of, gc), MIB) < 200, "the process has those anyway"


def test_the_count_of_a_size_stops_beyond_the_limit() -> None:
    assert KIB < size_of([str(number) for number in range(100_000)], KIB) < 2 * MIB


def test_a_result_goes_with_the_object_that_it_is_about() -> None:
    @with_its_object
    def length(thing: Thing) -> Verdict:
        return Verdict(str(len(thing.text)))

    thing = Thing("abc")
    result = length(thing)
    assert length(thing) is result
    assert length(Thing("abcd")).name == "4"
    seen = weakref.ref(thing)
    del thing
    assert seen() is None
