"""Every regular expression of the floors takes linear time, or says why it need not.

`"$(" * 75000` in a pod once held the interpreter for a minute. `tests.expressions` judges an expression by its
structure, so no text has to be found that is slow.
"""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from simulation.apiserver.rules import spelling
from simulation.apiserver.schemas.formats import EXPRESSIONS
from tests.expressions import Cost, cost_of, uses_of

ROOT = Path(__file__).parents[2]
FLOORS = ("config", "runtime", "actors", "simulation", "cli", "actorlet")
METHODS = frozenset({"match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})

ALLOWED: Mapping[tuple[str, str], str] = {
    ("actors/model/expansion.py", "_REFERENCE"): "the text ends with the last `)`, so each `$(` finds one",
    ("config/values/quantity.py", "_FORM"): "a quantity has at most 128 characters",
    ("runtime/logs/reader.py", "_rotated"): "an escaped file name before a constant, for names of files",
    ("simulation/apiserver/rules/checks.py", "domain_prefixed_path"): "a constant above it, of one class of characters",
    ("simulation/apiserver/rules/spelling.py", "_matching"): "constants of the module, which a test below judges",
    ("simulation/apiserver/rules/spelling.py", "label"): "one of those constants",
    ("simulation/apiserver/schemas/go_types.py", "_time"): "the parts of a layout, of a few digits each",
    ("simulation/apiserver/schemas/formats.py", "_matches"): "constants of the module, which a test below judges",
    ("simulation/validations/child.py", "_find"): "of a rule, in a process whose CPU time is limited",
    ("simulation/validations/child.py", "_find_all"): "of a rule, in a process whose CPU time is limited",
    ("simulation/validations/child.py", "_checked"): "of a rule, in a process whose CPU time is limited",
    ("simulation/validations/child.py", "_named"): "of a type, in a process whose CPU time is limited",
    (
        "simulation/validations/constructors.py",
        "_TOKENS",
    ): "a text matches from its first quote on",
    ("simulation/apiserver/schemas/json_paths.py", "_STEP"): "a JSONPath has at most 1000 characters",
    ("simulation/greedy/recipes.py", "_ASSIGNED"): "hints of our own rules",
    ("simulation/validations/rules.py", "_OLD_SELF"): "a string matches from its first quote on, so none is read twice",
}
"""(file, name of the constant or of the function around it): why it may stay."""


class Found(NamedTuple):
    """`pattern` is None where it is no constant."""

    file: str
    line: int
    name: str
    pattern: str | bytes | None
    flags: int
    methods: frozenset[str]


def expressions(file: str, tree: ast.Module) -> Iterator[Found]:
    """Every expression of a module, with the methods that it is used by."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)

    def search(node: ast.AST, name: str) -> Iterator[Found]:
        for child in ast.iter_child_nodes(node):
            inside = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = child.name
            elif isinstance(child, ast.Assign) and not name and isinstance(child.targets[0], ast.Name):
                inside = child.targets[0].id
            if isinstance(child, ast.Call) and (method := _of_re(child.func)):
                methods = used.get(inside, set()) & METHODS if method == "compile" else {method}
                yield Found(file, child.lineno, inside, _constant(child.args[0]), _flags(child), frozenset(methods))
            yield from search(child, inside)

    return search(tree, "")


def _of_re(called: ast.expr) -> str:
    """The function of `re` that is called; empty when it is another one."""
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
        return called.attr if called.attr in METHODS | {"compile"} else ""
    return ""


def _constant(argument: ast.expr) -> str | bytes | None:
    try:
        value = ast.literal_eval(argument)
    except ValueError:
        return None
    return value if isinstance(value, str | bytes) else None


def _flags(call: ast.Call) -> int:
    parts = [*call.args[1:], *(each.value for each in call.keywords)]
    named = [each.attr for part in parts for each in ast.walk(part) if isinstance(each, ast.Attribute)]
    return sum(int(getattr(re, name)) for name in named if isinstance(getattr(re, name, None), re.RegexFlag))


def in_floors() -> list[Found]:
    files = [file for floor in FLOORS for file in sorted((ROOT / floor).rglob("*.py"))]
    return [
        found for file in files for found in expressions(file.relative_to(ROOT).as_posix(), ast.parse(file.read_text()))
    ]


def verdict(found: Found) -> str:
    """What is wrong with it, else an empty text."""
    if found.pattern is None:
        return "made at run time"
    costs = {cost_of(found.pattern, use, found.flags) for use in uses_of(found.methods or {"search"})}
    return ", ".join(sorted(cost.value for cost in costs - {Cost.LINEAR}))


def test_every_expression_is_linear_or_has_a_reason() -> None:
    found = in_floors()
    assert len(found) > 50, "the search finds them"
    wrong = {(each.file, each.name): f"line {each.line}: {why}" for each in found if (why := verdict(each))}
    assert {place: why for place, why in wrong.items() if place not in ALLOWED} == {}
    assert ALLOWED.keys() - wrong.keys() == set(), "these are linear by now, or gone"


def test_every_format_of_custom_objects_is_linear() -> None:
    for pattern in EXPRESSIONS.values():
        assert {cost_of(pattern, use, re.ASCII) for use in uses_of({"fullmatch"})} == {Cost.LINEAR}, pattern


def test_every_form_of_names_of_built_in_objects_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    compile_one = re.compile

    def record(pattern: str, *flags: int) -> re.Pattern[str]:
        made.append(pattern)
        return compile_one(pattern, *flags)

    with monkeypatch.context() as patched:
        patched.setattr(re, "compile", record)
        runpy.run_path(spelling.__file__)
    assert len(made) > 5
    for pattern in made:
        assert {cost_of(pattern, use, re.ASCII) for use in uses_of({"fullmatch"})} == {Cost.LINEAR}, pattern


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('A = re.compile(r"(a+)+b")\nA.match(x)', ["exponential"]),
        ('A = re.compile("a*b")\nA.search(x)', ["polynomial"]),
        ('A = re.compile("a*b")\nA.fullmatch(x)', [""]),
        ('def f(x):\n    re.sub(r"\\s+$", "", x)', ["polynomial"]),
        ("def f(x):\n    return re.compile(x)", ["made at run time"]),
        ('A = re.compile(".*;.*!", re.DOTALL)\nA.match(x)', ["polynomial"]),
        ('A = re.compile("[^;]*;[^!]*!")\nA.match(x)', [""]),
    ],
)
def test_a_slow_expression_is_found(source: str, expected: list[str]) -> None:
    assert [verdict(each) for each in expressions("runtime/x.py", ast.parse(source))] == expected
