"""No word of pods in the kernel and below it (design, "The kernel"): they are libraries of their own.

Looks at names and at texts that a user may see. Docstrings and comments may draw a picture with pods in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.lint.rules import Finding, Module

RULE = "kernel-words"
_WORDS = re.compile(r"pods?|containers?|kubelets?|kubernetes|sandbox(es)?|cri", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def check(module: Module) -> Iterator[Finding]:
    if module.path.parts[:2] not in (("actors", "kernel"), ("actors", "machines")):
        return
    documentation = set(_docstrings(module))
    for node in module.nodes:
        if node in documentation:
            continue
        for text in _names_in(node):
            for word in _PARTS.findall(text):
                if _WORDS.fullmatch(word):
                    yield module.finding(node, RULE, f"{word!r} in {text!r}: the kernel knows no pods, only actors")


def _names_in(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "arg", "name", "asname"):
        if isinstance(text := getattr(node, field, None), str):
            yield text
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _docstrings(module: Module) -> Iterator[ast.AST]:
    """Texts that stand alone: docstrings, and the remarks under constants and fields."""
    for node in module.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value
