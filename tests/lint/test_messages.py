"""Lint refuses every message that somebody could change after it was sent."""

from __future__ import annotations

import re

import pytest

from tests.lint.rules import check_source
from tests.lint.rules.messages import FLOORS, ROOT, TRUSTED_FIELDS

HEAD = """
import enum
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar
import msgspec
from actors.kernel import ActorRef, Message, SoleMessage
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.cri.messages import PodSandbox
class Color(enum.Enum): RED = 1
class Point(msgspec.Struct, frozen=True): x: int
class Near(Point): y: str
class Loose(msgspec.Struct): x: int
class Holder(msgspec.Struct, frozen=True): items: list[int]
class Deep(msgspec.Struct, frozen=True): holders: tuple[Holder, ...]
class Tree(msgspec.Struct, frozen=True): below: tuple["Tree", ...]
class Pair(NamedTuple): left: int
class BadPair(NamedTuple): left: set[int]
@dataclass(frozen=True)
class Card: text: str
@dataclass
class Draft: text: str
Bound = TypeVar("Bound", bound=Point)
Free = TypeVar("Free")
Alias = Point | None
BadAlias = Mapping[str, int]
"""


def faults(body: str, path: str = "actors/planted.py") -> list[str]:
    return [finding.why for finding in check_source(path, HEAD + body) if finding.rule == "message"]


@pytest.mark.parametrize(
    "kind",
    [
        *("str", "int", "bytes", "float", "bool", "None", "Color", "ActorRef", "Hashable", "Point", "Near", "Pair"),
        *("Card", "Tree", "Alias", "Bound", "Pod", "PodSandbox", "'Point'", "Literal['a', 'b']", "str | None"),
        *("tuple[int, ...]", "frozenset[Point]", "FrozenMap[str, Point]", "tuple[tuple[str, Color], ...] | None"),
        *("ClassVar[list[int]]", "Annotated[str, [1]]"),
    ],
)
def test_immutable_fields_may_stand(kind: str) -> None:
    assert faults(f"class Told(Message, frozen=True):\n    it: {kind}") == []


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("dict[str, int]", "Told.it: dict is not known to be immutable"),
        ("list[int]", "Told.it: list is not known to be immutable"),
        ("set[int]", "Told.it: set is not known to be immutable"),
        ("Mapping[str, int]", "Told.it: Mapping is not known to be immutable"),
        ("Sequence[int]", "Told.it: Sequence is not known to be immutable"),
        ("Callable[[], None]", "Told.it: Callable is not known to be immutable"),
        ("Any", "Told.it: Any is not known to be immutable"),
        ("Unheard", "Told.it: Unheard is not known to be immutable"),
        ("Free", "Told.it: Free is not known to be immutable"),
        ("'list[int]'", "Told.it: list is not known to be immutable"),
        ("tuple[set[int], ...]", "Told.it: set is not known to be immutable"),
        ("FrozenMap[str, list[int]] | None", "Told.it: list is not known to be immutable"),
        ("BadAlias", "Told.it: Mapping is not known to be immutable"),
        ("Loose", "Told.it > Loose: it is mutable; make it a frozen struct"),
        ("Draft", "Told.it > Draft: it is mutable; make it a frozen struct"),
        ("Deep", "Told.it > Deep.holders > Holder.items: list is not known to be immutable"),
        ("BadPair", "Told.it > BadPair.left: set is not known to be immutable"),
    ],
)
def test_mutable_fields_are_refused_with_the_way_to_them(kind: str, why: str) -> None:
    assert faults(f"class Told(Message, frozen=True):\n    it: {kind}") == [why]


def test_a_sole_message_is_a_message() -> None:
    why = "Look.it: list is not known to be immutable"
    assert faults("class Look(SoleMessage, frozen=True):\n    it: list[int]") == [why]


def test_a_message_that_is_not_frozen_is_refused() -> None:
    assert faults("class Told(Message, frozen=False):\n    it: int") == ["Told: it is mutable; make it a frozen struct"]


def test_fields_of_the_classes_above_a_message_count() -> None:
    above = "class Above(msgspec.Struct, frozen=True):\n    it: list[int]\n"
    assert faults(f"{above}class Told(Message, Above, frozen=True):\n    more: int") == [
        "Above.it: list is not known to be immutable"
    ]


def test_classes_that_are_no_kernel_messages_may_be_mutable() -> None:
    assert faults("class Record(msgspec.Struct):\n    it: dict[str, int]") == []
    assert faults("class Message(msgspec.Struct): ...\nclass Record(Message):\n    it: dict[str, int]") == []


def test_only_decoded_objects_may_have_plain_mappings() -> None:
    kind = "class Kind(msgspec.Struct, frozen=True):\n    it: Mapping[str, str]\n"
    told = "class Told(Message, frozen=True):\n    kind: Kind"
    assert faults(kind + told, "config/objects/planted.py") == []
    assert faults(kind + told) == ["Told.kind > Kind.it: Mapping is not known to be immutable"]


def test_every_exception_names_a_field_that_exists() -> None:
    found = set()
    for path in (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for exception in TRUSTED_FIELDS:
            name, _, field = exception.partition(".")
            if re.search(rf"^class {name}\(", text, re.MULTILINE) and re.search(rf"^    {field}: ", text, re.MULTILINE):
                found.add(exception)
    assert found == set(TRUSTED_FIELDS)
