"""Whether a regular expression takes time in proportion to its text. Pure.

Python's `re` tries one way after the other. So what costs is how many ways there are to read one text: ways that
multiply with each character are exponential, ways that add up are polynomial. `cost_of` decides it from the structure,
without any text, as in Weideman et al., "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers".

An expression becomes its positions: every character class is one, and knows which may follow it. Exponential is a
position that two different ways lead back to. Polynomial are two positions with loops over the same text, where one
leads to the other. A search begins with a position of its own, which skips any text.

It errs to the safe side. What stands behind a look-ahead, a condition or a back reference is read as if it always held.
`{2,900}` is read as `{2,3}`: the cost differs by a bounded factor only.
"""

from __future__ import annotations

import enum
import re
import re._constants as sre
import re._parser as parser
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from config.caches import KIB, kept

_KEPT_BYTES = 128 * KIB
POSITIONS_AT_MOST = 1000
STEPS_AT_MOST = 100_000
"""Of the search for ways.

An expression that takes more is too large to tell: whoever wrote it may be hostile.
"""
_CHARACTERS = 256
_ALL = (1 << (_CHARACTERS + 1)) - 1
"""One bit for each character of Latin-1, and one for all others."""
_OTHERS = 1 << _CHARACTERS
_REPEATS_AT_MOST = 3
_REPEATS = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


class Cost(enum.Enum):
    """The cost for the worst text. UNKNOWN: the expression is too large to judge."""

    LINEAR = "linear"
    POLYNOMIAL = "polynomial"
    EXPONENTIAL = "exponential"
    UNKNOWN = "unknown"


class Use(enum.Enum):
    """How the expression is used: the whole text, its beginning, or anywhere in it."""

    FULLMATCH = "fullmatch"
    MATCH = "match"
    SEARCH = "search"


def cost_of(pattern: str | bytes, use: Use, flags: int = 0) -> Cost:
    """The cost of an expression. Raises re.error for an invalid one."""
    return _cost_of(pattern, use, flags)


@kept(_KEPT_BYTES)
def _cost_of(pattern: str | bytes, use: Use, flags: int) -> Cost:
    tree = parser.parse(pattern, flags)
    try:
        return _cost(tree, use)
    except (_TooLargeError, RecursionError):
        return Cost.UNKNOWN


def _cost(tree: Any, use: Use) -> Cost:
    automaton = _Positions(tree, tree.state.flags)
    whole = automaton.add_all(tree)
    if use is Use.SEARCH and not _begins_at_the_start(tree):
        skipped = automaton.position(_ALL)
        automaton.follow(skipped, skipped)
        for first in whole.first:
            automaton.follow(skipped, first)
    harmless = set() if use is Use.FULLMATCH or automaton.conditional else set(whole.last)
    return automaton.cost(harmless)


class _TooLargeError(Exception):
    """It has more positions than are looked at."""


class _Part(msgspec.Struct):
    """A part of the expression.

    It holds in how many ways the part reads the empty text, and the positions it begins and ends with.

    Two ways stand for more. A position that is reached in two ways stands twice.
    """

    empty: int
    first: list[int]
    last: list[int]


