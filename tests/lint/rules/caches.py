"""Caches of what comes from outside are bounded by bytes: `config/caches.py` makes them.

Who creates pods chooses the texts in them. A cache that counts its entries keeps as many megabytes as somebody writes,
and a table of a module keeps them for ever.

`lru_cache` and `cache` are for functions without arguments, or of types and numbers alone. `cachetools` and tables that
a module fills at run time need a reason here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.lint.rules import Finding, Module

RULE = "cache-by-bytes"
FLOORS = ("config", "runtime", "actors", "simulation", "cli")

ALLOWED: Mapping[tuple[str, str], str] = {
    ("config/caches.py", "cachetools"): "makes the others",
    ("config/pods/once_per_spec.py", "cachetools"): "goes with the specs, which it holds weakly",
    ("runtime/cri/wire.py", "_functions"): "names of our own messages",
    ("runtime/cri/wire.py", "_CODECS"): "types of our own messages",
    ("runtime/metrics/pod_statuses.py", "cachetools"): "UIDs of pods that are here",
    ("runtime/api/settling.py", "cachetools"): "digests",
    ("runtime/http_server/auth/reviews.py", "cachetools"): "counts the bytes of its entries; each has its own time",
    ("runtime/http_server/accepting.py", "_OF_TRANSPORT"): "connections that are open",
    ("actors/kernel/mailbox.py", "nature_of"): "types of messages",
    ("actors/images/provider_cache.py", "cachetools"): "counts the bytes of its entries; each has its own time",
    ("actors/events/recorder.py", "cachetools"): "names of namespaces that exist",
    ("simulation/apiserver/schemas/published.py", "resolved"): "kinds of our own data",
    ("simulation/apiserver/rules/autoscaling_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/data_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/kind_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/network_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/pod_changes.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/pod_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/pod_spec_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/rules/volume_checks.py", "CHECKS"): "functions of the module",
    ("simulation/apiserver/schemas/go_types.py", "_amounts"): "kinds of our own data",
    ("simulation/apiserver/schemas/go_types.py", "_fields"): "kinds of our own data",
    ("simulation/apiserver/schemas/protobuf.py", "_fields"): "kinds of our own data",
    ("simulation/apiserver/schemas/published.py", "_type"): "kinds of our own data",
    ("simulation/apiserver/documents/openapi.py", "_roots"): "what is served now",
    ("simulation/apiserver/documents/openapi.py", "_index"): "what is served now",
    ("simulation/apiserver/documents/openapi.py", "_all_kinds"): "what is served now",
    ("simulation/cri/state.py", "cachetools"): "UIDs",
    ("simulation/validations/child.py", "lru_cache"): "a process of its own, whose memory is limited",
    ("simulation/greedy/pods.py", "greedy_pod"): "eight pods of a test",
    ("simulation/greedy/recipes.py", "template_of"): "fields of our own types",
    ("simulation/node/effort.py", "cachetools"): "empties the caches of others",
}
"""(file, function, table or library): what bounds it."""

_CACHES = frozenset({"functools.lru_cache", "functools.cache"})
_COUNTS = "QuickCache"
"""Of `config.caches`; it counts entries, as those of cachetools do."""
_PLAIN = frozenset({"int", "bool", "type"})
_TABLES = frozenset({"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
_WHY = "it is bounded by a count and not by bytes; use config.caches.kept or KeptBytes"
_LIBRARY = "tables of cachetools count entries; use config.caches.KeptBytes, or give the reason in this rule"
_TABLE = "a module that fills a table keeps it for ever; use config.caches.KeptBytes, or annotate a constant as Mapping"


def check(module: Module) -> Iterator[Finding]:
    if module.floor in FLOORS:
        for node, name, why in found_in(module):
            if (str(module.path), name) not in ALLOWED:
                yield module.finding(node, RULE, why)


_Found = tuple[ast.AST, str, str]
"""Where, the name in `ALLOWED`, and why it is a finding."""


def found_in(module: Module) -> tuple[_Found, ...]:
    """With those that are allowed."""
    return (*_libraries(module), *_decorated(module), *_tables(module))


def _libraries(module: Module) -> Iterator[_Found]:
    for node in module.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            names = {alias.name for alias in node.names}
            if _COUNTS in names or any(each.partition(".")[0] == "cachetools" for each in modules):
                yield node, "cachetools", _LIBRARY


def _decorated(module: Module) -> Iterator[_Found]:
    """Functions with a cache, and other uses of one."""
    names, decorators = _imported(module), set[int]()
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                cache = decorator.func if isinstance(decorator, ast.Call) else decorator
                decorators.add(id(cache))
                if _dotted(cache, names) in _CACHES and not _is_plain(node):
                    yield node, node.name, _WHY
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in decorators:
            dotted = _dotted(node, names)
            if dotted in _CACHES:
                yield node, dotted.rpartition(".")[2], _WHY


def _tables(module: Module) -> Iterator[_Found]:
    """Names of the module for empty tables, unless an annotation says that one is a constant."""
    for statement in module.tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.AnnAssign) and _name(statement.annotation) in _TABLES:
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_empty_table(statement.value):
            yield from ((statement, each.id, _TABLE) for each in targets if isinstance(each, ast.Name))


def _imported(module: Module) -> dict[str, str]:
    """Name here -> dotted name, for what comes from `functools`."""
    names: dict[str, str] = {}
    for node in module.nodes:
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name == "functools"}
        elif isinstance(node, ast.ImportFrom) and node.module == "functools":
            names |= {alias.asname or alias.name: f"functools.{alias.name}" for alias in node.names}
    return names


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{names.get(node.value.id, '')}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def _is_plain(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether all arguments are types and numbers."""
    given = function.args
    return (
        given.vararg is None
        and given.kwarg is None
        and all(_name(each.annotation) in _PLAIN for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))
    )


def _name(annotation: ast.expr | None) -> str:
    """`dict` of `dict[str, int]`."""
    inner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""


def _is_empty_table(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List):
        return not value.elts
    return (
        isinstance(value, ast.Call)
        and _name(value.func) in _TABLES
        and (not value.args or _name(value.func) == "defaultdict")
    )
