"""What happens to a pod, in words for people. Pure.

A `text` is the same whenever the same happens, so that repetitions can be counted. What differs (attempt, duration,
message) is the `detail`.

`container_waits` tells what the containers of a pod wait for: for each, why, and what comes next. A container that is
ready, or has ended for good, waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.messages.history import PodWait
from actors.model.observed import (
    NO_RESULTS,
    ObservedContainer,
    ObservedPod,
    ProbeResults,
    is_ready,
    is_started,
    startup_of,
)
from actors.pod_rules.action_types import Start
from actors.pod_rules.actions import PodActions
from actors.pod_rules.lifecycle import Event, KillRequested, PodDesired, PodLife, PodStage
from config.objects import Container, Pod
from config.pods.identity import is_sidecar, lasting_containers
from config.values.ages import spoken

SECOND_NS = 1_000_000_000
DETAIL_LIMIT = 300
"""Characters. Messages of runtimes and containers may be long; the status has all of them."""


def shortened(text: str, limit: int = DETAIL_LIMIT) -> str:
    """One line of at most `limit` characters."""
    if len(text) <= limit and text.isprintable():  # as nearly all are
        return text
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def cause_of(event: Event, life: PodLife) -> str:
    """The cause of a change of the pod's life, if the rule does not state it. `life`: after the event."""
    if isinstance(event, KillRequested):
        if event.evicted:
            return shortened(f"evicted: {event.message or event.reason}")
        if event.message or event.reason:
            return shortened(event.message or event.reason)
        return "no source desires it any more" if event.removed else ""
    if isinstance(event, PodDesired) and life.stage is PodStage.TERMINATING:
        if event.deleting:
            return f"its deletion was asked for, with {life.grace_seconds} s of grace"
        return "its phase was final already" if event.over else ""
    return ""


def decision(actions: PodActions) -> tuple[str, str]:
    """(text, detail) of the next actions; both empty without any."""
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
        details.append(f"after {spoken(container.finished_at_ns - container.started_at_ns)}")
    detail = ", ".join(details)
    return text, shortened(
        f"{detail}: {container.message}" if container.message and detail else detail or container.message
    )


def begins(wait: PodWait) -> str:
    """The text of the entry for the begin of a wait.

    Back-offs differ only in length, so the reason stands for them.
    """
    return f"{wait.subject} waits: {wait.reason or wait.text}"


def wait_words(wait: PodWait) -> str:
    """Why, with the reason of the status if the text does not have it."""
    return wait.text if not wait.reason or wait.reason in wait.text else f"{wait.reason}: {wait.text}"


def next_tries(waits: Iterable[PodWait]) -> dict[str, int]:
    """When each container is tried again, in wall ns by its name."""
    return {each.subject.rpartition(" ")[2]: each.until_wall_ns for each in waits if each.until_wall_ns is not None}


def volumes_error(waits: Iterable[PodWait]) -> str:
    """Why the volumes of the pod cannot be made; empty where they can, or are being made."""
    return next((each.text for each in waits if each.reason == "FailedMount"), "")


def name_wait(*, heard: bool, listed: bool, ahead: str, orphan: bool, away: str = "") -> str:
    """Why a static pod has no worker yet.

    `ahead`: the UID of the pod whose turn it is; `orphan`: the runtime runs one of that name; `away`: why the runtime
    cannot be asked.
    """
    if not listed:
        return f"what the runtime runs is not known yet{f': {away}' if away else ''}"
    if not heard:
        return "its source has not told all of its pods yet"
    if orphan:
        return "an earlier pod of this name that only the runtime knows is being ended"
    return f"one static pod of a name at a time; the one of UID {ahead} is ending or comes first"


def turn_wait(before: int, at_once: int) -> str:
    """Why a new pod has no worker yet."""
    return f"{before} pods come before it, and {at_once} start at a time"


def past(observed: ObservedPod) -> tuple[tuple[str, str, int], ...]:
    """(text, detail, wall ns) of each earlier event that the runtime shows.

    Ends of containers have entries of their own.
    """
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
    """(text, detail) of a container that ran before this worker began."""
    detail = f"attempt {container.attempt}" if container.attempt else ""
    return f"container {container.name} was found running, and goes on", detail


