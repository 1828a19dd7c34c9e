"""`actorlet pods`: the pods of the agent on this machine, with their status.

Its local endpoint is asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from cli.command_parser import CommandParser
from cli.inspect.local_views import AGREED, PODS, pods_in
from cli.inspect.tables import pod_table
from cli.printing import complain, say, say_json
from cli.styling import console
from config.flags.command_line import NodeFlags
from config.objects import Pod
from config.pods.words import FROM_MEMORY, PodLine, pod_line
from config.values.ages import since
from runtime.http_server.local_endpoint import Answer, LocalEndpointError, ask

DEFAULT_ROOT = NodeFlags().root_dir
SECONDS = 30.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status: 1 when no agent answers."""
    options = options_of("actorlet pods", "The pods of a running agent, static ones included.", argv)
    answer = answer_of(options, PODS)
    if answer is None:
        return 1
    if options.output == "json":
        say_json(answer.body)
        return 0
    pods = pods_in(answer.body)
    if not pods:
        say("the agent has no pods")
        return 0
    console().print(pod_table(line_of(pod, answer.wall_ns) for pod in pods))
    agreed = next((pod.metadata.annotations[AGREED] for pod in pods if AGREED in pod.metadata.annotations), "")
    if agreed:
        say(f"(from memory): the API server is away; the pod is as it was {since(agreed, answer.wall_ns)} ago")
    return 0


def line_of(pod: Pod, wall_ns: int) -> PodLine:
    """The row of a pod; its status says if it is from memory."""
    line = pod_line(pod, wall_ns)
    return replace(line, status=f"{line.status} {FROM_MEMORY}") if AGREED in pod.metadata.annotations else line


def options_of(program: str, description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options of a question without arguments."""
    return question_parser(program, description).parse_args(argv)


def question_parser(program: str, description: str, plain: str = "table") -> argparse.ArgumentParser:
    """The options of every question to a running agent. `plain`: the output format without JSON."""
    parser = CommandParser(prog=program, description=description)
    parser.add_argument(
        "--root-dir", default=DEFAULT_ROOT, metavar="DIR", help=f"the agent's directory (default: {DEFAULT_ROOT})"
    )
    parser.add_argument("--output", choices=(plain, "json"), default=plain)
    return parser


def answer_of(options: argparse.Namespace, view: str, document: bytes | None = None) -> Answer | None:
    """Ask the agent, perhaps about a document.

    Without a good answer return None, and print the reason on standard error.
    """
    try:
        answer = ask(options.root_dir, view, SECONDS, document)
    except LocalEndpointError as error:
        complain(f"actorlet: {error}")
        return None
    if answer.status == 200:
        return answer
    complain(f"actorlet: {refusal_in(answer)}")
    return None


def refusal_in(answer: Answer) -> str:
    """The error in an answer, for a person."""
    try:
        return str(msgspec.json.decode(answer.body)["error"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"the agent answers with status {answer.status}: {answer.body.decode(errors='replace')}"
