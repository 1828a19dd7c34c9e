"""Three ways to show a running node: a live table for people, lines for a log, JSON for programs.

A screen is given one look at the node after another, and remembers only what it needs to find what is new.
"""

from __future__ import annotations

import logging
import shlex
from collections import deque
from collections.abc import Hashable
from typing import NamedTuple, Protocol, Self, TextIO

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live

from actors.kernel import ActorInfo
from cli.inspect.tables import actor_table, names_of, others, pod_table, pull_table
from cli.printing import say, say_json
from cli.styling import shown
from cli.up.progress import ClusterProgress, ProgressSnapshot, as_document, verdict_lines
from cli.up.rows import share_out
from config.pods.verdicts.verdict import verdicts_of
from config.pods.words import has_arrived, pod_line

LINES_OF_LOG = 5
_CURSOR = 1
END_KEY, ACTORS_KEY, HELP_KEY = "q", "a", "?"
TELLING_NS = 1_000_000_000
"""A message that waits so long, or takes so long, is worth a row."""


class Headings(NamedTuple):
    """What stands above and below the tables.

    `kubeconfig` and `link` may be empty; `hint`: what to try next.
    """

    title: str
    kubeconfig: str = ""
    link: str = ""
    hint: str = ""


class Screen(Protocol):
    def show(self, look: ProgressSnapshot, outcome: ClusterProgress) -> None: ...

    def press(self, key: str) -> None:
        """A person has pressed this key, which does not end the program."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class RecentWarnings(logging.Handler):
    """Keeps the last warnings of the log, to show them below the tables."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: deque[str] = deque(maxlen=LINES_OF_LOG)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage().partition("\n")[0])


class LiveScreen:
    """Redraws tables of pods, pulls and actors in place, within the height of the terminal.

    Actors that have nothing to tell are hidden, until the key for them is pressed.
    """

    def __init__(self, console: Console, headings: Headings) -> None:
        self._console = console
        self._title = headings.title
        self._kubeconfig = headings.kubeconfig
        self._link = headings.link
        self._hint = headings.hint
        self._all_actors = self._keys_shown = False
        self._warnings = RecentWarnings()
        self._here: set[str] = set()
        self._left: set[str] = set()
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def show(self, look: ProgressSnapshot, outcome: ClusterProgress) -> None:
        self._live.update(self.drawn(look, outcome), refresh=True)

    def press(self, key: str) -> None:
        if key == ACTORS_KEY:
            self._all_actors = not self._all_actors
        elif key == HELP_KEY:
            self._keys_shown = not self._keys_shown

    def drawn(self, look: ProgressSnapshot, outcome: ClusterProgress) -> RenderableType:
        """All parts from top to bottom, within the height of the terminal; see `cli.up.rows`."""
        head: list[RenderableType] = [shown(self._title, style="bold")]
        if self._kubeconfig:
            # On a line of its own and never cut, so that people can copy it.
            head.append(shown(export_of(self._kubeconfig), style="bold green", overflow="fold"))
        if self._link:
            head.append(shown(observer_line(self._link), style="bold cyan", overflow="fold"))
        told = self._told(look)
        # The cursor rests on a line of its own. Behind a full line, the terminal's ^C would move all lines by one.
        foot = self._foot(look)
        free = self._console.height - self._lines_of(Group(*head, "", *foot)) - _CURSOR
        heights = [self._lines_of(each) for each in told]
        rows = share_out(free, len(look.pods), len(look.pulls), heights)
        parts = [*head, "", *self._pods(look, rows.pods), *self._pulls(look, rows.pulls), ""]
        actors = look.report.actors
        told_of = actors if self._all_actors else tuple(filter(_is_telling, actors))
        if rows.actors and told_of:
            parts.append(actor_table(told_of, names_of(look.pods), rows.actors))
        else:
            quiet = f"{len(actors)} actors" + ("" if told_of else ", none in trouble")
            parts.append(shown(f"{quiet}; {ACTORS_KEY} shows them", style="dim", no_wrap=True))
        if told:
            more = len(told) - rows.told
            parts += ["", *told[: rows.told], *_others(more, "problems; `actorlet check DIR` lists those of manifests")]
        return Group(*parts, *foot, "")

    def _foot(self, look: ProgressSnapshot) -> list[RenderableType]:
        """What to try next, once each pod has arrived or has a reason why not; the keys."""
        is_settled = look.pods and all(has_arrived(pod) or verdicts_of(pod) for pod in look.pods)
        hint = [shown(self._hint, style="green", overflow="fold")] if self._hint and is_settled else []
        more = f"{ACTORS_KEY} shows or hides all actors" if self._keys_shown else f"{HELP_KEY} shows keys"
        keys = f"{END_KEY} ends it, {more}"
        return ["", *hint, shown(keys, style="dim", no_wrap=True)]

    def _told(self, look: ProgressSnapshot) -> list[RenderableType]:
        """Problems, the fatal ones first; why pods do not run; the last warnings that repeat no problem."""
        faults = sorted(look.problems, key=lambda problem: not problem.fatal)
        told: list[RenderableType] = [
            shown(str(problem), "red" if problem.fatal else "yellow", overflow="fold") for problem in faults
        ]
        texts = tuple(str(problem) for problem in faults)
        # The event about a duplicate pod ends with the text of the problem, and a verdict says more than its events.
        verdicts = tuple(verdict_lines(look))
        told += [shown(line, "red", overflow="fold") for line in verdicts]
        about = tuple(f"Pod {line.partition(': ')[0]} " for line in verdicts)
        news = [
            line
            for line in self._warnings.lines
            if not (texts and line.endswith(texts)) and not line.startswith(about + self._gone(look))
        ]
        return told + [shown(line, "yellow", overflow="fold") for line in news]

    def _gone(self, look: ProgressSnapshot) -> tuple[str, ...]:
        """How warnings begin that are about pods which were here and have gone."""
        here = {f"Pod {pod.metadata.namespace}/{pod.metadata.name} " for pod in look.pods}
        gone = (self._left | self._here) - here
        self._left = {start for start in gone if any(line.startswith(start) for line in self._warnings.lines)}
        self._here = here
        return tuple(self._left)

    @staticmethod
    def _pods(look: ProgressSnapshot, at_most: int) -> list[RenderableType]:
        """The rows of pods. If not all fit, pods that have not arrived come first."""
        chosen = look.pods
        if len(chosen) > at_most:
            by_need = sorted(range(len(chosen)), key=lambda number: has_arrived(look.pods[number]))
            chosen = tuple(look.pods[number] for number in sorted(by_need[:at_most]))
        table = pod_table(pod_line(pod, look.wall_ns) for pod in chosen)
        return [table, *_others(len(look.pods) - len(chosen))]

    @staticmethod
    def _pulls(look: ProgressSnapshot, at_most: int) -> list[RenderableType]:
        if not look.pulls:
            return []
        table = [pull_table(look.pulls[:at_most])] if at_most else []
        return ["", *table, *_others(len(look.pulls) - at_most, "image pulls")]

    def _lines_of(self, part: RenderableType) -> int:
        """Measured, not counted: on a narrow screen lines may wrap."""
        return len(self._console.render_lines(part, pad=False))

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self._warnings)
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)
        logging.getLogger().removeHandler(self._warnings)


