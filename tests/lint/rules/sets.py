"""Nothing depends on the order of a set, which differs between processes.

See design, kernel, point 8.

Finds loops, comprehensions and sequences made directly from what is a set for sure. That is a set display, a call of
`set` or `frozenset`, or an operation on those. A name is one if its annotation says so, or its only kind of assignment
in the same function; a `self.name` if it is annotated. An assignment may be one of several at once, as in
`due, self.due = self.due, set()`. `sorted(...)` is fine, and whatever gives no order away: `len`, `any`, `sum`, another
set.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator

from tests.lint.rules import Finding, Module

RULE = "set-order"
_SET_CALLS = frozenset({"set", "frozenset"})
_SET_ANNOTATIONS = frozenset({"set", "frozenset", "Set", "AbstractSet", "MutableSet"})
_KEEP_ORDER = frozenset({"list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "dict"})
_FREE_OF_ORDER = frozenset({"sorted", "set", "frozenset", "any", "all", "sum", "min", "max", "len"})
_SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NOT_CHECKED = ("tests", "benchmarks", "cli")


def check(module: Module) -> Iterator[Finding]:
    if module.floor in _NOT_CHECKED or module.path.parts[:2] == ("actors", "kernel"):
        return
    yield from _scope(module, module.tree, _attributes(module))


def _scope(module: Module, scope: ast.AST, outer: frozenset[str]) -> Iterator[Finding]:
    """One function (or the module) and, with what it knows, the functions in it."""
    outer -= _bound_in(scope)
    known = outer | _sets_of(scope, outer)
    inside = list(_own_nodes(scope))
    harmless = {
        id(node.args[0])
        for node in inside
        if isinstance(node, ast.Call) and node.args and _called(node) in _FREE_OF_ORDER
    }
    for node in inside:
        for iterated in _iterated(node, harmless):
            if _is_set(iterated, known):
                text = ast.unparse(iterated)
                yield module.finding(iterated, RULE, f"the order of the set {text!r} is chance; write sorted(...)")
    for node in inside:
        if isinstance(node, _FUNCTIONS):
            yield from _scope(module, node, known)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope but those inside of its functions, which are scopes of their own."""
    todo = deque(ast.iter_child_nodes(scope))
    while todo:
        node = todo.popleft()
        yield node
        if not isinstance(node, _FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))


def _iterated(node: ast.AST, harmless: Iterable[int]) -> Iterator[ast.expr]:
    """What `node` goes through in an order that shows."""
    if isinstance(node, ast.For | ast.AsyncFor):
        yield node.iter
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
        if id(node) not in harmless:
            yield from (generator.iter for generator in node.generators)
    elif isinstance(node, ast.Call) and id(node) not in harmless:
        joins = isinstance(node.func, ast.Attribute) and node.func.attr == "join"
        if joins or _called(node) in _KEEP_ORDER:
            yield from node.args
    elif isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
        yield node.value


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_set(node: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        return _called(node) in _SET_CALLS
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS):
        return _is_set(node.left, known) or _is_set(node.right, known)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}" in known
    return isinstance(node, ast.Name) and node.id in known


def _attributes(module: Module) -> frozenset[str]:
    """`self.name` of every attribute that is annotated in this file, and always as a set."""
    sets: set[str] = set()
    others: set[str] = set()
    for node in module.nodes:
        targets: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            targets.append((node.target, node.annotation))
        elif isinstance(node, ast.ClassDef):
            targets += ((part.target, part.annotation) for part in node.body if isinstance(part, ast.AnnAssign))
        for target, annotation in targets:
            name = target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)
            (sets if _says_set(annotation) else others).add(f"self.{name}")
    return frozenset(sets - others)


def _sets_of(scope: ast.AST, outer: frozenset[str]) -> frozenset[str]:
    """Names that are sets in the whole scope. `outer`: those of the scopes around it."""
    sets: set[str] = set()
    others: set[str] = set()
    for name, is_set in _bindings(scope, outer):
        (sets if is_set else others).add(name)
    return frozenset(sets - others)


def _bound_in(scope: ast.AST) -> frozenset[str]:
    return frozenset(name for name, _ in _bindings(scope, frozenset()))


def _bindings(scope: ast.AST, outer: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """(name, whether it is bound to a set for sure)."""
    if isinstance(scope, _FUNCTIONS):
        arguments = scope.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            yield argument.arg, _says_set(argument.annotation)
    annotated: set[str] = set()
    for node in _own_nodes(scope):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotated.add(node.target.id)
            yield node.target.id, _says_set(node.annotation)
        elif isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                if isinstance(target, ast.Name) and target.id not in annotated:
                    yield target.id, _is_set(value, outer)
                elif isinstance(target, ast.Tuple | ast.List):
                    yield from ((name.id, False) for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from ((name.id, False) for name in ast.walk(node.target) if isinstance(name, ast.Name))


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(target, its value); several of each at once are taken apart where they stand side by side."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            parts = (*target.elts, *node.value.elts)
            if len(target.elts) == len(node.value.elts) and not any(isinstance(part, ast.Starred) for part in parts):
                yield from zip(target.elts, node.value.elts, strict=True)
                continue
        yield target, node.value


def _says_set(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Attribute):
        return annotation.attr in _SET_ANNOTATIONS
    return isinstance(annotation, ast.Name) and annotation.id in _SET_ANNOTATIONS
