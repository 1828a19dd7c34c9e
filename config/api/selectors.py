"""Label selectors and field selectors: which objects are meant.

Owns the two grammars of queries (`labelSelector=`, `fieldSelector=`) and what matches. A selector is parsed once and
asked often. Parsing can fail: `SelectorError` says what and where. Pure. Selectors do not know objects: they see the
labels, or the fields by dotted path, as plain mappings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from config.objects.selectors import LabelSelector
from config.values.name_rules import Refusal, label_value, qualified_name


class SelectorError(ValueError):
    """A selector that cannot be read: the whole text, where in it, why, and what to do."""

    def __init__(self, where: str, reason: str, hint: str = "") -> None:
        super().__init__(where, reason, hint)
        self.where = where
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}; {self.hint}" if self.hint else f"{self.where}: {self.reason}"


class Operator(StrEnum):
    """The operator of a requirement on a label value. ABOVE and BELOW compare whole numbers."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    ABSENT = "!"
    ABOVE = ">"
    BELOW = "<"


class LabelRequirement(msgspec.Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels fulfil it. NOT_IN is also fulfilled by an absent label."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.ABSENT:
                return value is None
        number = None if value is None else _number(value)
        bound = _number(min(self.values))
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.ABOVE else number < bound

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.ABSENT:
                return f"!{self.key}"
            case Operator.ABOVE | Operator.BELOW:
                return f"{self.key}{self.operator}{min(self.values)}"
        return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"


class LabelQuery(msgspec.Struct, frozen=True):
    """All requirements together; without any it matches everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is meant."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """The same selector in the syntax of queries."""
        return ",".join(map(str, self.requirements))


class FieldRequirement(msgspec.Struct, frozen=True):
    """The field at a dotted path has this value, or (`equal` false) any other."""

    path: str
    value: str
    equal: bool = True

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields fulfil it. An absent field is empty."""
        return (fields.get(self.path, "") == self.value) is self.equal

    def __str__(self) -> str:
        return f"{self.path}{'=' if self.equal else '!='}{escape_field_value(self.value)}"


class FieldQuery(msgspec.Struct, frozen=True):
    """All requirements together; without any it matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """The fields that it needs: what a server has to support."""
        return frozenset(requirement.path for requirement in self.requirements)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is meant."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def exact(self, path: str) -> str | None:
        """The only value that the field at `path` may have, for an index; None when there may be several."""
        for requirement in self.requirements:
            if requirement.path == path and requirement.equal:
                return requirement.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse_label_selector(text: str) -> LabelQuery:
    """The query in `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`.

    Empty matches everything. Raises SelectorError.
    """
    return _LabelReader(text).query()


_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.ABSENT,
}


def label_query(selector: LabelSelector) -> LabelQuery:
    """The query of a LabelSelector in an object. An empty one matches everything. Raises SelectorError."""
    found = []
    for key, value in selector.match_labels.items():
        _check(f"matchLabels {key!r}", qualified_name(key), label_value(value))
        found.append(LabelRequirement(key, Operator.IN, frozenset((value,))))
    for each in selector.match_expressions:
        where, operator = f"matchExpressions {each.key!r}", _OPERATORS.get(each.operator)
        if operator is None:
            raise SelectorError(where, f"{each.operator!r} is not an operator", f"write one of {', '.join(_OPERATORS)}")
        if bool(each.values) is not (operator in (Operator.IN, Operator.NOT_IN)):
            raise SelectorError(where, "In and NotIn need values, Exists and DoesNotExist take none")
        _check(where, qualified_name(each.key), *map(label_value, each.values))
        found.append(LabelRequirement(each.key, operator, frozenset(each.values)))
    return LabelQuery(tuple(sorted(found, key=str)))


def parse_field_selector(text: str) -> FieldQuery:
    """The query in `metadata.name=a,status.phase!=Running`.

    Empty matches everything. Raises SelectorError.

    In a value `\\\\`, `\\,` and `\\=` stand for the character after the backslash.
    """
    found: list[FieldRequirement] = []
    for term in _FIELD_TERM.finditer(text):
        if not term.group():
            continue
        found_operator = _FIELD_OPERATOR.search(term.group())
        if found_operator is None:
            raise SelectorError(_at(text, term.start()), "there is no =, == or !=", "write metadata.name=web")
        path, operator = term.group()[: found_operator.start()], found_operator[0]
        start, value = term.start() + found_operator.end(), term.group()[found_operator.end() :]
        if not path:
            raise SelectorError(_at(text, term.start()), "there is no field before the operator")
        found.append(FieldRequirement(path, _unescaped(text, start, value), operator != "!="))
    return FieldQuery(tuple(found))


def escape_field_value(value: str) -> str:
    """The value as it is written in a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


_FIELD_TERM = re.compile(r"(?:\\.?|[^,\\])*", re.DOTALL)
_FIELD_OPERATOR = re.compile("!=|==|=")
_ESCAPED = frozenset("\\,=")

_TOKEN = re.compile(r"\s*(?:(!=|==|=|!|>|<|,|\(|\))|([^\s!=<>,()]+))")
_NUMBER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_LARGEST = 2**63


def _number(text: str) -> int | None:
    """A whole number of 64 bits, else None."""
    number = int(text) if len(text) < 25 and _NUMBER.fullmatch(text) else None
    return number if number is not None and -_LARGEST <= number < _LARGEST else None


def _check(where: str, *refusals: Refusal) -> None:
    for refusal in refusals:
        if refusal is not None:
            raise SelectorError(where, *refusal)


def _at(text: str, position: int) -> str:
    return f"selector {text!r}, character {position + 1}"


def _unescaped(text: str, start: int, value: str) -> str:
    if not _ESCAPED.intersection(value):
        return value
    plain = ""
    index = 0
    while index < len(value):
        character = value[index]
        if character == "\\":
            index += 1
            character = value[index] if index < len(value) else ""
            if character not in _ESCAPED:
                raise SelectorError(_at(text, start + index - 1), "a backslash escapes nothing", "write it twice")
        elif character == "=":
            raise SelectorError(_at(text, start + index), "a value with an = in it", "write \\= there")
        plain += character
        index += 1
    return plain


class _LabelReader:
    """Reads one label selector from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, bool, int]] = []  # text, whether it is a word, where
        position = 0
        while match := _TOKEN.match(text, position):
            self.tokens.append((match[1] or match[2], match[2] is not None, match.start(match.lastindex or 0)))
            position = match.end()
        self.tokens.append(("", False, len(text)))
        self.index = 0

    def query(self) -> LabelQuery:
        if len(self.tokens) == 1:
            return LabelQuery()
        found = [self.requirement()]
        while self.take(","):
            found.append(self.requirement())
        if self.index < len(self.tokens) - 1:
            raise self.unexpected("a comma or the end", "separate requirements by commas")
        return LabelQuery(tuple(found))

    def requirement(self) -> LabelRequirement:
        if self.take("!"):
            return LabelRequirement(self.key(), Operator.ABSENT)
        key = self.key()
        token, word, _ = self.tokens[self.index]
        if word and token in ("in", "notin"):
            self.index += 1
            return LabelRequirement(key, Operator(token), self.values())
        if token in ("=", "==", "!="):
            self.index += 1
            return LabelRequirement(key, Operator.NOT_IN if token == "!=" else Operator.IN, frozenset((self.value(),)))
        if token in (">", "<"):
            self.index += 1
            value = self.value()
            if _number(value) is None:
                raise SelectorError(
                    self.before(), f"{value!r} is not a whole number", f"{token} compares whole numbers"
                )
            return LabelRequirement(key, Operator(token), frozenset((value,)))
        return LabelRequirement(key, Operator.EXISTS)

    def key(self) -> str:
        token, word, _ = self.tokens[self.index]
        if not word:
            raise self.unexpected("the key of a label")
        self.index += 1
        _check(self.before(), qualified_name(token))
        return token

    def value(self) -> str:
        """A word, or nothing: `a=` asks for the empty value."""
        token, word, _ = self.tokens[self.index]
        if not word:
            return ""
        self.index += 1
        _check(self.before(), label_value(token))
        return token

    def values(self) -> frozenset[str]:
        """`(a,b)`; nothing before or after a comma is the empty value."""
        if not self.take("("):
            raise self.unexpected("(", "write the values like (a,b)")
        found = {self.value()}
        while self.take(","):
            found.add(self.value())
        if not self.take(")"):
            raise self.unexpected("a comma or )", "write the values like (a,b)")
        return frozenset(found)

    def take(self, token: str) -> bool:
        found, word, _ = self.tokens[self.index]
        if word or found != token:
            return False
        self.index += 1
        return True

    def before(self) -> str:
        return _at(self.text, self.tokens[self.index - 1][2])

    def unexpected(self, wanted: str, hint: str = "") -> SelectorError:
        token, _, position = self.tokens[self.index]
        what = f"{token!r}" if token else "the end"
        return SelectorError(_at(self.text, position), f"{what} where {wanted} is expected", hint)
