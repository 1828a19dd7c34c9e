"""A citation of the book of the kubelet names a number that the book has.

Why: `docs/kubelet/` says fact by fact what a kubelet does. Docstrings, comments and pages cite it:
`(spec 5)` is a chapter, `(spec 2.7)` a section, `(spec 2.7.3)` a fact. A number that does not exist leads nowhere.

`docs.generators.kubelet_book` reads the same citations, and names tests and code beside each fact.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from tests.lint.rules import Finding, Module

RULE = "citation"
BOOK = Path(__file__).resolve().parents[3] / "docs" / "kubelet"
_NUMBER = r"\d+(?:\.\d+)*"
_CITATION = re.compile(rf"\bspec\s+({_NUMBER}(?:(?:,|\s+and|\s+to)\s+{_NUMBER})*)")
_PART = re.compile(rf"(to\s+)?({_NUMBER})")
_FACT = re.compile(rf"^(?:\*\*|#{{1,2}} )({_NUMBER})\b", re.MULTILINE)


@cache
def numbers() -> tuple[str, ...]:
    """Every chapter, section and fact of the book, in order."""
    pages = (page.read_text(encoding="utf-8") for page in BOOK.glob("[0-9]*.md"))
    return tuple(sorted({number for page in pages for number in numbers_of(page)}, key=place))


def numbers_of(page: str) -> list[str]:
    """The numbers of one page: of its title, its headings, and its facts."""
    return _FACT.findall(page)


def place(number: str) -> tuple[int, ...]:
    """What numbers are sorted by: 2.10 comes after 2.9."""
    return tuple(int(part) for part in number.split("."))


def check(module: Module) -> Iterator[Finding]:
    for line, cited in cited_numbers(module.text, module.tree):
        yield from _unknown(str(module.path), line, cited)


def check_page(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), start=1):
        for citation in _CITATION.findall(line):
            yield from _unknown(path, number, citation)


def _unknown(path: str, line: int, citation: str) -> Iterator[Finding]:
    for _, number in _PART.findall(citation):
        if number not in numbers():
            yield Finding(path, line, RULE, f"docs/kubelet/ has no {number}: cite a number that is there")


def cited_numbers(text: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what follows `spec`) of each citation in a docstring or a comment of a Python file."""
    if _CITATION.search(text) is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for found in _CITATION.finditer(node.value.value):
                yield node.lineno + node.value.value.count("\n", 0, found.start()), found[1]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            for found in _CITATION.finditer(token.string):
                yield token.start[0], found[1]


def expanded(citation: str, known: Collection[str]) -> Iterator[str]:
    """The numbers of a citation; `4.1 to 4.4` stands for all of that depth between the two."""
    before = ""
    for to, number in _PART.findall(citation):
        if to and before:
            depth, low, high = number.count("."), place(before), place(number)
            yield from (each for each in known if each.count(".") == depth and low < place(each) < high)
        yield number
        before = number
