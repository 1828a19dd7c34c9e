"""What a decoder of foreign bytes is, and what must hold of it whatever it is given.

`Decoder.check` is the oracle of every run: by hypothesis, by atheris, and over the corpus. The decoder returns or
raises one of its documented errors, and the size of its result is bounded by its input. `calls_of` counts the work,
where that is cheap enough to do; no clock is read.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import msgspec

SCRATCH = tempfile.TemporaryDirectory(prefix="actorlet-hostile-")
"""Of this process: for decoders that read files, which each input overwrites."""

SIZE_AT_REST = 200_000
SIZE_PER_BYTE = 400
CALLS_AT_REST = 60_000
CALLS_PER_BYTE = 600
ERROR_CHARACTERS_AT_REST = 20_000
ERROR_CHARACTERS_PER_BYTE = 30


class UnboundedError(AssertionError):
    """The result or the work is larger than the input justifies."""


@dataclass(frozen=True)
class Decoder:
    """`read` takes the bytes of one input and gives all that is made of them. `errors`: what it may raise.

    `seeds` are sound inputs, from which others are made. `words` are pieces that matter to it.
    """

    name: str
    read: Callable[[bytes], object]
    errors: tuple[type[Exception], ...] = ()
    seeds: tuple[bytes, ...] = ()
    words: tuple[bytes, ...] = ()

    def check(self, data: bytes) -> None:
        """Raises what the decoder must not raise, and UnboundedError."""
        try:
            made = self.read(data)
        except self.errors as error:
            if len(str(error)) > ERROR_CHARACTERS_AT_REST + ERROR_CHARACTERS_PER_BYTE * len(data):
                raise UnboundedError(f"{self.name}: an error of {len(str(error))} characters") from None
            return
        limit = SIZE_AT_REST + SIZE_PER_BYTE * len(data)
        size = size_of(made, limit)
        if size > limit:
            raise UnboundedError(f"{self.name}: more than {limit} came out of {len(data)} bytes")

    def check_work(self, data: bytes) -> None:
        """`check`, with the calls of functions counted, too."""
        self.check(data)  # what is learned once does not count
        calls = calls_of(lambda: self.check(data))
        limit = CALLS_AT_REST + CALLS_PER_BYTE * len(data)
        if calls > limit:
            raise UnboundedError(f"{self.name}: {calls} calls for {len(data)} bytes, more than {limit}")


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, those in C included."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def size_of(value: object, enough: int) -> int:
    """Characters, bytes and parts in a value, counted up to `enough`; what is there twice counts twice."""
    size, waiting = 0, [value]
    while waiting and size <= enough:
        each = waiting.pop()
        size += 1
        if isinstance(each, str | bytes | bytearray):
            size += len(each)
        elif isinstance(each, int):
            size += each.bit_length() // 8
        elif isinstance(each, Mapping):
            waiting += each.keys()
            waiting += each.values()
        elif isinstance(each, msgspec.Struct):
            waiting += (getattr(each, name) for name in each.__struct_fields__)
        elif is_dataclass(each) and not isinstance(each, type):
            waiting += (getattr(each, field.name) for field in fields(each))
        elif isinstance(each, Iterable) and not isinstance(each, type):
            waiting += each
    return size


def text_of(data: bytes) -> str:
    """The bytes as text: each input has one."""
    return data.decode("utf-8", "replace")
