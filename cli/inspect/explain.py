"""`actorlet explain POD`: what happened to a pod, why it is not Running, and what comes next.

Asked of the agent that runs on this machine, at its local endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from rich.table import Table
from rich.text import Text

from cli.inspect.explanation import Explanation, happened_rows, headline, next_lines
from cli.inspect.local_views import EXPLAIN
from cli.inspect.pods import answer_of, console, question_parser

_STYLES = {"failure": "red", "end": "yellow", "wait": "yellow", "stage": "bold", "decision": "cyan"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 1 when no agent answers or there is no such pod."""
    description = "What happened to a pod of a running agent, why it is not Running now, and what comes next."
    parser = question_parser("actorlet explain", description, "text")
    parser.add_argument("pod", metavar="POD", help="a name, namespace/name or UID; of pods that are gone as well")
    options = parser.parse_args(argv)
    answer = answer_of(options, EXPLAIN + quote(options.pod))
    if answer is None:
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
    if told.happened:
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
    if told.refused:
        out.print()
        out.print(Text("What is wrong with its manifest", style="bold"))
        for line in told.refused:
            out.print(Text(f"  {line}", style="red", overflow="fold"))
    out.print()
    out.print(Text("What comes next", style="bold"))
    for line in next_lines(told):
        out.print(Text(f"  {line}"))
