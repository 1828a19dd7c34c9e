"""What selectors of devices may use beside the rest of CEL: quantities, versions, and domains.

`child.py` loads it in its own process, so it imports nothing of the project. A quantity is a map with its amount in
nanos, as text, and a version one with its text. A domain without attributes reads as an empty one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

QUANTITY, VERSION = "\x01quantity", "\x01version"
NANOS = 10**9
_POWERS = {"n": 10**-9, "u": 10**-6, "m": 10**-3, "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_POWERS |= {"E": 10**18, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_QUANTITY = re.compile(r"([+-]?)([0-9]{1,40})(?:\.([0-9]{0,40}))?([numkMGTPE]|[KMGTPE]i)?", re.ASCII)
_VERSION = re.compile(
    r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})"
    r"(?:-([0-9A-Za-z-][0-9A-Za-z.-]{0,63}))?(?:\+[0-9A-Za-z.-]{1,64})?",
    re.ASCII,
)
_DOMAIN = re.compile(
    r"""\bdevice\s{0,9}\.\s{0,9}(attributes|capacity)\s{0,9}\[\s{0,9}("[^"\\]{0,256}"|'[^'\\]{0,256}')\s{0,9}\]"""
)


def with_domains(expression: str) -> str:
    """The expression, in which a domain that a device does not have is an empty one."""
    return _DOMAIN.sub(r"domain__(device.\1, \2)", expression)


def functions(kinds: Any, function: Callable[..., Any]) -> list[Any]:
    """The declarations.

    `kinds`: the types of the library; `function`: makes a declaration, of a method by default.
    """
    some, text, number, truth = kinds.Map(kinds.STRING, kinds.DYN), kinds.STRING, kinds.INT, kinds.BOOL
    return [
        function("domain__", some, [some, text], lambda domains, name: domains.get(name) or {}, member=False),
        function("quantity", some, [text], _quantity, member=False),
        function("isQuantity", truth, [text], _is(_quantity), member=False),
        function("semver", some, [text], _version, member=False),
        function("isSemver", truth, [text], _is(_version), member=False),
        function("compareTo", number, [some, some], _compared),
        function("isGreaterThan", truth, [some, some], lambda one, other: _compared(one, other) > 0),
        function("isLessThan", truth, [some, some], lambda one, other: _compared(one, other) < 0),
        function("sign", number, [some], lambda one: (_nanos(one) > 0) - (_nanos(one) < 0)),
        function("isInteger", truth, [some], lambda one: _nanos(one) % NANOS == 0),
        function("asInteger", number, [some], lambda one: _nanos(one) // NANOS),
        function("asApproximateFloat", kinds.DOUBLE, [some], lambda one: _nanos(one) / NANOS),
        function("add", some, [some, some], lambda one, other: _of_nanos(_nanos(one) + _nanos(other))),
        function("sub", some, [some, some], lambda one, other: _of_nanos(_nanos(one) - _nanos(other))),
        function("major", number, [some], lambda one: _parts(one)[0]),
        function("minor", number, [some], lambda one: _parts(one)[1]),
        function("patch", number, [some], lambda one: _parts(one)[2]),
    ]


def _is(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return reads


def _of_nanos(nanos: int) -> dict[str, Any]:
    return {QUANTITY: str(nanos)}


def _quantity(text: str) -> dict[str, Any]:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    sign, whole, fraction, suffix = found[1], found[2], found[3] or "", found[4] or ""
    power = _POWERS[suffix]
    nanos = int(whole + fraction) * (round(power * NANOS) if power < 1 else int(power) * NANOS) // 10 ** len(fraction)
    return _of_nanos(-nanos if sign == "-" else nanos)


def _version(text: str) -> dict[str, Any]:
    if _VERSION.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no semantic version")
    return {VERSION: text}


def _nanos(one: Any) -> int:
    return int(one[QUANTITY])


def _parts(one: Any) -> tuple[int, int, int]:
    found = _VERSION.fullmatch(one[VERSION])
    assert found is not None
    return int(found[1]), int(found[2]), int(found[3])


def _order(one: Any) -> tuple[Any, ...]:
    """A version without a suffix comes after those with one; numbers in it come before words."""
    found = _VERSION.fullmatch(one[VERSION])
    assert found is not None
    words = () if found[4] is None else tuple(found[4].split("."))
    suffix = tuple((0, int(word), "") if word.isdecimal() else (1, 0, word) for word in words)
    return (*_parts(one), not words, suffix)


def _compared(one: Any, other: Any) -> int:
    first: Any = _nanos(one) if QUANTITY in one else _order(one)
    second: Any = _nanos(other) if QUANTITY in one else _order(other)
    return int(first > second) - int(first < second)
