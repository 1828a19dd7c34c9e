"""Profiles of the agent: the form that `go tool pprof` reads, and what people are told."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.profiles import Profiles, folded, pprof

STACKS = Counter({(("inner", "a.py", 3), ("outer", "a.py", 9)): 5, (("outer", "a.py", 8),): 1})


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of a protobuf."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            length = varint()
            at += length
            yield key >> 3, data[at - length : at]


def test_a_profile_has_samples_locations_functions_and_texts() -> None:
    made = list(fields(gzip.decompress(pprof(STACKS, began_ns=7, lasted_ns=10**9))))
    texts = [value for number, value in made if number == 6]
    assert texts[0] == b""
    assert {b"inner", b"outer", b"a.py", b"samples", b"count", b"cpu", b"nanoseconds"} <= set(texts)
    samples = [dict(fields(value)) for number, value in made if number == 2 and isinstance(value, bytes)]
    assert samples[0] == {1: b"\x01\x02", 2: bytes([5]) + b"\x80\xe1\xeb\x17"}
    locations = [value for number, value in made if number == 4]
    functions = [value for number, value in made if number == 5]
    assert (len(samples), len(locations), len(functions)) == (2, 3, 2)
    assert dict(made)[9] == 7
    assert dict(made)[10] == 10**9
    assert dict(made)[12] == 10**7


def test_folded_stacks_read_from_the_outside() -> None:
    assert folded(STACKS) == "outer;inner 5\nouter 1\n"


# (spec 11.2.9)
def test_the_pages() -> None:
    async def every() -> None:
        profiles = Profiles()
        assert "profile" in (await profiles.answer("", ())).text  # type: ignore[operator]
        assert "MainThread" in (await profiles.answer("goroutine", ())).text  # type: ignore[operator]
        assert (await profiles.answer("symbol", ())).text == "num_symbols: 0\n"
        assert b"python" in (await profiles.answer("cmdline", ())).body  # type: ignore[operator]
        for name, status in (("trace", 501), ("none", 404)):
            with pytest.raises(HttpRefusal) as refused:
                await profiles.answer(name, ())
            assert refused.value.status == status
        with pytest.raises(HttpRefusal):
            await profiles.answer("profile", (("seconds", "0"),))

    asyncio.run(every())


def test_a_profile_shows_threads_and_only_one_runs_at_a_time() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait, name="waits")
    thread.start()

    async def two() -> str:
        profiles = Profiles()
        first = asyncio.create_task(profiles.answer("profile", (("seconds", "1"), ("debug", "1"))))
        await asyncio.sleep(0)
        with pytest.raises(HttpRefusal, match="one is being made already"):
            await profiles.answer("profile", (("seconds", "1"),))
        return str((await first).text)

    try:
        assert "Event.wait" in asyncio.run(two())
    finally:
        ended.set()
        thread.join()