def _is_telling(actor: ActorInfo) -> bool:
    """Whether it has failed, or keeps somebody waiting."""
    is_late = bool(actor.mailbox_depth) and actor.oldest_age_ns >= TELLING_NS
    return bool(actor.last_failure or actor.restarts or is_late or actor.handling_for_ns >= TELLING_NS)


def _others(number: int, what: str = "") -> list[RenderableType]:
    return [others(number, what)] if number else []


def export_of(kubeconfig: str) -> str:
    """The shell command that a person copies into another shell."""
    return f"export KUBECONFIG={shlex.quote(kubeconfig)}"


def observer_line(link: str) -> str:
    """The URL that a person opens in a browser."""
    return f"observer: {link}"


class LineScreen:
    """A line for each change: for logs and pipes. It knows no keys."""

    def __init__(self, out: TextIO, title: str, kubeconfig: str = "", link: str = "") -> None:
        self._out = out
        self._title = title
        self._kubeconfig = kubeconfig
        self._link = link
        self._told: dict[Hashable, object] = {}

    def show(self, look: ProgressSnapshot, outcome: ClusterProgress) -> None:
        for pod in look.pods:
            line = pod_line(pod, look.wall_ns)
            restarts = line.restarts.partition(" ")[0]
            text = f"pod {line.namespace}/{line.name}: {line.ready} {line.status}"
            text += f", restarts {restarts}" if restarts != "0" else ""
            self._tell(("pod", pod.metadata.uid), f"{text}, {line.ip}" if line.ip else text)
        self._tell_gone({("pod", pod.metadata.uid) for pod in look.pods})
        for pull in look.pulls:
            if pull.begun:
                self._tell(("pull", pull.image, pull.pods[:1]), f"image {pull.image}: pulling")
        for problem in look.problems:
            self._tell(("problem", str(problem)), f"{'problem' if problem.fatal else 'warning'} {problem}")

    def press(self, key: str) -> None:
        return

    def _tell(self, key: Hashable, text: str) -> None:
        if self._told.get(key) != text:
            self._told[key] = text
            say(text, to=self._out)

    def _tell_gone(self, present: set[Hashable]) -> None:
        for key in [key for key in self._told if isinstance(key, tuple) and key[0] == "pod" and key not in present]:
            name = str(self._told.pop(key)).partition(": ")[0]
            say(f"{name}: gone", to=self._out)

    def __enter__(self) -> Self:
        say(self._title, to=self._out)
        if self._kubeconfig:
            say(export_of(self._kubeconfig), to=self._out)
        if self._link:
            say(observer_line(self._link), to=self._out)
        return self

    def __exit__(self, *_: object) -> None:
        return


class JsonScreen:
    """One JSON document a line: with `only_last` the last one, otherwise one for each change."""

    def __init__(self, out: TextIO, only_last: bool, kubeconfig: str = "", link: str = "") -> None:
        self._out = out
        self._kubeconfig = kubeconfig
        self._link = link
        self._only_last = only_last
        self._last = ""
        self._told: object = None

    def show(self, look: ProgressSnapshot, outcome: ClusterProgress) -> None:
        document = as_document(look, outcome)
        if self._kubeconfig:
            document = {"kubeconfig": self._kubeconfig, **document}
        if self._link:
            document = {"observer": self._link, **document}
        self._last = msgspec.json.encode(document).decode()
        if not self._only_last and (news := _without_ages(document)) != self._told:
            self._told = news
            say_json(self._last, to=self._out)

    def press(self, key: str) -> None:
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._only_last and self._last:
            say_json(self._last, to=self._out)


def _without_ages(document: object) -> object:
    """The document without ages, which would differ at each look."""
    if isinstance(document, dict):
        kept = {name: _without_ages(value) for name, value in document.items() if name not in ("age", "age_ns")}
        return {**kept, "restarts": str(kept["restarts"]).partition(" ")[0]} if "restarts" in kept else kept
    return [_without_ages(part) for part in document] if isinstance(document, list) else document
