"""The project's own lint rules: `python -m tests.lint.rules [PATH...]`, or `tox -e lint`.

Each rule is a function from one parsed file to findings, in a file of its own that says why it exists. Rules read the
syntax tree only: they import nothing of the project and know nothing but names. A rule that cries wolf is worse than
one that misses something, so each keeps to what the tree says for sure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

MADE_BY_TOOLS = (
    *("runtime/cri/v1/", "runtime/probes/health_v1/", "runtime/csi/v1/", "runtime/plugin_registration/v1/"),
    *("runtime/pod_resources/v1/", "runtime/pod_resources/v1alpha1/"),
    "runtime/device_plugins/v1beta1/",
    *("runtime/dra/v1/", "runtime/dra/v1alpha1/"),
)
"""Nobody writes these by hand, so nobody has to mend them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach, printed as `file:line rule: why`."""

    path: str
    line: int
    rule: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.rule}: {self.why}"


@dataclass(frozen=True, slots=True)
class Module:
    """One file; `path` is relative to the root of the repository."""

    path: PurePosixPath
    tree: ast.Module
    text: str = field(default="", repr=False, compare=False)
    """The source, for rules about comments."""
    nodes: tuple[ast.AST, ...] = field(init=False, repr=False, compare=False)
    """Those of the tree, in the order of `ast.walk`: for rules that look at each."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(ast.walk(self.tree)))

    @property
    def floor(self) -> str:
        """The top folder."""
        return self.path.parts[0]

    @property
    def name(self) -> str:
        """As it is imported: `actors.pod.worker`; a package by its own name."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def finding(self, node: ast.AST, rule: str, why: str) -> Finding:
        return Finding(str(self.path), getattr(node, "lineno", 1), rule, why)


Rule = Callable[[Module], Iterable[Finding]]
TreeRule = Callable[[Iterable[Module]], Iterable[Finding]]


def all_rules() -> tuple[Rule, ...]:
    """In the order of their findings."""
    from tests.lint.rules import (
        caches,
        citations,
        clock,
        decoders,
        files,
        floors,
        kernel_words,
        messages,
        names,
        private_names,
        programs,
        prose,
        rooms,
        sets,
        shared_work,
        sleeping,
        ways_out,
    )

    return (
        names.check,
        floors.check,
        rooms.check,
        kernel_words.check,
        clock.check,
        caches.check,
        decoders.check,
        sets.check,
        shared_work.check,
        sleeping.check,
        messages.check,
        private_names.check,
        programs.check,
        files.check,
        ways_out.check,
        prose.check,
        citations.check,
    )


def all_tree_rules() -> tuple[TreeRule, ...]:
    """Rules that need every module at once."""
    from tests.lint.rules import cycles, rooms, shared_work

    return (rooms.check_all_have_a_place, cycles.check, shared_work.check_allowed)


def check_source(path: str, source: str, rules: Iterable[Rule] | None = None) -> list[Finding]:
    """Every finding in one file, by line."""
    module = _read(path, source)
    return [module] if isinstance(module, Finding) else check_module(module, rules)


def check_module(module: Module, rules: Iterable[Rule] | None = None) -> list[Finding]:
    """Every finding in one module, by line."""
    found = [finding for rule in rules or all_rules() for finding in rule(module)]
    return sorted(found, key=lambda finding: finding.line)


def _read(path: str, source: str) -> Module | Finding:
    """The module, or what is wrong with its syntax."""
    try:
        return Module(PurePosixPath(path), ast.parse(source), source)
    except SyntaxError as error:
        return Finding(path, error.lineno or 1, "syntax", f"it cannot be read: {error.msg}")


def check_tree(root: Path, folders: Iterable[str]) -> Iterator[Finding]:
    """Every finding below the folders, in the order of the paths; then those of the tree as a whole."""
    modules = []
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if not path.startswith(MADE_BY_TOOLS):
                module = _read(path, file.read_text(encoding="utf-8"))
                if isinstance(module, Finding):
                    yield module
                else:
                    yield from check_module(module)
                    modules.append(module)
    for rule in all_tree_rules():
        yield from rule(modules)


def check_pages(root: Path) -> Iterator[Finding]:
    """Every finding in the Markdown at the top and in `docs/`."""
    from tests.lint.rules import citations, prose

    for page in (*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))):
        path, text = page.relative_to(root).as_posix(), page.read_text(encoding="utf-8")
        yield from prose.check_page(path, text)
        yield from citations.check_page(path, text)


def imported_modules(module: Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """(statement, dotted name) of every import, wherever it stands; `from a import b` gives `a` alone.

    An import under `if TYPE_CHECKING` counts: to know a name is to know it.
    """
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node, "." * node.level + (node.module or "")


def imported_names(module: Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(module, names taken from it) of every import, wherever it stands; no names for `import a.b`."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ()
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module, tuple(alias.name for alias in node.names)
