"""Messages are immutable through and through, so two actors can never change what both of them hold.

The rule starts at every class that descends from the kernel's `Message`, and follows the types of its fields over all
floors. A field may be a plain value, an enum, a tuple, a frozenset, a `FrozenMap`, or a reference to an actor. It may
be a frozen struct, dataclass or named tuple whose own fields keep the rule. `TRUSTED` and `TRUSTED_FIELDS` list every
exception with its reason. Names are resolved through the imports of each file; nothing of the project is imported.

The rule sees declared types only: a field of a base class may hold an instance of a subclass that nobody has checked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.lint.rules import Finding, Module

ROOT = Path(__file__).resolve().parents[3]
FLOORS = frozenset({"config", "runtime", "actors", "simulation", "cli"})

VALUES = frozenset({"str", "bytes", "int", "float", "bool", "None", "datetime", "date", "timedelta", "type"})
HOLDERS = frozenset({"tuple", "frozenset", "FrozenMap", "Literal", "ClassVar", "Final", "type"})
"""Generic types that are immutable when their arguments are."""
ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})

DECODED = ("config/objects/", "runtime/cri/")
"""Objects of the API and of the CRI may have `Mapping` fields.

The decoder fills each with a new dict that nobody else holds, and mypy lets nobody write to a `Mapping`. A `FrozenMap`
there would cost every decoded pod a tenth more.
"""

TRUSTED: dict[str, str] = {
    "ActorRef": "an address: its holder can only send",
    "Hashable": "the asker's own tag: who answers only gives it back",
    "BaseException": "why something failed: nobody changes an exception that was raised",
    "ApiError": "an exception, as above",
    "UnknownFields": "refuses every change itself; a struct would be written by the encoder that must ask about it",
}
"""Types that the rule does not look into, by name, with the reason."""

TRUSTED_FIELDS: dict[str, str] = {
    "EffectEnded.pending": "the actor's own effect, which has ended",
    "EffectEnded.then": "a function that makes the actor's own message",
    "MachineHeld.hold": "the lock on the machine's shutdown, which a lane made for this actor alone",
    "ManagedFieldsEntry.fields_v1": "plain JSON that nothing here reads",
}
"""Fields that the rule does not look at, as `Class.field`, with the reason."""


class Definition(NamedTuple):
    """What a name stands for: a class, or the right side of an assignment, and the module that says so."""

    module: Names
    node: ast.ClassDef | ast.expr


class Names:
    """What the top level of one module defines and imports, by name."""

    def __init__(self, path: PurePosixPath, tree: ast.Module) -> None:
        self.path = path
        self.faultless: set[str] = set()
        """Classes that were looked at before and keep the rule: most messages carry the same few objects."""
        self.defined: dict[str, ast.ClassDef | ast.expr] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.stars: list[str] = []
        """Modules of which all names are imported."""
        for node in _top_level(tree):
            if isinstance(node, ast.ClassDef):
                self.defined[node.name] = node
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(node.module)
                    else:
                        self.imported[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                    if isinstance(target, ast.Name):
                        self.defined[target.id] = node.value

    def find(self, name: str) -> Definition | None:
        """The definition behind a name, in whichever file it stands. None outside this repository."""
        if name in self.defined:
            return Definition(self, self.defined[name])
        named = self.imported.get(name)
        for module, original in [named] if named is not None else [(star, name) for star in self.stars]:
            other = names_in(module) if module.partition(".")[0] in FLOORS else None
            found = None if other is None else other.find(original)
            if found is not None:
                return found
        return None


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.If):  # `if TYPE_CHECKING`
            yield from node.body


@cache
def names_in(module: str) -> Names | None:
    base = Path(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if (ROOT / path).is_file():
            return Names(PurePosixPath(path), ast.parse((ROOT / path).read_text(encoding="utf-8")))
    return None


def check(module: Module) -> Iterable[Finding]:
    if module.floor not in FLOORS:
        return
    names = Names(module.path, module.tree)
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and _is_message(names, node):
            for where, why in faults_of_class(names, node, frozenset()):
                yield module.finding(node, "message", f"{where}: {why}")


def _is_message(names: Names, node: ast.ClassDef) -> bool:
    above = [found for name, found in bases(names, node) if name == "Message" and found is not None]
    return any(home.path.is_relative_to("actors/kernel") for home, _ in above)


Fault = tuple[str, str]
"""The way from the message to the type, and what is wrong with it."""


def faults_of_class(names: Names, node: ast.ClassDef, above: frozenset[str]) -> Iterator[Fault]:
    """The faults of a class that claims to be immutable, and of those it is made of."""
    if node.name in above or node.name in names.faultless:
        return  # a type that contains itself, or one that was looked at before
    faults = list(_faults_inside(names, node, above))
    if not faults:
        names.faultless.add(node.name)
    yield from faults


def _faults_inside(names: Names, node: ast.ClassDef, above: frozenset[str]) -> Iterator[Fault]:
    base_names = {name for name, _ in bases(names, node)}
    if base_names & ENUMS:
        return
    if not _is_frozen(names, node) and "NamedTuple" not in base_names:
        yield node.name, "it is mutable; make it a frozen struct"
        return
    own = [(names, node), *(found for _, found in bases(names, node) if found is not None)]
    for home, each in own:
        for field in each.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                where = f"{each.name}.{field.target.id}"
                if where not in TRUSTED_FIELDS and _name_of(_head(field.annotation)) != "ClassVar":
                    for inner, why in faults_of_type(home, field.annotation, above | {node.name}):
                        yield f"{where} > {inner}" if inner else where, why


def faults_of_type(names: Names, annotation: ast.expr, above: frozenset[str]) -> Iterator[Fault]:
    """What is wrong with an annotation, as `names` understands it."""
    match annotation:
        case ast.Constant(value=str() as text):
            yield from faults_of_type(names, ast.parse(text, mode="eval").body, above)
        case ast.Constant():
            return  # None, `...`, or a value of a Literal
        case ast.BinOp(left=left, right=right):
            yield from faults_of_type(names, left, above)
            yield from faults_of_type(names, right, above)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from faults_of_type(names, part, above)
        case ast.Subscript(value=head, slice=arguments):
            name = _name_of(head)
            if name == "Annotated" and isinstance(arguments, ast.Tuple):
                yield from faults_of_type(names, arguments.elts[0], above)
            elif name not in HOLDERS:
                yield from faults_of_type(names, head, above)
            elif name != "Literal":
                yield from faults_of_type(names, arguments, above)
        case _:
            yield from _faults_of_name(names, annotation, above)


def _faults_of_name(names: Names, annotation: ast.expr, above: frozenset[str]) -> Iterator[Fault]:
    name = _name_of(annotation)
    if name in VALUES or name in TRUSTED:
        return
    if name == "Mapping" and str(names.path).startswith(DECODED):
        return
    found = names.find(name) if isinstance(annotation, ast.Name) else None
    if found is None:
        yield "", f"{ast.unparse(annotation)} is not known to be immutable"
    elif isinstance(found.node, ast.ClassDef):
        yield from faults_of_class(found.module, found.node, above)
    elif isinstance(found.node, ast.Call):  # a type variable is as good as its bound
        bounds = [keyword.value for keyword in found.node.keywords if keyword.arg == "bound"]
        if not bounds:
            yield "", f"{name} is not known to be immutable"
        for bound in bounds:
            yield from faults_of_type(found.module, bound, above)
    else:
        yield from faults_of_type(found.module, found.node, above)


def bases(names: Names, node: ast.ClassDef) -> Iterator[tuple[str, tuple[Names, ast.ClassDef] | None]]:
    """The name of every class above, with its definition where it is ours."""
    for base in node.bases:
        head = _head(base)
        found = names.find(head.id) if isinstance(head, ast.Name) else None
        if found is not None and isinstance(found.node, ast.ClassDef) and found.node is not node:
            yield found.node.name, (found.module, found.node)
            yield from bases(found.module, found.node)
        else:
            yield _name_of(head), None


def _is_frozen(names: Names, node: ast.ClassDef) -> bool:
    """A struct takes `frozen` from the classes above it; a dataclass says it in its decorator."""
    decorators = [each for each in node.decorator_list if isinstance(each, ast.Call)]
    said = [*node.keywords, *(word for call in decorators for word in call.keywords)]
    for keyword in said:
        if keyword.arg == "frozen":
            return isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    above = [found for _, found in bases(names, node) if found is not None]
    return any(_is_frozen(*found) for found in above)


def _head(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
