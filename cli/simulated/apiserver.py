"""`actorlet simulated-apiserver`: the embedded API server alone.

It serves kubectl, agents and other HTTP clients.

Serves on loopback until SIGINT or SIGTERM, and leaves no files behind. A fault of the command line, the port or a file
is reported in one line on standard error. The exit status is 2 for the command line, 1 for the others.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Sequence

from cli.blocked_signals import ENDING, blocking
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.printing import complain, say
from cli.simulated.embedded_api import PASSING_PREFIX, ApiServerOptions, embedded_api, new_file, port
from config.values.name_rules import dns_subdomain
from runtime.files.lock_file import LockFileError
from runtime.files.passing_directory import passing_directory


@blocking()
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(argv)
    try:
        with passing_directory(PASSING_PREFIX) as directory:
            kubeconfig = options.kubeconfig or os.path.join(directory, "kubeconfig")
            keys = os.path.join(directory, "apiserver")
            settings = ApiServerOptions(
                keys, kubeconfig, options.port, options.tls, options.node_authorizer, tuple(options.node), options.rbac
            )
            with embedded_api(settings) as api:
                say(f"simulated API server at {api.url}")
                for node, path in api.node_kubeconfigs.items():
                    say(f"kubeconfig of node {node}: {path}")
                say(f"export KUBECONFIG={api.kubeconfig}")
                signal.sigwait(ENDING)
    except (OSError, LockFileError) as error:
        complain(f"actorlet simulated-apiserver: {why(error)}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet simulated-apiserver",
        description="Serve the embedded API server on loopback: in memory, with a scheduler, for the resources that a "
        "node and kubectl need; see docs/explanation/api-server.md.",
    )
    parser.add_argument("--port", type=port, default=0, metavar="PORT", help="default: any free one")
    parser.add_argument(
        "--tls",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="serve HTTPS, with an authority made for this run (default); without it, who reaches the port is admin",
    )
    parser.add_argument(
        "--kubeconfig", type=new_file, metavar="FILE", help="where to write the kubeconfig (default: a passing place)"
    )
    parser.add_argument(
        "--node-authorizer", action="store_true", help="nodes may do only what nodes need; others nothing but admins"
    )
    parser.add_argument(
        "--rbac",
        action="store_true",
        help="roles and bindings say who may do what; nodes as with --node-authorizer",
    )
    parser.add_argument(
        "--node", action="append", default=[], type=_node, metavar="NAME", help="write a kubeconfig for a node, too"
    )
    return parser


def _node(text: str) -> str:
    refusal = dns_subdomain(text)
    if refusal is not None:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a node: {refusal[0]}")
    return text