class _Positions:
    """Every position with the characters it reads, and how many ways lead to each that follows it."""

    def __init__(self, tree: Any, flags: int) -> None:
        self._flags = flags
        self._reads: list[int] = []
        self._follow: list[dict[int, int]] = []
        self._steps_left = STEPS_AT_MOST
        self.conditional = False
        """Whether the end of the expression may refuse a text that was read."""

    def position(self, reads: int) -> int:
        if len(self._reads) >= POSITIONS_AT_MOST:
            raise _TooLargeError
        self._reads.append(reads)
        self._follow.append({})
        return len(self._reads) - 1

    def follow(self, position: int, following: int) -> None:
        self._spend()
        self._follow[position][following] = min(2, self._follow[position].get(following, 0) + 1)

    def _spend(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise _TooLargeError

    # --- building ---------------------------------------------------------------------------------------------------

    def add_all(self, items: Iterable[tuple[Any, Any]]) -> _Part:
        part = _Part(1, [], [])
        for operation, value in items:
            part = self._joined(part, self._add(operation, value))
        return part

    def _joined(self, left: _Part, right: _Part) -> _Part:
        for last in left.last:
            for first in right.first:
                self.follow(last, first)
        return _Part(
            min(2, left.empty * right.empty),
            _twice_at_most(left.first + right.first * left.empty),
            _twice_at_most(right.last + left.last * right.empty),
        )

    def _add(self, operation: Any, value: Any) -> _Part:
        if operation in _REPEATS:
            return self._repeat(*value)
        if operation is sre.SUBPATTERN:
            return self.add_all(value[3])
        if operation is sre.ATOMIC_GROUP:
            return self.add_all(value)
        if operation is sre.BRANCH:
            parts = [self.add_all(choice) for choice in value[1]]
            return _Part(
                min(2, sum(part.empty for part in parts)),
                _twice_at_most([each for part in parts for each in part.first]),
                _twice_at_most([each for part in parts for each in part.last]),
            )
        if operation in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            self.conditional = True
            if operation is not sre.AT:
                self.add_all(value[1])  # not joined: its own loops count, and nothing follows it
            return _Part(1, [], [])
        if operation in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            raise _TooLargeError
        position = self.position(self._characters(operation, value))
        return _Part(0, [position], [position])

    def _repeat(self, least: int, most: Any, items: Any) -> _Part:
        endless = most is sre.MAXREPEAT
        least = min(least, _REPEATS_AT_MOST)
        most = max(least, 1) if endless else min(int(most), _REPEATS_AT_MOST)
        whole, ends = _Part(1, [], []), list[int]()
        for number in range(1, most + 1):
            part = self.add_all(items)
            if endless and number == most:
                for last in part.last:
                    for first in part.first:
                        self.follow(last, first)
            whole = self._joined(whole, part)
            if number >= least:
                ends += whole.last
        return _Part(max(whole.empty, least == 0), whole.first, _twice_at_most(ends))

    def _characters(self, operation: Any, value: Any) -> int:
        if operation is sre.LITERAL:
            return self._literal(value)
        if operation is sre.NOT_LITERAL:
            return _ALL & ~self._literal(value) | _OTHERS
        if operation is sre.ANY:
            return _ALL if self._flags & re.DOTALL else _ALL & ~(1 << ord("\n"))
        negated, found = False, 0
        for kind, each in value:
            if kind is sre.NEGATE:
                negated = True
            elif kind is sre.LITERAL:
                found |= self._literal(each)
            elif kind is sre.RANGE:
                for character in range(each[0], min(each[1] + 1, _CHARACTERS)):
                    found |= self._literal(character)
                found |= _OTHERS if each[1] >= _CHARACTERS else 0
            else:
                found |= _category(_CATEGORIES[each], bool(self._flags & re.ASCII))
        return (_ALL & ~found) | _OTHERS if negated else found

    def _literal(self, character: int) -> int:
        if character >= _CHARACTERS:
            return _OTHERS
        if self._flags & re.IGNORECASE:
            letter = chr(character)
            return 1 << character | _bits((letter.lower() + letter.upper()).encode("latin-1", "ignore"))
        return 1 << character

    # --- judging ----------------------------------------------------------------------------------------------------

    def cost(self, harmless: set[int]) -> Cost:
        """`harmless`: positions at which the expression may end, so that it goes back from none of them."""
        edges: list[list[tuple[int, int]]] = [list(each.items()) for each in self._follow]
        loops = self._loops(edges)
        looping = [node for node in range(len(edges)) if node in loops]
        for node in looping:
            if node not in harmless and self._is_exponential(node, edges, loops):
                return Cost.EXPONENTIAL
        for one in looping:
            for other in looping:
                if one != other and other not in harmless and self._is_polynomial(one, other, edges, loops):
                    return Cost.POLYNOMIAL
        return Cost.LINEAR

    def _loops(self, edges: list[list[tuple[int, int]]]) -> dict[int, int]:
        """Position that lies on a loop -> the first position that lies on loops with it."""
        reach: list[set[int]] = []
        for following in edges:
            found: set[int] = set()
            waiting = [to for to, _ in following]
            while waiting:
                self._spend()
                each = waiting.pop()
                if each not in found:
                    found.add(each)
                    waiting += [to for to, _ in edges[each]]
            reach.append(found)
        return {
            node: min(each for each in found if node in reach[each])
            for node, found in enumerate(reach)
            if node in found
        }

    def _is_exponential(self, node: int, edges: list[list[tuple[int, int]]], loops: dict[int, int]) -> bool:
        """Whether two different ways over one text lead from the position back to it."""
        mine, reads = loops[node], self._reads
        seen = {(node, node, False)}
        waiting = [(node, node, False)]
        while waiting:
            left, right, differ = waiting.pop()
            for to_left, ways in edges[left]:
                if loops.get(to_left) != mine:
                    continue
                for to_right, _ in edges[right]:
                    if loops.get(to_right) != mine or not reads[to_left] & reads[to_right]:
                        continue
                    self._spend()
                    apart = differ or to_left != to_right or (left == right and ways > 1)
                    if apart and to_left == to_right == node:
                        return True
                    state = (to_left, to_right, apart)
                    if state not in seen:
                        seen.add(state)
                        waiting.append(state)
        return False

    def _is_polynomial(self, one: int, other: int, edges: list[list[tuple[int, int]]], loops: dict[int, int]) -> bool:
        """Whether one text leads from `one` to itself, from `one` to `other`, and from `other` to itself."""
        reads, first, last = self._reads, loops[one], loops[other]
        seen = {(one, one, other)}
        waiting = [(one, one, other)]
        while waiting:
            at_one, between, at_other = waiting.pop()
            for to_one, _ in edges[at_one]:
                if loops.get(to_one) != first:
                    continue
                for to_other, _ in edges[at_other]:
                    both = reads[to_one] & reads[to_other]
                    if loops.get(to_other) != last or not both:
                        continue
                    for to_between, _ in edges[between]:
                        self._spend()
                        state = (to_one, to_between, to_other)
                        if reads[to_between] & both and state not in seen:
                            if state == (one, other, other):
                                return True
                            seen.add(state)
                            waiting.append(state)
        return False


def _twice_at_most(positions: list[int]) -> list[int]:
    return [each for each, ways in Counter(positions).items() for _ in range(min(ways, 2))]


def _begins_at_the_start(tree: Any) -> bool:
    return bool(len(tree)) and tree[0][0] is sre.AT and tree[0][1] in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)


@lru_cache
def _category(expression: str, ascii_only: bool) -> int:
    found = re.compile(expression, re.ASCII if ascii_only else 0)
    bits = sum(1 << number for number in range(_CHARACTERS) if found.match(chr(number)))
    return bits | (_OTHERS if not ascii_only or expression[1].isupper() else 0)


def _bits(characters: Iterable[int]) -> int:
    bits = 0
    for each in characters:
        bits |= 1 << each
    return bits


def uses_of(methods: Iterable[str]) -> Iterator[Use]:
    """The ways in which methods of an expression use it, `fullmatch`, `sub` and so on."""
    for method in methods:
        yield {"fullmatch": Use.FULLMATCH, "match": Use.MATCH}.get(method, Use.SEARCH)
