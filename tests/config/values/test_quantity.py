"""Quantities are exact, print as the API prints them, and say what is wrong with a bad one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.values.quantity import (
    LARGEST,
    NANOS,
    ZERO,
    Quantity,
    QuantityError,
    Suffixes,
    add_all,
    of_milli,
    of_value,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "nanos", "canonical"),
    [
        ("0", 0, "0"),
        ("0Ki", 0, "0"),
        ("1", NANOS, "1"),
        ("1.", NANOS, "1"),
        (".5", NANOS // 2, "500m"),
        ("+1", NANOS, "1"),
        ("-1", -NANOS, "-1"),
        ("007", 7 * NANOS, "7"),
        ("1000m", NANOS, "1"),
        ("1500m", 1_500_000_000, "1500m"),
        ("0.5", 500_000_000, "500m"),
        ("100n", 100, "100n"),
        ("12u", 12_000, "12u"),
        ("1k", 1000 * NANOS, "1k"),
        ("1000k", 10**6 * NANOS, "1M"),
        ("1.5G", 1_500_000_000 * NANOS, "1500M"),
        ("2T", 2 * 10**12 * NANOS, "2T"),
        ("3P", 3 * 10**15 * NANOS, "3P"),
        ("4E", 4 * 10**18 * NANOS, "4E"),
        ("100E", 100 * 10**18 * NANOS, "100E"),
        ("1Ki", 1024 * NANOS, "1Ki"),
        ("1024Ki", 1024**2 * NANOS, "1Mi"),
        ("1.5Gi", 1536 * 1024**2 * NANOS, "1536Mi"),
        ("0.5Ki", 512 * NANOS, "512"),
        ("1000Ki", 1024000 * NANOS, "1000Ki"),
        ("2Ti", 2 * 1024**4 * NANOS, "2Ti"),
        ("1Pi", 1024**5 * NANOS, "1Pi"),
        ("7Ei", 7 * 1024**6 * NANOS, "7Ei"),
        ("8Ei", LARGEST * NANOS, str(LARGEST)),
        ("1e3", 1000 * NANOS, "1e3"),
        ("1E3", 1000 * NANOS, "1e3"),
        ("12e5", 1_200_000 * NANOS, "1200e3"),
        ("1e-3", 10**6, "1e-3"),
        ("5e0", 5 * NANOS, "5"),
        ("1E", 10**18 * NANOS, "1E"),
        ("0.1n", 1, "1n"),
        ("-0.1n", -1, "-1n"),
        ("1.0000000001", NANOS + 1, "1000000001n"),
        ("99999999999999999999", LARGEST * NANOS, str(LARGEST)),
    ],
)
def test_a_quantity_has_one_amount_and_one_canonical_text(text: str, nanos: int, canonical: str) -> None:
    quantity = parse_quantity(text)
    assert quantity.nanos == nanos
    assert str(quantity) == canonical


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        (" 1", "number"),
        ("1 ", "number"),
        (".", "number"),
        ("-", "number"),
        ("m", "number"),
        ("--1", "number"),
        ("1.1.M", "number"),
        ("0.1mi", "did you mean Mi"),
        ("1i", "is not a suffix"),
        ("-3.01e-", "number"),
        ("1gb", "did you mean G"),
        ("5MB", "did you mean M"),
        ("5GiB", "did you mean Gi"),
        ("1K", "did you mean k"),
        ("1Ki5", "follow"),
        ("1e999999", "exponent"),
        ("1" * 200, "longer"),
        ("\u0661", "number"),
    ],
)
def test_a_bad_quantity_is_refused_in_words(text: str, word: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert word in caught.value.reason


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [("1", 1, 1000), ("100m", 1, 100), ("1500m", 2, 1500), ("1n", 1, 1), ("-1500m", -2, -1500), ("1Ki", 1024, 1024000)],
)
def test_whole_and_milli_values_are_rounded_away_from_zero(text: str, value: int, milli: int) -> None:
    assert parse_quantity(text).value() == value
    assert parse_quantity(text).milli_value() == milli


def test_amounts_compare_whatever_their_suffix() -> None:
    assert parse_quantity("1") == parse_quantity("1000m")
    assert parse_quantity("1Gi") > parse_quantity("1G")
    assert hash(parse_quantity("1k")) == hash(parse_quantity("1e3"))
    assert sorted([parse_quantity("2"), parse_quantity("1Ki"), parse_quantity("3m")])[0] == of_milli(3)


def test_a_sum_keeps_the_suffixes_of_its_first_part_that_is_not_zero() -> None:
    assert str(parse_quantity("512Mi") + parse_quantity("512M")) == str(
        of_value(512 * 2**20 + 512 * 10**6, Suffixes.BINARY)
    )
    assert str(ZERO + parse_quantity("1Gi")) == "1Gi"
    assert str(add_all([parse_quantity("100m"), parse_quantity("0.9")])) == "1"
    assert str(parse_quantity("1Gi") - parse_quantity("512Mi")) == "512Mi"
    assert add_all([]).is_zero()


amounts = st.builds(
    Quantity, st.integers(-(10**30), 10**30).filter(lambda n: abs(n) <= LARGEST * NANOS), st.sampled_from(Suffixes)
)


@given(amounts)
def test_the_canonical_text_means_the_same_amount(quantity: Quantity) -> None:
    binary_rounds_up = quantity.suffixes is Suffixes.BINARY and abs(quantity.nanos) >= 1024 * NANOS
    meant = quantity.value() * NANOS if binary_rounds_up else quantity.nanos
    assert parse_quantity(str(quantity)).nanos == meant


@given(amounts)
def test_the_canonical_text_is_a_fixed_point(quantity: Quantity) -> None:
    text = str(quantity)
    again = parse_quantity(text)
    if quantity.suffixes is Suffixes.BINARY and not text.endswith("i"):
        # It has no suffix, so it is read as decimal, as upstream does: 5000 of binary is 5k then.
        assert again.nanos == quantity.value() * NANOS or abs(quantity.nanos) < 1024 * NANOS
        text, again = str(again), parse_quantity(str(again))
    assert str(again) == text


@pytest.mark.parametrize("nanos", [4_999_000_000_001, 624_999_000_000_001, 5_000 * NANOS])
def test_a_binary_amount_without_a_suffix_is_read_as_decimal(nanos: int) -> None:
    assert str(parse_quantity(str(Quantity(nanos, Suffixes.BINARY)))).endswith("k")


@given(amounts, amounts, amounts)
def test_addition_is_exact_and_does_not_care_about_order(a: Quantity, b: Quantity, c: Quantity) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a + b) - b == a
    assert (a < b) == ((a - b).nanos < 0)


@given(st.text(alphabet="0123456789.+-eEinumkKMGTPB", max_size=12))
@example("1E100")
def test_any_text_is_a_quantity_or_a_clear_refusal(text: str) -> None:
    try:
        quantity = parse_quantity(text)
    except QuantityError:
        return
    assert parse_quantity(str(quantity)).nanos >= quantity.nanos or quantity.nanos < 0
