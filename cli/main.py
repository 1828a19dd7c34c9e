"""`actorlet`: one command per file of this floor, found by its name in a table.

Each command is a function from its arguments to an exit status. Its module is imported only when the command runs, so
`actorlet --help` does not import gRPC.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from cli.printing import complain, guard_interpreter, say
from cli.version import VERSION
from config.values.nearest import did_you_mean

KUBELET = "1.36"
"""The kubelet release whose flags, configuration and behaviour this agent follows."""


@dataclass(frozen=True, slots=True)
class Command:
    """`module` has a `main(argv) -> int`."""

    module: str
    help: str


COMMANDS: Mapping[str, Command] = {
    "up": Command("cli.up.command", "a node in one command: sample pods on a simulated runtime, in a live table"),
    "run": Command("cli.run.command", "the agent proper; takes the flags of a kubelet"),
    "check": Command("cli.check.command", "manifests of static pods, validated as a node would, without a node"),
    "pods": Command("cli.inspect.pods", "the pods of a running agent"),
    "explain": Command("cli.inspect.explain", "what happened to a pod, why it is not Running, what comes next"),
    "actors": Command("cli.inspect.actors", "the actors of a running agent: state, mail, restarts, failures"),
    "simulate": Command(
        "cli.simulate.command", "thousands of pods in a world of virtual time, with faults; what must hold"
    ),
    "replay": Command(
        "cli.replay.command", "a failure that simulate has saved, or the record of a node, again: to any step"
    ),
    "rehearse": Command("cli.rehearse.command", "the record of a node, played with another version: what differs"),
    "sweep": Command(
        "cli.sweep.command", "the bugs of an operator: crashes, old reads, missed states, API errors, failing nodes"
    ),
    "simulate-cluster": Command(
        "cli.simulated.cluster", "a simulated cluster on loopback, for tests in any language: nodes, time, faults"
    ),
    "simulated-cri": Command("cli.simulated.cri", "a simulated container runtime behind a socket, for any CRI client"),
    "simulated-apiserver": Command(
        "cli.simulated.apiserver", "an API server in memory on loopback, for kubectl and agents"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; returns its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        guard_interpreter()
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help", "help"):
        say(*help_text().splitlines())
        return 0
    if name in ("-V", "--version", "version"):
        say(version_text())
        return 0
    command = COMMANDS.get(name)
    if command is None:
        hint = did_you_mean(name, COMMANDS, f"there are {', '.join(COMMANDS)}")
        complain(f"actorlet: there is no command {name!r}; {hint}")
        return 2
    try:
        # Only the program itself may freeze its objects, not a caller in another process.
        module = _imported(command.module) if argv is None else import_module(command.module)
        status: int = module.main(rest)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Python would report that once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        # An interrupt before the command handles it, or a second one while it ends.
        return 130
    return status


def _imported(name: str) -> ModuleType:
    """Import the module of a command, and freeze its objects: the garbage collector skips them.

    That saves a fifth of the import's time, and later passes. Simulations thaw them when a play ends.
    """
    if name in sys.modules:
        return sys.modules[name]
    looks = gc.isenabled()
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        if looks:
            gc.enable()


def help_text() -> str:
    """The commands, one a line."""
    lines = ["usage: actorlet COMMAND [OPTIONS]", "", "A Kubernetes node agent built as a system of actors.", ""]
    lines += [f"  {name:<21}{command.help}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", "`actorlet COMMAND --help` tells more; --version says which one this is."])


def version_text() -> str:
    """The version of this agent, and of the kubelet it follows."""
    return f"actorlet {VERSION} (kubelet {KUBELET})"
