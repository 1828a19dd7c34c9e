"""Structs are learned while their module is imported: its decoder is made at the top of the module.

msgspec learns a struct when it is first named to it. A second thread that decodes the same struct meanwhile crashes the
process: it finds a field that has no type yet. The lock of an import keeps other threads out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.lint.rules import Finding, Module

RULE = "decoder-at-import"
FLOORS = ("config", "runtime", "actors")
_PLAIN = frozenset({"dict", "list", "tuple", "set", "frozenset", "str", "bytes", "int", "float", "bool", "Any"})
_WHY = "two threads that decode a struct for the first time crash; make a msgspec.json.Decoder at the top of the module"


def check(module: Module) -> Iterator[Finding]:
    if module.floor not in FLOORS:
        return
    for node in module.nodes:
        if isinstance(node, ast.Call) and any(_is_json_decode(each) for each in (node.func, *node.args)):
            wanted = next((each.value for each in node.keywords if each.arg == "type"), None)
            if wanted is not None and not _is_plain(wanted):
                yield module.finding(node, RULE, _WHY)


def _is_json_decode(node: ast.AST) -> bool:
    """Also where it is handed to `partial`."""
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "msgspec.json.decode"


def _is_plain(wanted: ast.AST) -> bool:
    names = {each.id for each in ast.walk(wanted) if isinstance(each, ast.Name)}
    return names <= _PLAIN
