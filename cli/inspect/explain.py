"""`actorlet explain POD`: what happened to a pod, why it is not Running, and what comes next.

Asked of the agent that runs on this machine, at its local endpoint. `--what-if FILE` asks of a pod that is not there.
`--from DIR --at TIME` asks of a moment of a record.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
from rich.table import Table

from cli.file_errors import why
from cli.inspect.explanation import Explanation, happened_rows, headline, next_lines, notes_of
from cli.inspect.local_views import EXPLAIN, WHAT_IF
from cli.inspect.pod_choice import NoSuchPodError
from cli.inspect.pods import answer_of, question_parser
from cli.inspect.what_if import REFUSES, WhatIf, lines_of
from cli.printing import complain, say, say_json
from cli.styling import console, shown

_STYLES = {"failure": "red", "end": "yellow", "wait": "yellow", "stage": "bold", "decision": "cyan"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 1 when no agent answers or there is no such pod."""
    description = "What happened to a pod of a running agent, why it is not Running now, and what comes next."
    parser = question_parser("actorlet explain", description, "text")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "pod", metavar="POD", nargs="?", help="a name, namespace/name or UID; of pods that are gone as well"
    )
    what.add_argument("--what-if", metavar="FILE", help="a manifest: would the node take this pod now? - for stdin")
    parser.add_argument("--from", dest="record", metavar="DIR", help="a record of the agent, instead of the agent")
    parser.add_argument("--at", metavar="TIME", help="of --from: when, as 03:00 (UTC); default: at the end")
    options = parser.parse_args(argv)
    if options.pod is None and options.what_if is None:
        parser.error("name a POD (`actorlet pods` lists them), or a manifest with --what-if")
    if options.at is not None and options.record is None:
        parser.error("--at needs --from, a record")
    if options.record is not None:
        return _from_record(options)
    if options.what_if is not None:
        return _what_if(options)
    answer = answer_of(options, EXPLAIN + quote(options.pod))
    if answer is None:
        return 1
    if options.output == "json":
        say_json(answer.body)
        return 0
    show(msgspec.json.decode(answer.body, type=Explanation))
    return 0


def _from_record(options: argparse.Namespace) -> int:
    """Exit status 2 if the record cannot be read, or has not that time."""
    # Here: whoever asks a running agent needs no replay.
    from cli.inspect.recorded_moment import explanation_from

    if options.what_if is not None:
        complain("actorlet: --what-if asks a running agent, and no record")
        return 2
    try:
        told = explanation_from(options.record, options.pod, options.at)
    except NoSuchPodError as error:
        complain(f"actorlet: {error}")
        return 1
    except (ValueError, OSError) as error:
        complain(f"actorlet: {why(error)}")
        return 2
    if options.output == "json":
        say_json(msgspec.json.encode(told))
    else:
        show(told)
    return 0


def _what_if(options: argparse.Namespace) -> int:
    """Exit status 1 also if the node would refuse the pod."""
    try:
        manifest = sys.stdin.buffer.read() if options.what_if == "-" else Path(options.what_if).read_bytes()
    except OSError as error:
        complain(f"actorlet: {why(error)}")
        return 1
    answer = answer_of(options, WHAT_IF, manifest)
    if answer is None:
        return 1
    told = msgspec.json.decode(answer.body, type=WhatIf)
    if options.output == "json":
        say_json(answer.body)
    else:
        say(*lines_of(told))
    return 1 if told.verdict == REFUSES else 0


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
            out.print(shown(f"  {line}", overflow="fold"))
            for note in notes_of(told, line):
                out.print(shown(f"    {note}", style="dim", overflow="fold"))
    if told.at_refusal is not None:
        out.print()
        out.print(shown(f"When it was refused ({told.refused_at})", style="bold"))
        for line in lines_of(told.at_refusal):
            out.print(shown(f"  {line}", overflow="fold"))
    if told.refused:
        out.print()
        out.print(shown("What is wrong with its manifest", style="bold"))
        for line in told.refused:
            out.print(shown(f"  {line}", style="red", overflow="fold"))
    out.print()
    out.print(shown("What comes next", style="bold"))
    for line in next_lines(told):
        out.print(shown(f"  {line}"))
