"""Decoders of foreign bytes raise only documented errors, and their results are bounded.

The bound is in proportion to the input.

The short round of CI: the corpus whole, then a few inputs that hypothesis makes of the seeds. `tox -e fuzz` goes on for
as long as it is told, guided by what the code does.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.decoder import Decoder, UnboundedError, calls_of, size_of
from tests.hostile.registry import CORPUS, DECODERS, corpus_of

EXAMPLES = 25
LONG = 2000
"""Characters of a piece that is said again and again."""


@st.composite
def mutations(draw: st.DrawFn, decoder: Decoder) -> bytes:
    """A sound input, changed in a few places; or any bytes."""
    seeds = (*decoder.seeds, *corpus_of(decoder.name)[:20])
    data = draw(st.sampled_from(seeds)) if seeds else b""
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        piece = data[start:end]
        how = draw(st.sampled_from(("cut", "again", "swap", "word", "bytes", "number")))
        if how == "cut":
            data = data[:start] + data[end:]
        elif how == "again":
            times = draw(st.sampled_from((2, 3, 50))) if len(piece) < 40 else 2
            data = data[:start] + piece * min(times, max(1, LONG // max(1, len(piece)))) + data[end:]
        elif how == "swap":
            other = draw(st.sampled_from(seeds)) if seeds else b""
            data = data[:start] + other[: draw(st.integers(0, len(other)))] + data[end:]
        elif how == "word" and decoder.words:
            data = data[:start] + draw(st.sampled_from(decoder.words)) * draw(st.integers(1, 60)) + data[start:]
        elif how == "number":
            data = data[:start] + draw(st.sampled_from(NUMBERS)) + data[end:]
        else:
            data = data[:start] + draw(st.binary(max_size=8)) + data[end:]
    return data


NUMBERS = (
    b"-1",
    b"0",
    b"9223372036854775808",
    b"1e999",
    b"9" * 5000,
    b"\xff",
    b"\xed\xa0\x80",
    b"\xc2\xb2",
    b"null",
    b'""',
)


@pytest.mark.parametrize("name", DECODERS)
def test_a_seed_and_what_was_kept_of_it_do_no_harm(name: str) -> None:
    decoder = DECODERS[name]
    for data in (b"", *decoder.seeds, *corpus_of(name)):
        decoder.check_work(data)


@pytest.mark.parametrize("name", DECODERS)
def test_mutated_inputs_do_no_harm(name: str) -> None:
    decoder = DECODERS[name]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(mutations(decoder) | st.binary(max_size=64))
    def run(data: bytes) -> None:
        decoder.check(data)

    run()


@pytest.mark.parametrize("name", DECODERS)
def test_repeated_input_costs_in_proportion_to_its_size(name: str) -> None:
    decoder = DECODERS[name]
    for seed in (*decoder.seeds[:2], *decoder.words):
        piece = seed[:200]
        decoder.check_work(piece * (LONG // max(1, len(piece)) + 1))


def test_every_corpus_belongs_to_a_decoder_and_is_small() -> None:
    assert {folder.name for folder in CORPUS.iterdir() if folder.is_dir()} <= set(DECODERS)
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 500_000


def test_the_oracle_sees_work_and_size() -> None:
    def explode(data: bytes) -> object:
        return ["x" * len(data)] * len(data)

    with pytest.raises(UnboundedError):
        Decoder("x", explode).check(b"y" * 5000)
    with pytest.raises(UnboundedError):
        Decoder("x", lambda data: [len(data) for _ in data for _ in data] and None).check_work(b"y" * 1500)
    with pytest.raises(KeyError):
        Decoder("x", lambda data: {b"": 1}[data], (ValueError,)).check(b"y")
    assert size_of(["ab", {"c": b"de"}], 100) == 10
    assert calls_of(lambda: [len("") for _ in range(100)]) >= 100
