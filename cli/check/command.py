"""`actorlet check PLACE`: what a node would say of manifests, without a node.

PLACE is a directory or a file.

They are read, decoded and validated as `--pod-manifest-path` reads them. A fault or a warning is a line on standard
output, with file, line, path, reason and remedy. Pods have the names of their manifests, so the answer is the same on
every machine; with `--hostname-override` they have their names on that node.

Exit status 0: a node would run every pod, with or without warnings. 1: it would refuse a manifest or leave a pod out.
2: the command line is wrong.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence

import msgspec

from actors.messages.pods import SourceProblem
from actors.sources.static import ReadOnce, decoder_of, name_as_written, read_once
from cli.argument_kinds import existing
from cli.command_parser import CommandParser
from cli.printing import say, say_json
from config.pods.identity import SOURCE_FILE
from runtime.manifests.local import LocalManifests


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    node = options.hostname_override
    found = read_once(options.place, decoder_of(SOURCE_FILE, node or socket.gethostname().lower()), LocalManifests())
    good = not any(problem.fatal for problem in found.problems)
    if options.output == "json":
        document = {
            "valid": good,
            "pods": [
                f"{pod.metadata.namespace}/{pod.metadata.name}" if node else name_as_written(pod) for pod in found.pods
            ],
            "problems": [msgspec.to_builtins(problem) for problem in found.problems],
        }
        say_json(msgspec.json.encode(document))
        return 0 if good else 1
    for problem in sorted(found.problems, key=_place_in_files):
        say(f"{'error' if problem.fatal else 'warning'}: {problem}")
    say(summary(found))
    return 0 if good else 1


def summary(found: ReadOnce) -> str:
    """A summary in one line."""
    errors = sum(problem.fatal for problem in found.problems)
    warnings = len(found.problems) - errors
    told = ", ".join(_so_many(*each) for each in ((errors, "error"), (warnings, "warning")) if each[0])
    return f"{_so_many(found.files, 'manifest')}, {_so_many(len(found.pods), 'pod')} to run: {told or 'all is well'}"


def _place_in_files(problem: SourceProblem) -> tuple[str, int]:
    file, colon, line = problem.origin.rpartition(":")
    return (file, int(line)) if colon and line.isdecimal() else (problem.origin, 0)


def _so_many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet check", description="Validate manifests of static pods as a node would, without a node."
    )
    parser.add_argument("place", type=existing, metavar="DIR", help="a directory of manifests, or one file")
    parser.add_argument("--hostname-override", default="", metavar="NAME", help="name the pods as on this node")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    return parser
