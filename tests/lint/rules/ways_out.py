"""Each way out to people has one door, which makes words from outside harmless.

A termination message once set the title of the terminal in which somebody ran `explain`, and an image name forged a
line of the log. Doors call `config/values/harmless_text.py`. So only the door of a way out may print, make a console or
a text for rich, format a record of the log, or escape for HTML. A new command that uses the doors cannot forget it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.lint.rules import Finding, Module, imported_modules, imported_names

RULE = "ways-out"

_PRINT, _STYLE, _LOG, _HTML = (
    "cli/printing.py",
    "cli/styling.py",
    "cli/run/log_lines.py",
    "config/values/harmless_text.py",
)
_SAY = f"say(), complain() and say_json() of {_PRINT} print"
_DRAW = f"console() and shown() of {_STYLE} make what rich draws"
_FORMAT = f"log_as() and log_to() of {_LOG} send the log to a stream"
_ESCAPE = f"harmless_html() of {_HTML} escapes for pages"

CALLS: Mapping[str, tuple[str, frozenset[str]]] = {
    "print": (_SAY, frozenset()),
    "sys.stdout.write": (_SAY, frozenset()),
    "sys.stderr.write": (_SAY, frozenset()),
    "sys.stdout.buffer.write": (_SAY, frozenset()),
    "sys.stderr.buffer.write": (_SAY, frozenset()),
    "sys.stdout.writelines": (_SAY, frozenset()),
    "sys.stderr.writelines": (_SAY, frozenset()),
    "traceback.print_exc": (_SAY, frozenset()),
    "traceback.print_exception": (_SAY, frozenset()),
    "traceback.print_stack": (_SAY, frozenset()),
    "rich.console.Console": (_DRAW, frozenset({_STYLE})),
    "logging.StreamHandler": (_FORMAT, frozenset({_LOG})),
    "logging.FileHandler": (_FORMAT, frozenset({_LOG})),
    "logging.basicConfig": (_FORMAT, frozenset({_LOG})),
    "html.escape": (_ESCAPE, frozenset({_HTML})),
}
"""What is called: what to use instead, and who may call it."""

IMPORTS: Mapping[str, tuple[str, frozenset[str]]] = {
    "rich.text": (_DRAW, frozenset({_STYLE})),
    "rich.markup": (_DRAW, frozenset({_STYLE})),
    "rich.syntax": (_DRAW, frozenset({_STYLE})),
    "rich.markdown": (_DRAW, frozenset({_STYLE})),
    "rich.pretty": (_DRAW, frozenset({_STYLE})),
    "rich.logging": (_FORMAT, frozenset({_LOG})),
    "rich.traceback": (_SAY, frozenset({_PRINT})),
}

ALLOWED: Mapping[tuple[str, str], str] = {
    ("simulation/validations/child.py", "print"): "JSON for its parent, in a pipe",
}
"""(file, name): the reason."""

_FLOORS = ("config", "runtime", "actors", "simulation", "cli", "actorlet")


def check(module: Module) -> Iterator[Finding]:
    if module.floor not in _FLOORS:
        return
    for statement, name in imported_modules(module):
        yield from _judge(module, statement, name, IMPORTS)
    names = {name: f"{origin}.{name}" if origin else name for origin, taken in imported_names(module) for name in taken}
    names |= {alias: alias for alias, taken in imported_names(module) if not taken}
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == "print":  # called, or handed on
            yield from _judge(module, node, "print", CALLS)
        elif isinstance(node, ast.Call):
            first, dot, rest = ast.unparse(node.func).partition(".")
            if first != "print":
                yield from _judge(module, node, f"{names.get(first, first)}{dot}{rest}", CALLS)


def _judge(
    module: Module, node: ast.AST, name: str, table: Mapping[str, tuple[str, frozenset[str]]]
) -> Iterator[Finding]:
    instead, doors = table.get(name, ("", frozenset()))
    path = str(module.path)
    if instead and path not in doors and (path, name) not in ALLOWED:
        yield module.finding(node, RULE, f"{name} lets words from outside through as they are; {instead}")
