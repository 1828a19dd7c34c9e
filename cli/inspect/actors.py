"""`actorlet actors`: the tree of actors of the agent on this machine.

It shows which of them are late or failing.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.kernel import SystemReport
from cli.inspect.lane_words import lane_line
from cli.inspect.local_views import ACTORS, PODS, pods_in, report_in
from cli.inspect.pods import answer_of, options_of
from cli.inspect.tables import actor_table, names_of
from cli.printing import say, say_json
from cli.styling import console


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Exit status: 1 when no agent answers."""
    description = "The actors of a running agent: state, waiting mail, restarts, slowest message, last failure."
    options = options_of("actorlet actors", description, argv)
    answer = answer_of(options, ACTORS)
    if answer is None:
        return 1
    if options.output == "json":
        say_json(answer.body)
        return 0
    report = report_in(answer.body)
    pods = answer_of(options, PODS)
    names = names_of(pods_in(pods.body)) if pods is not None else {}
    console().print(actor_table(report.actors, names))
    say(*summary(report))
    return 0


def summary(report: SystemReport) -> list[str]:
    """The rest of the report in a few lines."""
    lines = ["", f"{len(report.actors)} actors, {report.dead_letters} dead letters"]
    lines += filter(None, map(lane_line, report.lanes))
    lines += [f"{path} has held a thread for too long" for path, _ in report.stuck]
    return lines
