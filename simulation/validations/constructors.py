"""Constructors in CEL: `Object{...}`, `Object.spec{...}` and `JSONPatch{...}` of mutating policies.

The library knows constructors of protobuf messages only. So each becomes a call with a map: `Object.spec{a: 1}` becomes
`part__("Object.spec", {"a":1})`, and `child.py` has these functions. A fault of the compiler is told of the expression
as it was written. Pure.

Kubernetes' types are those of `k8s.io/apiserver/pkg/cel/mutation`: an object has any fields, whose types are not
checked; a `JSONPatch` has `op`, `path`, `from` and `value`.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Collection, Iterator

import msgspec

_TOKENS = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]*)
    | (?P<text> [bB]?[rR][bB]? (?: \"{3}.*?(?:\"{3}|\Z) | '{3}.*?(?:'{3}|\Z) | "[^"\n]*"? | '[^'\n]*'?)
              | \"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z) | '{3}(?:\\.|[^\\])*?(?:'{3}|\Z)
              | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'?)
    | (?P<name> [A-Za-z_]\w*)
    | (?P<mark> .)
    """,
    re.DOTALL | re.VERBOSE,
)
"""A text that is not closed matches from its first quote on, so that none is read twice."""
_OBJECT, _PATCH = "Object", "JSONPatch"
_TEXT_FIELDS = frozenset({"op", "path", "from"})
_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_UNKNOWN = re.compile(r"undeclared reference to '([\w.]+)' \(in container ''\)")
_OF_NAMES = string.ascii_letters + string.digits + "_"
_NULLS = re.compile(r"\bnull_type\b")
_OF_FIELD = re.compile(r"found no matching overload for 'field__(\w+)' applied to '\((.*)\)'")


class Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    at: int


class Plain(msgspec.Struct, frozen=True):
    """An expression without constructors.

    `places`: where a piece begins in the expression as it was written, for the beginnings `starts` in `text`.
    """

    text: str
    written: str
    starts: tuple[int, ...] = (0,)
    places: tuple[int, ...] = (0,)

    def told(self, faults: str, declared: Collection[str]) -> str:
        """What the compiler says, of the expression as it was written and in the words of Go's compiler.

        `declared`: the variables whose fields are declared.
        """
        lines, told = self.text.split("\n"), []
        for found in _FAULT.finditer(faults):
            line, column, why = int(found[1]), int(found[2]), found[3]
            at = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
            told.append(self._fault(*self._in_go(self._written_at(at), why, declared)))
        return "\n".join(told) or faults

    def _written_at(self, at: int) -> int:
        """The place in the expression as it was written."""
        if self.text == self.written:
            return at
        nearest = max(bisect_right(self.starts, at) - 1, 0)
        start, place = self.starts[nearest], self.places[nearest]
        end = self.starts[nearest + 1] if nearest + 1 < len(self.starts) else len(self.text)
        piece = self.text[start:end]
        is_copied = self.written[place : place + len(piece)] == piece
        return place + at - start if is_copied else place

    def _in_go(self, at: int, why: str, declared: Collection[str]) -> tuple[int, str]:
        """The place and the words of Go's compiler."""
        why = _NULLS.sub("null", why)
        if of_field := _OF_FIELD.fullmatch(why):
            name, given = of_field.groups()
            wanted = "string" if name in _TEXT_FIELDS else ""
            name = self._field_before(at) if name == "other" else name
            return at, f"expected type of field '{name}' is '{wanted}' but provided type is '{given}'"
        if unknown := _UNKNOWN.fullmatch(why):
            root, _, fields = unknown[1].partition(".")
            start = at - len(unknown[1].rpartition(".")[0])
            if fields and root in declared:
                return start + len(root), f"undefined field '{fields.partition('.')[0]}'"
            after = self.written[start:].lstrip(_OF_NAMES + ".").lstrip()
            if after.startswith("{"):
                return len(self.written) - len(after), why
            return start, f"undeclared reference to '{root}' (in container '')"
        return at, why

    def _field_before(self, colon: int) -> str:
        before = self.written[:colon].rstrip()
        return before[len(before.rstrip(_OF_NAMES)) :]

    def _fault(self, at: int, why: str) -> str:
        before = self.written[:at]
        line, column = before.count("\n"), at - (before.rfind("\n") + 1)
        shown = self.written.split("\n")[line]
        return f"ERROR: <input>:{line + 1}:{column + 1}: {why}\n | {shown}\n | {'.' * column}^"


