"""Write beside each fact of `docs/kubelet/` which tests prove it and which code does it.

The facts are written by hand: a paragraph that begins with its number in bold. What begins with `>` is written here.
It comes from the citations in docstrings, in comments and in names of tests: `(spec 2.7.3)` cites a fact, `(spec 2.7)`
a section. Only a test that cites the very fact proves it. The page `untested.md` has the facts that no test cites.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from docs.generators.drawn_page import ROOT, DrawnPage, main_of
from tests.lint.rules.citations import BOOK, cited_numbers, expanded, numbers, numbers_of

CODE = ("config", "runtime", "actors", "simulation", "cli")
NOT_DONE = "*(not done by this agent)*"
NAMED = 4
"""So many tests are named beside a fact; of others only the number is told."""

_Place = TypeVar("_Place", str, tuple[str, str])
_NAME = re.compile(r"^test_(?:spec_)?(\d+)(?:_(\d+))?(?=_|$)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FACT = re.compile(r"^\*\*([\d.]+)\*\* ")


class Cited(msgspec.Struct, frozen=True):
    """By number, what cites it: tests as (file, name of the function or ""), and files of the code."""

    tests: dict[str, tuple[tuple[str, str], ...]]
    code: dict[str, tuple[str, ...]]


@cache
def cited() -> Cited:
    """All citations of the repository."""
    tests: dict[str, set[tuple[str, str]]] = defaultdict(set)
    code: dict[str, set[str]] = defaultdict(set)
    for folder in CODE:
        for path, text in _files(folder, "*.py"):
            for _, citation in cited_numbers(text, ast.parse(text)):
                for number in expanded(citation, numbers()):
                    code[number].add(path)
    for path, text in _files("tests", "test_*.py"):
        for number, name in citations_in_tests(text):
            tests[number].add((path, name))
    return Cited(_sorted(tests), _sorted(code))


def _sorted(found: dict[str, set[_Place]]) -> dict[str, tuple[_Place, ...]]:
    return {number: tuple(sorted(places)) for number, places in found.items()}


def _files(folder: str, pattern: str) -> Iterator[tuple[str, str]]:
    """(path, text) of the files that have a citation, or a name that is one."""
    for file in sorted((ROOT / folder).rglob(pattern)):
        text = file.read_text(encoding="utf-8")
        if re.search(r"spec\s+\d|def test_(spec_)?\d", text):
            yield file.relative_to(ROOT).as_posix(), text


def citations_in_tests(text: str) -> Iterator[tuple[str, str]]:
    """(number, name of the test; "" for the file as a whole) of each citation.

    A comment or docstring belongs to the test that it stands in, and a comment also to the test right below it.
    """
    tree = ast.parse(text)
    lines = text.splitlines()
    spans = [
        (_first_line(node, lines), node.end_lineno or node.lineno, node.name)
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test_")
    ]
    for line, citation in cited_numbers(text, tree):
        name = next((name for first, last, name in spans if first <= line <= last), "")
        yield from ((number, name) for number in expanded(citation, numbers()))
    for _, _, name in spans:
        if (found := _NAME.match(name)) and (number := ".".join(filter(None, found.groups()))) in numbers():
            yield number, name


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> int:
    """That of its decorators, and of the comments above them."""
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


class Fact(msgspec.Struct, frozen=True):
    """`text`: the first sentence."""

    number: str
    text: str
    is_done: bool


def facts() -> list[Fact]:
    """Every fact of the book, in order."""
    return [fact for page in CHAPTERS for fact in _facts_of(page.path.read_text(encoding="utf-8"))]


def _facts_of(page: str) -> Iterator[Fact]:
    for block in page.split("\n\n"):
        if found := _FACT.match(block):
            text = " ".join(block.removeprefix(found[0]).split())
            yield Fact(found[1], text.removeprefix(NOT_DONE).strip(), not text.startswith(NOT_DONE))


def is_proven(fact: Fact) -> bool:
    """Whether a test cites this very fact."""
    return bool(cited().tests.get(fact.number))


class ChapterPage(DrawnPage, frozen=True):
    """One chapter. `name`: the name of its file."""

    name: str

    @property
    def path(self) -> Path:
        return BOOK / self.name

    def text(self) -> str:
        """The page as it is, with new lines about tests and code."""
        blocks = self.path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        written: list[str] = []
        waiting = ""
        for block in blocks:
            if block.startswith(">"):
                continue
            if waiting and not block.startswith("|"):
                written.append(waiting)
                waiting = ""
            written.append(block)
            if block.startswith(("#", "**")) and (found := numbers_of(block)):
                waiting = _beside(found[0], is_fact=block.startswith("**") and NOT_DONE not in block)
        return "\n\n".join([*written, *([waiting] if waiting else [])]) + "\n"


def _beside(number: str, is_fact: bool) -> str:
    """The generated lines below a heading or a fact; empty where there is nothing to say."""
    tests, code = cited().tests.get(number, ()), cited().code.get(number, ())
    lines = []
    if is_fact:
        lines.append(_wrapped("Tests: " + (_named(tests) if tests else "none.")))
    elif tests:
        lines.append(_wrapped("Tests: " + _list(sorted({path for path, _ in tests}))))
    if code:
        lines.append(_wrapped("Code: " + _list(code)))
    return "\n>\n".join(lines)


def _named(tests: Sequence[tuple[str, str]]) -> str:
    """Files with the names of tests."""
    by_file: dict[str, list[str]] = {}
    for path, name in tests[:NAMED]:
        by_file.setdefault(path, []).extend([name] if name else [])
    told = [
        f"`{path}`" + (": " if names else "") + ", ".join(f"`{name}`" for name in names)
        for path, names in by_file.items()
    ]
    more = len(tests) - NAMED
    return "; ".join(told) + (f"; {more} more." if more > 0 else ".")


def _list(paths: Iterable[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths) + "."


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text, 118, initial_indent="> ", subsequent_indent="> ", break_long_words=False, break_on_hyphens=False
    )


UNTESTED_HEAD = """# Facts without a test

`python -m docs.generators.kubelet_book` writes this page. It lists the facts of the book that no test cites, so that
nobody has to take them on trust without knowing it."""


class UntestedPage(DrawnPage, frozen=True):
    @property
    def path(self) -> Path:
        return BOOK / "untested.md"

    def text(self) -> str:
        every = facts()
        done = [fact for fact in every if fact.is_done]
        open_ones = [fact for fact in done if not is_proven(fact)]
        share = 100 * len(open_ones) / len(done)
        return (
            "\n\n".join(
                [
                    UNTESTED_HEAD,
                    f"The book has {len(every)} facts. This agent does {len(done)} of them.\n"
                    f"{len(open_ones)} of these ({share:.1f} %) have no test.",
                    "## Done, and no test cites them",
                    _table(open_ones) if open_ones else "None.",
                    "## Not done by this agent",
                    _table([fact for fact in every if not fact.is_done]),
                ]
            )
            + "\n"
        )


def _table(rows: Iterable[Fact]) -> str:
    return "\n".join(["| fact | |", "|---|---|", *(f"| {fact.number} | {fact.text} |" for fact in rows)])


CHAPTERS = tuple(ChapterPage("kubelet_book", page.name) for page in sorted(BOOK.glob("[0-9]*.md")))
PAGES: tuple[DrawnPage, ...] = (*CHAPTERS, UntestedPage("kubelet_book"))

if __name__ == "__main__":
    sys.exit(main_of(PAGES))
