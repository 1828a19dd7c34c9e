"""Docstrings have short sentences and short first lines; lines of Markdown are short.

Why: a sentence that is read twice costs more than two sentences that are read once. The first line of a docstring is
all that editors and lists of functions show. Short lines of a page make readable diffs.

A docstring is any string that stands alone as a statement: of a module, a class, a function, a field or a constant.
A sentence ends with `.`, `!` or `?` before white space, or with its paragraph or item of a list. A semicolon ends no
sentence. Code between backquotes counts as one word. Tables and indented blocks (examples, pictures) are no prose.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator

from tests.lint.rules import Finding, Module

RULE = "prose"
WORDS_OF_A_SENTENCE = 30
CHARACTERS_OF_A_FIRST_LINE = 100
CHARACTERS_OF_A_PAGE_LINE = 120
_ITEM = re.compile(r"\s*(?:[-*] |\d+\. )")
_CODE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<![.\s]\w)(?<!\be\.g)(?<!\bi\.e)[.!?][)\"']*\s+")
_WORD = re.compile(r"\w")
_TARGET = re.compile(r"\]\([^)]*\)|<?https?://\S+")


def check(module: Module) -> Iterable[Finding]:
    for node, text in docstrings(module):
        lines = inspect.cleandoc(text).splitlines()
        first = len(lines[0]) if lines else 0
        if first > CHARACTERS_OF_A_FIRST_LINE:
            why = f"the first line has {first} characters, {CHARACTERS_OF_A_FIRST_LINE} is the most: summarise in it"
            yield module.finding(node, RULE, why)
        for sentence in sentences(lines):
            if (count := words(sentence)) > WORDS_OF_A_SENTENCE:
                why = f"a sentence has {count} words, {WORDS_OF_A_SENTENCE} is the most: {sentence[:60]}..."
                yield module.finding(node, RULE, why)


def check_page(path: str, text: str) -> Iterator[Finding]:
    """Lines of Markdown that are too long; tables, targets of links, and what a program printed may be."""
    block: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            block = line.strip().removeprefix("```") if block is None else None
        elif block == "" or line.startswith("|"):
            continue
        elif (length := len(_TARGET.sub("]", line))) > CHARACTERS_OF_A_PAGE_LINE:
            why = f"the line has {length} characters; {CHARACTERS_OF_A_PAGE_LINE} is the most"
            yield Finding(path, number, RULE, why)


def docstrings(module: Module) -> Iterator[tuple[ast.Expr, str]]:
    """(statement, text) of each string that stands alone."""
    for node in module.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node, node.value.value


def sentences(lines: Iterable[str]) -> Iterator[str]:
    """Each sentence of a docstring, on one line."""
    for paragraph in _paragraphs(lines):
        yield from filter(None, _END.split(paragraph))


def words(sentence: str) -> int:
    """How many words it has; a dash or an arrow is none."""
    return sum(bool(_WORD.search(word)) for word in _CODE.sub("code", sentence).split())


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Paragraphs and items of lists, each joined to one line."""
    held: list[str] = []
    for line in [*lines, ""]:
        item = bool(_ITEM.match(line))
        if item or not line.strip():
            yield " ".join(held)
            held = []
        if line.startswith("|") or not line.strip():
            continue
        if item or held or not line.startswith((" ", "\t")):
            held.append(line.strip())
