"""Tables of pods, actors and image pulls for rich. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from actors.kernel import ActorInfo
from actors.messages.pods import PullInProgress
from cli.styling import shown
from config.objects import Pod
from config.pods.words import FROM_MEMORY, PodLine
from config.values.ages import SECOND_NS, short_duration

_GOOD = frozenset({"Running", "Completed", "Succeeded"})
_UNDER_WAY = frozenset({"Pending", "ContainerCreating", "PodInitializing", "Terminating"})
_SHORT = 28
"""Width of an actor's name in columns; longer names may be cut."""
_QUIET_STATES = frozenset({"idle", "waiting", "handling"})


def pod_table(lines: Iterable[PodLine]) -> Table:
    """Like `kubectl get pods -A -o wide`."""
    table = _table("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP")
    for line in lines:
        status = shown(line.status, style=_status_style(line.status))
        table.add_row(line.namespace, line.name, line.ready, status, line.restarts, line.age, line.ip or "-")
    return table


def actor_table(actors: Sequence[ActorInfo], names: Mapping[str, str], at_most: int | None = None) -> Table:
    """The tree of actors, indented.

    Actors are named by the UIDs of pods; `names` maps these to names for people.

    With `at_most`, that many rows of one line each: late, failing and busy actors before idle ones. On a narrow screen
    the names of messages are cut first. The column of failures is absent while there are none.
    """
    chosen = _most_telling(actors, at_most)
    failures = any(actor.last_failure for actor in chosen)
    table = _table("ACTOR", "STATE", "MAIL", "OLDEST", "HANDLED", "RESTARTS", "SLOWEST", *["LAST FAILURE"] * failures)
    paths = [_indented(actor.path, names) for actor in chosen]
    # Numbers, and names of common length, keep their width.
    table.columns[0].no_wrap = all(len(path) <= _SHORT for path in paths)
    for column in table.columns[2:6]:
        column.no_wrap = True
    for path, actor in zip(paths, chosen, strict=True):
        state = actor.state if not actor.waiting_for else f"waiting for {actor.waiting_for}"
        slowest = f"{actor.slowest_ns / 1e6:.1f} ms {actor.slowest_handler.partition('(')[0]}"
        row: list[RenderableType] = [
            shown(path, no_wrap=True),
            shown(state, style="" if actor.state in _QUIET_STATES else "yellow", no_wrap=at_most is not None),
            str(actor.mailbox_depth),
            _age(actor.oldest_age_ns) if actor.mailbox_depth else "",
            str(actor.handled),
            shown(str(actor.restarts), style="yellow" if actor.restarts else ""),
            shown(slowest if actor.slowest_handler else "", no_wrap=True),
        ]
        if failures:
            row.append(shown(_first_line(actor.last_failure), style="red", no_wrap=at_most is not None))
        table.add_row(*row)
    if len(chosen) < len(actors):
        table.add_row(others(len(actors) - len(chosen)))
    return table


def pull_table(pulls: Iterable[PullInProgress]) -> Table:
    """The images that pods wait for."""
    table = _table("IMAGE", "PULL", "FOR", "WANTED BY")
    for pull in pulls:
        state = shown("pulling", style="cyan") if pull.begun else shown("in line", style="dim")
        table.add_row(pull.image, state, f"{pull.age_ns / SECOND_NS:.1f}s", ", ".join(pull.pods))
    return table


def others(number: int, what: str = "") -> RenderableType:
    """The line that counts what is not shown."""
    return shown(f"... and {number} more {what}".rstrip(), style="dim", no_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(shown(column, no_wrap=True), overflow="ellipsis")
    return table


def _status_style(status: str) -> str:
    status = status.removesuffix(f" {FROM_MEMORY}")
    if status in _GOOD:
        return "green"
    return "cyan" if status in _UNDER_WAY or (status.startswith("Init:") and "/" in status) else "red"


def _most_telling(actors: Sequence[ActorInfo], at_most: int | None) -> list[ActorInfo]:
    if at_most is None or len(actors) <= at_most:
        return list(actors)
    by_need = sorted(actors, key=lambda actor: (not actor.last_failure, -actor.mailbox_depth, -actor.handled))
    chosen: set[str] = set()
    for actor in by_need:
        # Keep the ancestors, so that the rows stay one tree.
        parts = actor.path.strip("/").split("/")
        family = {"/", *("/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1))}
        if len(chosen | family) > at_most:
            break
        chosen |= family
    return [actor for actor in actors if actor.path in chosen]


def _indented(path: str, names: Mapping[str, str]) -> str:
    parts = path.strip("/").split("/")
    return "  " * (len(parts) - 1) + (names.get(parts[-1], parts[-1]) or "/")


def names_of(pods: Iterable[Pod]) -> Mapping[str, str]:
    """UID -> namespace/name."""
    return {pod.metadata.uid: f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods}


def _age(age_ns: int) -> str:
    return f"{age_ns // 1_000_000}ms" if age_ns < SECOND_NS else short_duration(age_ns // SECOND_NS)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
