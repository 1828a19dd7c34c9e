"""`actorlet explain POD`: what happened to a pod, why it is not Running, and what comes next.

Asked of the agent that runs on this machine, at its local endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import msgspec
from rich.table import Table

from cli.inspect.explanation import Explanation, happened_rows, headline, next_lines
from cli.inspect.local_views import EXPLAIN
from cli.inspect.pods import answer_of, question_parser
from cli.printing import say_json
from cli.styling import console, shown

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
        say_json(answer.body)
        return 0
    show(msgspec.json.decode(answer.body, type=Explanation))
    return 0


def show(told: Explanation) -> None:
    """Print it for a person."""
    out = console()
    out.print(shown(headline(told), style="bold"))
    if told.happened:
        out.print()
        out.print(shown("What happened (UTC)", style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for time, kind, what in happened_rows(told):
            table.add_row(time, shown(kind, style=_STYLES.get(kind, "")), shown(what, overflow="fold"))
        out.print(table)
    if told.why:
        out.print()
        out.print(shown("Why it is not Running now", style="bold"))
        for line in told.why:
            out.print(shown(f"  {line}"))
    if told.refused:
        out.print()
        out.print(shown("What is wrong with its manifest", style="bold"))
        for line in told.refused:
            out.print(shown(f"  {line}", style="red", overflow="fold"))
    out.print()
    out.print(shown("What comes next", style="bold"))
    for line in next_lines(told):
        out.print(shown(f"  {line}"))