_NOBODY: frozenset[str] = frozenset()
_NO_TIMES: Mapping[str, int] = {}


class StartsUnderWay(msgspec.Struct, frozen=True):
    """The known waits of containers that do not run yet, by name.

    `reasons`: (reason, message) of why not. `retry_at`: wall ns of the next try. `pulling`: their image is being
    pulled; `queued`: why that pull has not begun. `asking`: they wait for objects that they refer to. `mounting`: the
    mounts that they wait for.
    """

    reasons: Mapping[str, tuple[str, str]] = {}
    retry_at: Mapping[str, int] = _NO_TIMES
    pulling: frozenset[str] = _NOBODY
    asking: frozenset[str] = _NOBODY
    queued: Mapping[str, str] = {}
    mounting: Mapping[str, str] = {}


def container_waits(
    pod: Pod, observed: ObservedPod, starts: StartsUnderWay, probes: ProbeResults = NO_RESULTS
) -> tuple[PodWait, ...]:
    """The waits of containers that are to start, in the order of starting.

    Of those that run and are not ready; and of those whose turn has not come.
    """
    spec = pod.spec
    waits = [
        wait
        for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
        if (wait := _wait_of(container, observed, starts)) is not None
    ]
    lasting = lasting_containers(spec)
    waits += [wait for container in lasting if (wait := _wait_to_be_ready(container, observed, probes)) is not None]
    first = _unfinished_init(spec.init_containers, observed) if spec.init_containers else None
    if first is not None and not waits:
        names = ", ".join(container.name for container in spec.containers)
        subject, then = f"containers {names}", "they are started after that"
        if len(spec.containers) == 1:
            subject, then = f"container {names}", "it is started after that"
        waits.append(PodWait(subject, "PodInitializing", f"init container {first.name} has to end well first", then))
    return tuple(waits)


def _wait_of(container: Container, observed: ObservedPod, starts: StartsUnderWay) -> PodWait | None:
    name = container.name
    newest = observed.newest(name)
    if newest is not None and newest.running:
        return None
    subject = f"container {name}"
    if name in starts.pulling and name in starts.queued:
        text = f"the pull of its image {container.image} is not begun yet: {starts.queued[name]}"
        return PodWait(subject, "ContainerCreating", text, "it is pulled after that")
    if name in starts.pulling:
        return PodWait(
            subject, "ContainerCreating", f"its image {container.image} is being pulled", "it is started then"
        )
    if name in starts.asking:
        return PodWait(subject, "ContainerCreating", "what it refers to is being asked for", "it is started then")
    if name in starts.mounting:
        return PodWait(subject, "ContainerCreating", starts.mounting[name], "it is started then")
    known = starts.reasons.get(name)
    if known is None:
        return None
    reason, message = known
    then = "it is started again" if reason == "CrashLoopBackOff" else "it is tried again"
    return PodWait(subject, reason, shortened(message or reason), then, starts.retry_at.get(name))


def _wait_to_be_ready(container: Container, observed: ObservedPod, probes: ProbeResults) -> PodWait | None:
    newest = observed.newest(container.name)
    if newest is None or not newest.running or is_ready(container, newest, probes):
        return None
    subject = f"container {container.name}"
    if startup_of(container, newest, probes) is not True:
        return PodWait(subject, "", "it runs, and its startup probe has not succeeded yet", "it is probed again")
    if not is_started(container, newest, probes):
        return None  # whoever runs its postStart hook tells that
    return PodWait(subject, "", "it runs, and its readiness probe does not succeed", "it is probed again")


def _unfinished_init(containers: Iterable[Container], observed: ObservedPod) -> Container | None:
    for container in containers:
        newest = observed.newest(container.name)
        if newest is not None and newest.running and not is_sidecar(container):
            return container
    return None


def stop_wait(name: str, remaining_seconds: int, asked_wall_ns: int) -> PodWait:
    """The wait for the end of a container. `remaining_seconds`: how long it had when it was asked to stop."""
    left_ns = remaining_seconds * SECOND_NS
    return PodWait(
        f"the end of container {name}",
        "Terminating",
        f"it was asked to stop and has {spoken(left_ns)} for it",
        "it is killed if it still runs",
        asked_wall_ns + left_ns,
    )
