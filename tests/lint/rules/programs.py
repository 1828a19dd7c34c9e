"""Programs of the host get their operands after `--`.

So no word of a pod is read as an option.

`nfs.server: "--fstab=..."` once became an option of mount(8). So every call that starts a program stands in a function
with the word `"--"`, or has its place and reason in `ALLOWED`. `runtime.volumes.commands.HostCommand` is the usual way:
it puts the operands behind `--` itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from tests.lint.rules import Finding, Module, imported_names

RULE = "programs"
_WHY = (
    "it starts a program and its function has no '--' before the operands; use HostCommand, or give a reason in ALLOWED"
)

STARTS: Mapping[str, frozenset[str]] = {
    "subprocess": frozenset({"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}),
    "asyncio": frozenset({"create_subprocess_exec", "create_subprocess_shell"}),
    "os": frozenset({"system", "popen", "posix_spawn", "posix_spawnp"}),
    "runtime.io.programs": frozenset({"running", "run_to_end"}),
}
_OS_FAMILIES = ("exec", "spawn")

ALLOWED: Mapping[tuple[str, str], str] = {
    ("actorlet/_process.py", "become"): "the agent itself, with the words that its user typed",
    (
        "actorlet/_cluster_process.py",
        "__init__",
    ): "the simulated cluster of a test: our own module and options",
    (
        "cli/rehearse/command.py",
        "_by_other_version",
    ): "another version of us, with the words of its user",
    ("runtime/api/credentials.py", "_answer_of"): "the credential plugin and its words are the kubeconfig's",
    (
        "runtime/image_providers/programs.py",
        "_ended",
    ): "the program and its words are the configuration's",
    ("runtime/host/packet_rules.py", "_run"): "iptables with chains and rules that are constants of ours",
    ("runtime/http_server/system_logs.py", "_journal"): "every value of the query follows an `=` in its own word",
    ("runtime/io/programs.py", "running"): "its callers stand here, each with its words",
    ("runtime/state/id_files.py", "_asked"): "getsubids with constant words",
    ("simulation/planes/programs.py", "begun"): "programs of the user's, with words of `planes.arguments`, all `--x=y`",
    ("simulation/operators/process.py", "_begin"): "the operator under test, with the words that its author typed",
    ("cli/sweep/player.py", "_run"): "a step of a scenario, with the words that its author typed",
    ("simulation/validations/program.py", "_begin"): "our own script, without operands",
    ("runtime/volumes/commands.py", "run"): "HostCommand.words puts the operands behind `--`",
}
"""(file, function): the reason."""

_FLOORS = ("config", "runtime", "actors", "simulation", "cli", "actorlet")


def check(module: Module) -> Iterator[Finding]:
    if module.floor not in _FLOORS:
        return
    starters = {name for origin, names in imported_names(module) for name in names if name in STARTS.get(origin, ())}
    yield from _search(module, module.tree, "", starters)


def _search(module: Module, node: ast.AST, function: str, starters: Set[str]) -> Iterator[Finding]:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if any(isinstance(each, ast.Constant) and each.value == "--" for each in ast.walk(child)):
                continue
            inside = child.name
        starts = isinstance(child, ast.Call) and _starts_program(child.func, starters)
        if starts and (str(module.path), inside) not in ALLOWED:
            yield module.finding(child, RULE, _WHY)
        yield from _search(module, child, inside, starters)


def _starts_program(called: ast.expr, starters: Set[str]) -> bool:
    if isinstance(called, ast.Name):
        return called.id in starters
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return False
    whose, name = called.value.id, called.attr
    return name in STARTS.get(whose, ()) or (whose == "os" and name.startswith(_OS_FAMILIES))
