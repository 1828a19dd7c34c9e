"""What a page tells of one run: pods over time, what went wrong, messages between actors.

`played_story` plays the run once more and follows it, because a run that nobody follows keeps none of this. Following
changes nothing: it is the same run, message by message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from simulation.apiserver.store.selection import EVERYTHING
from simulation.apiserver.store.store import DELETED, Version
from simulation.play.play import Play
from simulation.scenarios.scenario import Scenario
from simulation.world.chronicle import Violation
from simulation.world.statuses import is_ready, restarts_in

NOTES_KEPT = 500
FAILED_CALLS_KEPT = 200
GONE = "Gone"
_ORDINARY = ("creates ", "deletes ", "resizes ", "writes version ", "removes the manifest ")
_NAMED = {"EffectEnded": "end of an effect"}
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}")


class PodStory(msgspec.Struct):
    """One pod of the API. `states`: (ns, state) at each change."""

    name: str
    states: list[tuple[int, str]] = msgspec.field(default_factory=list)
    node: str = ""
    restarts: int = 0


class Story(msgspec.Struct):
    """The course of a run.

    `faults`: ns and words. `failed_calls`: calls -> how often. `sent`: (sender, receiver, message) -> how often.
    """

    about: str
    seed: int
    nodes: int
    end_ns: int = 0
    converged: bool = False
    pods: dict[str, PodStory] = msgspec.field(default_factory=dict)
    faults: list[tuple[int, str]] = msgspec.field(default_factory=list)
    failed_calls: Counter[str] = msgspec.field(default_factory=Counter)
    sent: Counter[tuple[str, str, str]] = msgspec.field(default_factory=Counter)
    violations: list[Violation] = msgspec.field(default_factory=list)
    last_lines: tuple[str, ...] = ()
    """The messages before the first violation, or else the last ones."""


def played_story(scenario: Scenario, seed: int, play_to_end: Callable[[Callable[[], Play]], Play]) -> Story:
    """Play and follow it. `play_to_end` gets what begins the play, and returns the play that is over."""
    story = Story(scenario.about, seed, scenario.nodes)
    play = play_to_end(lambda: _followed(story, scenario, seed))
    world = play.world
    story.last_lines = world.trace.last()
    story.end_ns, story.converged = world.now_ns(), play.converged
    story.violations = list(world.chronicle.violations)
    if story.violations:
        story.last_lines = world.broken_at[story.violations[0].invariant].last_lines
    return story


def _followed(story: Story, scenario: Scenario, seed: int) -> Play:
    play = Play(scenario, seed, sink=lambda text: _read(story, text), posted=lambda *sent: _count(story, *sent))
    _follow_pods(story, play)
    return play


def _count(story: Story, sender: str, receiver: str, message: str) -> None:
    story.sent[_UID.sub("*", sender) or "the kernel", receiver, _NAMED.get(message, message)] += 1


def _read(story: Story, text: str) -> None:
    """Take from the trace what the world did, and the calls that failed."""
    for line in text.splitlines():
        at, _, rest = line.partition(" ")
        who, _, what = rest.partition(" ")
        if who == "world" and not what.startswith(_ORDINARY) and len(story.faults) < NOTES_KEPT:
            story.faults.append((int(at), what))
        elif what.startswith("failed ") and who.endswith(("/runtime", "/api")):
            call = f"{who}: {what.removeprefix('failed ')}"
            if call in story.failed_calls or len(story.failed_calls) < FAILED_CALLS_KEPT:
                story.failed_calls[call] += 1


def _follow_pods(story: Story, play: Play) -> None:
    world = play.world

    def changed(kind: str, version: Version) -> None:
        value = version.object
        pod = story.pods.setdefault(value["metadata"]["uid"], PodStory(version.name))
        pod.node, pod.restarts = version.node or pod.node, max(pod.restarts, restarts_in(value.get("status") or {}))
        state = GONE if kind == DELETED else state_of(value)
        if not pod.states or pod.states[-1][1] != state:
            pod.states.append((world.now_ns(), state))

    def follow(_: Any = None) -> None:
        world.server.store.watch("pods", "", EVERYTHING, None).start(changed, follow)

    follow()


def state_of(pod: dict[str, Any]) -> str:
    """The state of a pod in one word."""
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    return "Ready" if phase == "Running" and is_ready(status) else phase
