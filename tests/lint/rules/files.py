"""One way to make directories, to replace a file, to walk and to remove a tree (issue 20).

The usual ways follow links that somebody swaps in, write under names that can be guessed, give directories modes that
nobody asked for, and break on trees that containers write. `runtime/files/` has one of each that does not:
`make_directories`, `write_whole` and `link_whole`, `TreeWalk`, `remove_tree`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.lint.rules import Finding, Module

RULE = "files"
INSTEAD: Mapping[tuple[str, str], str] = {
    ("os", "makedirs"): "make_directories",
    ("os", "replace"): "write_whole",
    ("os", "walk"): "TreeWalk",
    ("os", "fwalk"): "TreeWalk",
    ("shutil", "rmtree"): "remove_tree",
    ("tempfile", "NamedTemporaryFile"): "write_whole",
}
ANY_OBJECT: Mapping[str, str] = {"rglob": "TreeWalk", "write_text": "write_whole", "write_bytes": "write_whole"}

ALLOWED: Mapping[tuple[str, str], str] = {
    ("runtime/api/tls.py", "NamedTemporaryFile"): "a passing file in the system's directory, only for this user",
    ("runtime/cri/protos.py", "NamedTemporaryFile"): "a tool of developers",
    ("runtime/cri/protos.py", "write_text"): "a tool of developers",
    ("runtime/plugin_registration/local.py", "walk"): "only the agent and drivers may write there",
    ("runtime/state/config_files.py", "walk"): "the configuration of the user who starts the agent",
}
"""(file, call): the reason."""

_FLOORS = ("config", "runtime", "actors", "cli")


def check(module: Module) -> Iterator[Finding]:
    if module.floor not in _FLOORS:
        return
    called = {id(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    for node in module.nodes:
        if not isinstance(node, ast.Attribute):
            continue
        whose = node.value.id if isinstance(node.value, ast.Name) else ""
        better = INSTEAD.get((whose, node.attr)) or (ANY_OBJECT.get(node.attr) if id(node) in called else None)
        if better is not None and (str(module.path), node.attr) not in ALLOWED:
            yield module.finding(node, RULE, f"use {better} of runtime/files instead of {node.attr}")
