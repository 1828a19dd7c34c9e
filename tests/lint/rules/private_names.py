"""Tests use public names, since a private name of another class is free to change.

A test that uses it would keep it from changing.

A private name belongs to the file that defines it: as a class, function, variable, or attribute of `self`. Tests may
use private names of their own file. `os._exit` and the like of the standard library have no public form: see `ALLOWED`.

The syntax tree has no comments. `method_assign_ignores` reads the text: such an ignore means that a test replaces a
method of an object; a subclass, a recording fake or a public seam says more.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from tests.lint.rules import Finding, Module

RULE = "private-names"
_WHY = "a test may not use {}, which is private to another file; use public behaviour, or make a public seam"
ALLOWED = frozenset({("os", "_exit")})
"""(module, name) of the standard library: documented and for everybody, in spite of their names."""
PATCHES = frozenset({"setattr", "delattr", "getattr", "hasattr"})
"""Functions, and methods of `MonkeyPatch`, that take an object and the name of an attribute."""


def check(module: Module) -> Iterator[Finding]:
    """Every private name of another file that a test uses, by attribute or by text."""
    if module.floor != "tests":
        return
    own = _defined_in(module)
    of_methods = _attributes_of_self(module)
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            if _is_private(node.attr) and node.attr not in own and node not in of_methods and not _is_allowed(node):
                yield module.finding(node, RULE, _WHY.format(ast.unparse(node)))
        elif isinstance(node, ast.Call):
            name = _patched_name(node)
            if name is not None and _is_private(name) and name not in own:
                yield module.finding(node, RULE, _WHY.format(name))


def method_assign_ignores(source: str) -> list[int]:
    """Lines whose comment lets mypy ignore that a method is replaced."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and "type: ignore" in token.string and "method-assign" in token.string
    ]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_allowed(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and (node.value.id, node.attr) in ALLOWED


def _attributes_of_self(module: Module) -> set[ast.AST]:
    """`self.x` and `cls.x` inside classes.

    A function that is put into another class has no `self` of its own.
    """
    classes = (node for node in module.nodes if isinstance(node, ast.ClassDef))
    return {
        node
        for each in classes
        for node in ast.walk(each)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    }


def _patched_name(call: ast.Call) -> str | None:
    """The attribute that `setattr(x, "name", ...)`, or the same with one dotted text, stands for."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if function not in PATCHES:
        return None
    for argument in call.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return argument.value.rpartition(".")[2]
    return None


def _defined_in(module: Module) -> set[str]:
    """Names that this file defines itself."""
    names: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
    return names
