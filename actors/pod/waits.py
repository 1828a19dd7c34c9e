"""What a pod waits for, told from what its worker knows after a pass. Pure.

Each wait says for whom, why, and what comes next. A container that is ready, or has ended for good, waits for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.events.history_words import SECOND_NS, seconds, shortened
from actors.messages.history import PodWait
from actors.model.observed import ObservedPod
from actors.model.probe_results import NO_RESULTS, ProbeResults, is_ready, is_started, startup_of
from config.objects import Container, Pod
from config.pods.identity import is_sidecar, lasting_containers

_NOBODY: frozenset[str] = frozenset()
_NO_TIMES: Mapping[str, int] = {}


class StartsUnderWay(msgspec.Struct, frozen=True):
    """What is known of containers that do not run yet, by name.

    `reasons`: (reason, message) of why not. `retry_at`: wall ns at which it is tried again. `pulling`: their image is
    being pulled; `queued`: that pull is not begun, and why. `asking`: they wait for an answer about objects they refer
    to. `mounting`: what of their mounts they wait for.
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
    """Of each container that is to be started, in the order of starting; of those whose turn has not come; and of
    those that run and are not ready.
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
        return None  # its postStart hook is told by whoever runs it
    return PodWait(subject, "", "it runs, and its readiness probe does not succeed", "it is probed again")


def _unfinished_init(containers: Iterable[Container], observed: ObservedPod) -> Container | None:
    for container in containers:
        newest = observed.newest(container.name)
        if newest is not None and newest.running and not is_sidecar(container):
            return container
    return None


def stop_wait(name: str, remaining_seconds: int, asked_wall_ns: int) -> PodWait:
    """Of a container that was asked to stop, and how long it had then."""
    left_ns = remaining_seconds * SECOND_NS
    return PodWait(
        f"the end of container {name}",
        "Terminating",
        f"it was asked to stop and has {seconds(left_ns)} for it",
        "it is killed if it still runs",
        asked_wall_ns + left_ns,
    )
