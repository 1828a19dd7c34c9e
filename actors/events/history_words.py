"""What happens to a pod, in words for people. Pure.

A `text` is the same whenever the same happens, so that repetitions can be counted; what differs from time to time
(attempt, duration, message) is the `detail`.
"""

from __future__ import annotations

from actors.messages.history import PodWait
from actors.model.observed import ObservedContainer, ObservedPod
from actors.pod_rules.action_types import PodActions, Start
from actors.pod_rules.lifecycle import Desired, Event, KillRequested, PodLife, PodStage

SECOND_NS = 1_000_000_000
DETAIL_LIMIT = 300
"""Characters. Messages of runtimes and containers may be long; the status has all of them."""


def seconds(ns: int) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 20 s."""
    if ns < 10 * SECOND_NS:
        return f"{max(ns, 0) / SECOND_NS:.1f} s"
    whole = ns // SECOND_NS
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def shortened(text: str, limit: int = DETAIL_LIMIT) -> str:
    """One line of at most `limit` characters."""
    if len(text) <= limit and text.isprintable():  # as nearly all are
        return text
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def cause_of(event: Event, life: PodLife) -> str:
    """What made the pod's life move on, where the rule does not say it; `life` is the one after it."""
    if isinstance(event, KillRequested):
        if event.evicted:
            return shortened(f"evicted: {event.message or event.reason}")
        if event.message or event.reason:
            return shortened(event.message or event.reason)
        return "no source desires it any more" if event.removed else ""
    if isinstance(event, Desired) and life.stage is PodStage.TERMINATING:
        if event.deleting:
            return f"its deletion was asked for, with {life.grace_seconds} s of grace"
        return "its phase was final already" if event.over else ""
    return ""


def decision(actions: PodActions) -> tuple[str, str]:
    """(text, detail) of what is to be done now; empty when nothing is."""
    parts: list[str] = []
    details: list[str] = []
    if actions.kill_pod:
        parts.append("stop everything of it")
        details.append(actions.why_kill_pod)
    if actions.reset:
        parts.append("restart all containers of it in place")
        details.append("a rule of one that has ended says so")
    parts += [f"stop container {kill.name}: {kill.cause.value}" for kill in actions.kill]
    if actions.create_sandbox:
        parts.append("make a sandbox")
        details.append(actions.why_sandbox)
    groups = (
        ("ephemeral container", actions.start_ephemeral),
        ("init container", actions.start_init),
        ("container", actions.start),
    )
    for kind, starts in groups:
        if starts:
            names = ", ".join(start.container.name for start in starts)
            parts.append(f"start {kind}{'s' if len(starts) > 1 else ''} {names}")
            details += [_attempt(start) for start in starts if start.attempt]
    return ", then ".join(parts), "; ".join(dict.fromkeys(filter(None, details)))


def _attempt(start: Start) -> str:
    return f"{start.container.name} for the {_ordinal((start.attempt or 0) + 1)} time"


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def end(container: ObservedContainer) -> tuple[str, str]:
    """(text, detail) of the end of a container."""
    reason = f" ({container.reason})" if container.reason else ""
    text = f"container {container.name} ended with exit code {container.exit_code}{reason}"
    details = [f"attempt {container.attempt}"] if container.attempt else []
    if container.started_at_ns and container.finished_at_ns:
        details.append(f"after {seconds(container.finished_at_ns - container.started_at_ns)}")
    detail = ", ".join(details)
    return text, shortened(
        f"{detail}: {container.message}" if container.message and detail else detail or container.message
    )


def begins(wait: PodWait) -> str:
    """The text of the entry that says that it began. Back-offs differ in their length alone: the reason counts them."""
    return f"{wait.subject} waits: {wait.reason or wait.text}"


def wait_words(wait: PodWait) -> str:
    """Why, with the word of the status where the text has it not."""
    return wait.text if not wait.reason or wait.reason in wait.text else f"{wait.reason}: {wait.text}"


def name_wait(*, heard: bool, listed: bool, ahead: str, orphan: bool, away: str = "") -> str:
    """Why a static pod has no worker yet. `ahead`: UID of the one whose turn it is; `orphan`: the runtime runs one;
    `away`: why the runtime cannot be asked.
    """
    if not listed:
        return f"what the runtime runs is not known yet{f': {away}' if away else ''}"
    if not heard:
        return "its source has not told all of its pods yet"
    if orphan:
        return "an earlier pod of this name that only the runtime knows is being ended"
    return f"one static pod of a name at a time; the one of UID {ahead} is ending or comes first"


def past(observed: ObservedPod) -> tuple[tuple[str, str, int], ...]:
    """(text, detail, wall ns) of what the runtime tells of the time before. Ends are told by themselves."""
    made = [
        ("its sandbox was made", f"attempt {each.attempt}" if each.attempt else "", each.created_at_ns)
        for each in observed.sandboxes
        if each.created_at_ns
    ]
    started = [
        (f"container {each.name} was started", f"attempt {each.attempt}" if each.attempt else "", each.started_at_ns)
        for each in observed.containers()
        if each.started_at_ns
    ]
    return tuple(sorted((*made, *started), key=lambda each: each[2]))


def found(container: ObservedContainer) -> tuple[str, str]:
    """(text, detail) of a container that runs since before there was this worker."""
    detail = f"attempt {container.attempt}" if container.attempt else ""
    return f"container {container.name} was found running, and goes on", detail
