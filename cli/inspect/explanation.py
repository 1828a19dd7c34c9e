"""Why a pod is in its state, as one document and as text. Pure.

It is made of the pod's history, its status and what its worker waits for.

The agent serves the document, and `--output json` prints it. Its times are RFC 3339 in UTC. The text is made from the
document alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from actors.events.history_words import SECOND_NS, begins, next_tries, volumes_error, wait_words
from actors.messages.history import HistoryEntry, HistoryKind, PodStory, PodWait
from actors.messages.pods import SourceProblem
from actors.pod_rules.action_types import KillCause
from actors.pod_rules.lifecycle import PodStage
from cli.inspect.what_if import WhatIf
from config.objects import Pod, PodStatus
from config.pods.identity import DEFAULT_NAMESPACE, source_of
from config.pods.verdicts.verdict import Clues, Verdict, crashed_containers, ended_wall_ns, verdicts_of
from config.pods.words import status_word, trouble
from config.values.ages import spoken

TERMINAL = ("Succeeded", "Failed")
REFUSED, RUNNING = "Refused", "Running"
WELL = ": it is ready"
"""So failures in its history are over: those at the start of a pod are often the last that happened."""
NO_LOGS: Mapping[str, tuple[str, ...]] = {}
_OF_PROBES = ("StartupProbe", "ReadinessProbe")
LONGEST_STOP_NS = 3600 * SECOND_NS
"""The longest that a container is asked to end before it is killed."""
SLOW_NS = 2 * SECOND_NS
"""Longer waits are shown."""


class Happening(msgspec.Struct, frozen=True, rename="camel"):
    """An event, `count` times. `kind` is one of stage, decision, event, end, wait, failure."""

    first: str
    last: str
    count: int
    kind: str
    text: str
    detail: str


class PodWaiting(msgspec.Struct, frozen=True, rename="camel"):
    """What the pod waits for, and since when, if known.

    `then`: the next step, at `until`; both may be empty.
    """

    subject: str
    reason: str
    text: str
    then: str
    until: str
    since: str = ""


class Explanation(msgspec.Struct, frozen=True, rename="camel"):
    """`status` as in `actorlet pods`, but for a pod that ends.

    `why`: reasons why it does not run; empty when it runs. `verdicts`: those of its containers, in parts, for tools.

    `doing`: what its worker waits for at this moment, mostly empty. `gone`: when this node finished with it, or empty.
    `refused`: why this node does not take the pod's manifest, a line for each fault. A pod that only a refused manifest
    describes has the status `Refused` and no UID. `source`: where the pod is from (file, http, http-push, api).
    `lanes`: where its calls wait for their turn, or hang. `at_refusal`: what `--what-if` would have said of a refused
    pod then, at `refused_at`; None if that is not remembered. `remembered`: an island node desires the pod from memory,
    as the API server said at that time; empty: it does not.
    """

    uid: str
    namespace: str
    name: str
    asked: str
    status: str
    phase: str
    why: tuple[str, ...]
    stage: str
    since: str
    doing: str
    gone: str
    happened: tuple[Happening, ...]
    forgotten: int
    waits: tuple[PodWaiting, ...]
    refused: tuple[str, ...] = ()
    source: str = ""
    lanes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    at_refusal: WhatIf | None = None
    refused_at: str = ""
    remembered: str = ""


def refusal_explained(wanted: str, refusals: Sequence[SourceProblem], wall_ns: int) -> Explanation:
    """Explain why there is no pod of the name `wanted`: its manifest is refused."""
    names = [name for refusal in refusals for name in refusal.pods if name.endswith(wanted.rpartition("/")[2])]
    namespace, _, name = (names[0] if names else wanted).rpartition("/")
    refused = tuple(map(str, refusals))
    return Explanation(
        uid="",
        namespace=namespace or DEFAULT_NAMESPACE,
        name=name,
        asked=stamp(wall_ns),
        status=REFUSED,
        phase="",
        why=("its manifest is refused",),
        stage="",
        since="",
        doing="",
        gone="",
        happened=(),
        forgotten=0,
        waits=(),
        refused=refused,
    )


def explanation_of(
    story: PodStory,
    pod: Pod | None,
    doing: tuple[str, int],
    wall_ns: int,
    refused: tuple[str, ...] = (),
    lanes: tuple[str, ...] = (),
    logs: Mapping[str, tuple[str, ...]] = NO_LOGS,
    refusal: tuple[WhatIf, int] | None = None,
    agreed_wall_ns: int = 0,
) -> Explanation:
    """Explain `pod` (with its published status; None when it is gone).

    `doing`: what the worker waits for, and how long (ns). `logs`: by container, its last lines. `refusal`: why
    admission refused it, and when (wall ns). `agreed_wall_ns`: of a pod from memory, when the API server agreed last;
    0 for any other.
    """
    status = (pod.status if pod is not None else None) or PodStatus()
    what, for_ns = doing
    has_verdicts = pod is not None and story.gone_wall_ns is None
    verdicts = verdicts_of(pod, wall_ns, _clues(story, pod, logs)) if pod is not None and has_verdicts else ()
    return Explanation(
        uid=story.uid,
        namespace=story.namespace,
        name=story.name,
        asked=stamp(wall_ns),
        status=_status(story, pod),
        phase=status.phase or "",
        why=_why(story, pod, doing, wall_ns, verdicts),
        stage=story.stage,
        since=stamp(story.since_wall_ns) if story.since_wall_ns else "",
        doing=f"{what}, for {spoken(for_ns)}" if what else "",
        gone="" if story.gone_wall_ns is None else stamp(story.gone_wall_ns),
        happened=tuple(map(_happening, story.entries)),
        forgotten=story.dropped,
        waits=tuple(_waiting(wait, story) for wait in story.waits),
        refused=refused,
        source=(source_of(pod) if pod is not None else None) or "",
        lanes=lanes,
        verdicts=verdicts,
        at_refusal=None if refusal is None else refusal[0],
        refused_at="" if refusal is None else stamp(refusal[1]),
        remembered=stamp(agreed_wall_ns) if agreed_wall_ns else "",
    )


def _clues(story: PodStory, pod: Pod, logs: Mapping[str, tuple[str, ...]]) -> Clues:
    """What the history says of the ends of containers and of the volumes."""
    by_liveness: set[str] = set()
    for status in crashed_containers(pod):
        told = f"stop container {status.name}: {KillCause.LIVENESS.value}"
        ended_ns = ended_wall_ns(status)
        stopped = (
            each.last_wall_ns for each in story.entries if each.kind is HistoryKind.DECISION and told in each.text
        )
        last_ns = max(stopped, default=None)
        if (
            last_ns is not None
            and ended_ns is not None
            and last_ns - SECOND_NS <= ended_ns <= last_ns + LONGEST_STOP_NS
        ):
            by_liveness.add(status.name)
    return Clues(frozenset(by_liveness), next_tries(story.waits), logs, volumes_error(story.waits))


def _status(story: PodStory, pod: Pod | None) -> str:
    if story.gone_wall_ns is not None:
        return "Gone"
    word = "Unknown" if pod is None else status_word(pod)
    # A removed static pod has no deletion timestamp.
    has_ended = pod is not None and (pod.status or PodStatus()).phase in TERMINAL
    return "Terminating" if story.stage == PodStage.TERMINATING.value and not has_ended else word


def _why(
    story: PodStory, pod: Pod | None, doing: tuple[str, int], wall_ns: int, verdicts: tuple[Verdict, ...]
) -> tuple[str, ...]:
    if story.gone_wall_ns is not None:
        return ("this node is done with it",)
    # What a probe waits for is said with since when; of all else a verdict says more.
    told = {verdict.subject.rpartition(" ")[2]: verdict for verdict in verdicts if verdict.cause not in _OF_PROBES}
    waits = [wait for wait in story.waits if wait.subject.rpartition(" ")[2] not in told]
    waiting = {wait.subject.rpartition(" ")[2] for wait in waits}
    others = [verdict for verdict in verdicts if verdict.subject.rpartition(" ")[2] not in waiting]
    if others or waits:
        return (*map(str, others), *(_reasoned(wait, story, wall_ns) for wait in waits))
    what, for_ns = doing
    if what and for_ns >= SLOW_NS:
        return (f"{what} takes long: {spoken(for_ns)} by now",)
    reason = "its status is not known yet" if pod is None else _reason_in_status(pod)
    return (reason,) if reason else ()


def _reason_in_status(pod: Pod) -> str:
    status = pod.status or PodStatus()
    if status.phase in TERMINAL:
        return f"it has ended: {trouble(pod)}"
    ready = next((each for each in status.conditions if each.type == "Ready"), None)
    if status.phase == "Running" and (ready is None or ready.status == "True"):
        return ""
    if status.phase == "Running" and ready is not None:
        return f"it runs and is not ready: {ready.message or ready.reason}"
    return trouble(pod)


def _reasoned(wait: PodWait, story: PodStory, wall_ns: int) -> str:
    """The reason of a wait. Where its end is unknown, also how long it has lasted."""
    text = wait_words(wait)
    since_ns = _since(wait, story)
    lasts = wait.until_wall_ns is None and since_ns is not None and wall_ns - since_ns >= SLOW_NS
    return f"{wait.subject}: {text}" + (f", for {spoken(wall_ns - (since_ns or 0))} by now" if lasts else "")


def _since(wait: PodWait, story: PodStory) -> int | None:
    """When the last wait for that began; None where it is not remembered."""
    text = begins(wait)
    times = (each.last_wall_ns for each in story.entries if each.kind is HistoryKind.WAIT and each.text == text)
    return max(times, default=None)


def _happening(entry: HistoryEntry) -> Happening:
    first, last = stamp(entry.first_wall_ns), stamp(entry.last_wall_ns)
    return Happening(first, last, entry.count, entry.kind.value, entry.text, entry.detail)


def _waiting(wait: PodWait, story: PodStory) -> PodWaiting:
    until = "" if wait.until_wall_ns is None else stamp(wait.until_wall_ns)
    since_ns = _since(wait, story)
    since = "" if since_ns is None else stamp(since_ns)
    return PodWaiting(wait.subject, wait.reason, wait.text, wait.then, until, since)


def stamp(wall_ns: int) -> str:
    """RFC 3339 with milliseconds, in UTC."""
    at = datetime.fromtimestamp(wall_ns // SECOND_NS, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{wall_ns % SECOND_NS // 1_000_000:03d}Z"


# --- as text --------------------------------------------------------------------------------------------------------


def headline(told: Explanation) -> str:
    """The pod and its status."""
    life = f", {told.stage} since {_clock(told.since)}" if told.stage and told.since else ""
    known = [*([f"UID {told.uid}"] if told.uid else []), *([f"source {told.source}"] if told.source else [])]
    known += ["from memory"] if told.remembered else []
    return f"{told.namespace}/{told.name}  {told.status}{life}" + (f"  ({', '.join(known)})" if known else "")


def notes_of(told: Explanation, why: str) -> Iterator[str]:
    """What belongs to a reason: what to do, the words of whoever refused, the last lines of a log."""
    for verdict in told.verdicts:
        if not why.startswith(str(verdict)):
            continue
        if verdict.advice:
            yield f"what to do: {verdict.advice}"
        if verdict.original and verdict.original not in why:
            yield f"its words: {verdict.original}"
        yield from (f"its log: {line}" for line in verdict.log)


def happened_rows(told: Explanation) -> Iterator[tuple[str, str, str]]:
    """(time, kind, text) of all events, oldest first."""
    day = told.asked[:10]
    for number, each in enumerate(told.happened):
        text = each.text if not each.detail else f"{each.text} [{each.detail}]"
        if each.count > 1:
            text += f" (x{each.count} since {_clock(each.first, day)})"
        yield _clock(each.last, day), each.kind, text
        if told.forgotten and number + 1 == min(12, len(told.happened)):
            yield "...", "", f"{told.forgotten} more that are not remembered"


def next_lines(told: Explanation) -> Iterator[str]:
    """The next steps of the agent."""
    if told.status == REFUSED:
        yield "its manifest is read again when the file changes"
        return
    if told.remembered:
        age = spoken(max(0, _ns(told.asked) - _ns(told.remembered)))
        yield f"the API server is away, so the pod is from memory, as it was {age} ago; its word counts when it is back"
    if told.doing:
        yield f"its worker waits for {told.doing}"
    yield from told.lanes
    for wait in told.waits:
        when = ""
        if wait.until:
            ahead_ns = _ns(wait.until) - _ns(told.asked)
            when = f" in {spoken(ahead_ns)}, at {_clock(wait.until, told.asked[:10])}" if ahead_ns > 0 else " now"
        yield f"{wait.subject}: {wait.then}{when}"
    is_under_way = told.waits or told.doing or told.lanes
    if not is_under_way and told.why and not told.gone:
        yield "it is looked at again when something changes"
    elif not is_under_way:
        yield f"nothing, until something changes{WELL if told.status == RUNNING else ''}"


def _clock(time: str, day: str = "") -> str:
    """The time of day, with the date when it is not `day`."""
    return time[11:23] if time[:10] == day or not day else f"{time[:10]} {time[11:23]}"


def _ns(time: str) -> int:
    at = datetime.fromisoformat(time)
    return round(at.timestamp() * 1000) * 1_000_000
