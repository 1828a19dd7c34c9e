"""`actorlet explain POD`: what happened to a pod, why it is not Running now, and what will be tried next.

Asked of the agent that runs on this machine, at its local endpoint.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from rich.table import Table
from rich.text import Text

from cli.inspect.explanation import Explanation, happened_rows, headline, next_lines
from cli.inspect.local_views import EXPLAIN
from cli.inspect.pods import DEFAULT_ROOT, console, refusal_in
from runtime.http_server.local_endpoint import LocalEndpointError, ask

_STYLES = {"failure": "red", "end": "yellow", "wait": "yellow", "stage": "bold", "decision": "cyan"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 1 when no agent answers or there is no such pod."""
    options = _options(argv)
    try:
        answer = ask(options.root_dir, EXPLAIN + quote(options.pod))
    except LocalEndpointError as error:
        print(f"actorlet: {error}", file=sys.stderr)
        return 1
    if answer.status != 200:
        print(f"actorlet: {refusal_in(answer)}", file=sys.stderr)
        return 1
    if options.output == "json":
        print(answer.body.decode())
        return 0
    show(msgspec.json.decode(answer.body, type=Explanation))
    return 0


def show(told: Explanation) -> None:
    """Print it for a person."""
    out = console()
    out.print(Text(headline(told), style="bold"))
    out.print()
    out.print(Text("What happened (UTC)", style="bold"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for time, kind, what in happened_rows(told):
        table.add_row(time, Text(kind, style=_STYLES.get(kind, "")), Text(what, overflow="fold"))
    out.print(table)
    if told.why:
        out.print()
        out.print(Text("Why it is not Running now", style="bold"))
        for line in told.why:
            out.print(Text(f"  {line}"))
    out.print()
    out.print(Text("What comes next", style="bold"))
    for line in next_lines(told):
        out.print(Text(f"  {line}"))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="actorlet explain",
        description="What happened to a pod of a running agent, why it is not Running now, and what comes next.",
    )
    parser.add_argument("pod", metavar="POD", help="a name, namespace/name or UID; of pods that are gone as well")
    parser.add_argument(
        "--root-dir", default=DEFAULT_ROOT, metavar="DIR", help=f"the agent's directory (default: {DEFAULT_ROOT})"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text")
    return parser.parse_args(argv)
