"""Quantities: numbers with suffixes, as in resources ("500m", "1.5Gi", "2e3").

Owns parsing, exact arithmetic and the canonical text of a quantity, as the API server defines them. A quantity is a
whole number of nanos (billionths) and the family of suffixes it was written with. Pure. Only parsing can fail
(`QuantityError`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from config.caches import KIB, kept

NANOS = 10**9

# The API keeps amounts in 64 bits; larger ones become this.
LARGEST = 2**63 - 1

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()}
_FORM = re.compile(r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?([a-zA-Z]*)(?:([+-]?[0-9]+))?", re.ASCII)

# No document needs more. A longer exponent would only make the agent compute for hours.
_EXPONENT_DIGITS_AT_MOST = 5
_TEXT_AT_MOST = 128
KEPT_BYTES = 512 * KIB


class QuantityError(ValueError):
    """The text is no quantity; `reason` tells its author why."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is not a quantity: {reason}")
        self.text = text
        self.reason = reason


class Suffixes(Enum):
    """The family of suffixes that a quantity was written with, and is printed with."""

    DECIMAL = "decimal"
    BINARY = "binary"
    EXPONENT = "exponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount. Equal and ordered by amount alone: 1 == 1000m. `str` gives the canonical text."""

    nanos: int
    suffixes: Suffixes = field(default=Suffixes.DECIMAL, compare=False)

    def value(self) -> int:
        """Whole units, rounded away from zero (a tenth of a byte counts as a byte)."""
        return _divide_up(self.nanos, NANOS)

    def milli_value(self) -> int:
        """Thousandths, rounded away from zero: cpu "1.5" is 1500."""
        return _divide_up(self.nanos, NANOS // 1000)

    def is_zero(self) -> bool:
        return self.nanos == 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the suffixes of the left side unless that is zero."""
        return Quantity(self.nanos + other.nanos, (other if self.is_zero() else self).suffixes)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, (other if self.is_zero() else self).suffixes)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.suffixes)

    def __str__(self) -> str:
        return format_quantity(self)


ZERO = Quantity(0)


def of_value(units: int, suffixes: Suffixes = Suffixes.DECIMAL) -> Quantity:
    """A number of whole units: `of_value(2**30, Suffixes.BINARY)` is 1Gi."""
    return Quantity(units * NANOS, suffixes)


def of_milli(thousandths: int, suffixes: Suffixes = Suffixes.DECIMAL) -> Quantity:
    """A number of thousandths: `of_milli(1500)` is 1500m of cpu."""
    return Quantity(thousandths * (NANOS // 1000), suffixes)


def add_all(quantities: Iterable[Quantity]) -> Quantity:
    """The sum of all, zero for none."""
    total = ZERO
    for quantity in quantities:
        total = total + quantity
    return total


@kept(KEPT_BYTES)
def parse_quantity(text: str) -> Quantity:
    """The quantity of `text`: sign, digits with an optional point, then a suffix or a decimal exponent.

    Fractions of a nano are rounded away from zero; amounts beyond 64 bits become the largest amount. Raises
    QuantityError.
    """
    sign, whole, fraction, suffix, exponent = _split(text)
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        nanos = _divide_up(digits * 2 ** _BINARY[suffix] * NANOS, 10 ** len(fraction))
        suffixes = Suffixes.BINARY if nanos >= NANOS or nanos == 0 else Suffixes.DECIMAL
    else:
        power = (_DECIMAL[suffix] if exponent is None else exponent) - len(fraction) + 9
        nanos = digits * 10**power if power >= 0 else _divide_up(digits, 10**-power)
        suffixes = Suffixes.DECIMAL if exponent is None else Suffixes.EXPONENT
    if nanos > LARGEST * NANOS and not _keeps_its_scale(whole, fraction, suffix):
        nanos = LARGEST * NANOS
    return Quantity(-nanos if sign == "-" else nanos, suffixes)


def format_quantity(quantity: Quantity) -> str:
    """The canonical text: a whole number with the largest suffix that allows one.

    It has no leading or trailing zeros.

    Binary suffixes need at least 1024 whole units; a smaller amount is printed with decimal ones.
    """
    if quantity.is_zero():
        return "0"
    if quantity.suffixes is Suffixes.BINARY and abs(quantity.nanos) >= 1024 * NANOS:
        number, exponent = quantity.value(), 0
        while number % 1024 == 0 and exponent < 60:
            number, exponent = number // 1024, exponent + 10
        return f"{number}{_BINARY_SUFFIX.get(exponent, '')}"
    number, exponent = quantity.nanos, -9
    has_exponent = quantity.suffixes is Suffixes.EXPONENT  # continues where the suffixes end, at E
    while number % 1000 == 0 and (exponent < 18 or has_exponent):
        number, exponent = number // 1000, exponent + 3
    if has_exponent:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIX[exponent]}"


@kept(KEPT_BYTES)
def canonical(text: str) -> str:
    """The text as an API server writes the amount: `1` for `1000m`. What is no quantity stays as it is."""
    try:
        return str(parse_quantity(text))
    except QuantityError:
        return text


def _split(text: str) -> tuple[str, str, str, str, int | None]:
    """(sign, digits before the point, digits after it, suffix, decimal exponent or None)."""
    if not text:
        raise QuantityError(text, "it is empty; write a number such as 500m or 1Gi")
    if len(text) > _TEXT_AT_MOST:
        raise QuantityError(text[:20] + "...", f"it is longer than {_TEXT_AT_MOST} characters")
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[4]):
        raise QuantityError(text, "it must be a number, then a suffix of n u m k M G T P E, Ki to Ei, or eN")
    sign, whole, _, fraction, suffix, exponent = match.groups()
    fraction = fraction or ""
    if exponent is not None:
        if suffix not in ("e", "E"):
            raise QuantityError(text, f"digits must not follow the suffix {suffix!r}")
        if len(exponent) > _EXPONENT_DIGITS_AT_MOST:
            raise QuantityError(text, "its exponent is too large")
        # Past these, the amount is the largest, or a single nano, whatever the digits are.
        return sign, whole, fraction, "", max(-200, min(200, int(exponent)))
    if suffix not in _DECIMAL and suffix not in _BINARY:
        raise QuantityError(text, f"{suffix!r} is not a suffix{_suffix_hint(suffix)}")
    return sign, whole, fraction, suffix, None


def _suffix_hint(suffix: str) -> str:
    """Names the suffix that was probably meant, as in '; did you mean Mi?'."""
    plain = suffix.removesuffix("B").removesuffix("b")
    known = (*_DECIMAL, *_BINARY)
    for candidate in (plain, plain.capitalize(), plain.lower()):
        if candidate and candidate in known:
            return f"; did you mean {candidate}?"
    return "; use one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"


def _keeps_its_scale(whole: str, fraction: str, suffix: str) -> bool:
    """Whether the API keeps the number's scale, as 18 digits and a power of ten.

    Then it does not cut the number (100E stays).
    """
    digits = len(whole.lstrip("0")) + len(fraction)
    return suffix not in _BINARY and digits <= 18


def _divide_up(number: int, divisor: int) -> int:
    """`number / divisor`, rounded away from zero."""
    quotient = -(-abs(number) // divisor)
    return -quotient if number < 0 else quotient