def tokens(expression: str) -> Iterator[Token]:
    """The tokens of an expression."""
    for found in _TOKENS.finditer(expression):
        assert found.lastgroup is not None
        yield Token(found.lastgroup, found[0], found.start())


def plain(expression: str) -> Plain:
    """The expression with calls in place of constructors."""
    return _Writer(expression).plain() if "{" in expression else Plain(expression, expression)


class _Level(msgspec.Struct):
    """A bracket that is open. `end`: what is written for its end."""

    end: str
    constructs: str = ""
    """The type that is constructed; else ""."""
    wants_field: bool = False
    """Whether a field comes next."""
    closes: str = ""
    """What ends the value of a field."""


class _Writer:
    def __init__(self, expression: str) -> None:
        self._written = expression
        self._tokens = list(tokens(expression))
        self._pieces: list[str] = []
        self._starts: list[int] = []
        self._places: list[int] = []
        self._length = 0
        self._levels = [_Level("")]

    def plain(self) -> Plain:
        at = 0
        while at < len(self._tokens):
            at = self._step(at)
        return Plain("".join(self._pieces), self._written, tuple(self._starts), tuple(self._places))

    def _write(self, text: str, place: int) -> None:
        self._pieces.append(text)
        self._starts.append(self._length)
        self._places.append(place)
        self._length += len(text)

    def _step(self, at: int) -> int:
        """Write what begins with that token; returns the number of the next one."""
        token, level = self._tokens[at], self._levels[-1]
        if level.wants_field and token.kind == "name":
            return self._field(at, level)
        name, after = self._constructor(at)
        if name:
            call = {_OBJECT: "object__({", _PATCH: "patch__({"}.get(name, f'part__("{name}",{{')
            self._write(call, self._tokens[after - 1].at)
            self._levels.append(_Level("})", name, wants_field=True))
            return after
        text = token.text
        if token.kind == "mark" and text in "([{":
            self._levels.append(_Level({"(": ")", "[": "]", "{": "}"}[text]))
        elif token.kind == "mark" and text in ")]}":
            return self._close(at, level)
        elif level.constructs and text == ",":
            text, level.closes, level.wants_field = level.closes + text, "", True
        self._write(text, token.at)
        return at + 1

    def _close(self, at: int, level: _Level) -> int:
        token = self._tokens[at]
        fits = len(self._levels) > 1 and level.end[0] == token.text
        self._write(level.closes + level.end if fits else token.text, token.at)
        if fits:
            self._levels.pop()
        return at + 1

    def _field(self, at: int, level: _Level) -> int:
        """Write the name of a field, and its colon."""
        token, colon = self._tokens[at], self._after(at + 1)
        level.wants_field = False
        if colon >= len(self._tokens) or self._tokens[colon].text != ":":
            self._write(token.text, token.at)
            return at + 1
        self._write(f'"{token.text}"', token.at)
        place = self._tokens[colon].at
        self._write(":", place)
        if level.constructs == _PATCH and token.text != "value":
            self._write(f"field__{token.text if token.text in _TEXT_FIELDS else 'other'}(", place)
            level.closes = ")"
        return colon + 1

    def _constructor(self, at: int) -> tuple[str, int]:
        """The type that is constructed here, and the token after its brace; "" if none is."""
        token = self._tokens[at]
        if token.text not in (_OBJECT, _PATCH) or self._before(at) == ".":
            return "", at
        name, here = token.text, self._after(at + 1)
        while here < len(self._tokens) and name.startswith(_OBJECT) and self._tokens[here].text == ".":
            here = self._after(here + 1)
            if here >= len(self._tokens) or self._tokens[here].kind != "name":
                return "", at
            name, here = f"{name}.{self._tokens[here].text}", self._after(here + 1)
        is_opened = here < len(self._tokens) and self._tokens[here].text == "{"
        return (name, here + 1) if is_opened else ("", at)

    def _after(self, at: int) -> int:
        """The first token from there on that means something."""
        while at < len(self._tokens) and self._tokens[at].kind == "space":
            at += 1
        return at

    def _before(self, at: int) -> str:
        while at > 0 and self._tokens[at - 1].kind == "space":
            at -= 1
        return self._tokens[at - 1].text if at > 0 else ""
