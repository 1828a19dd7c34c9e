"""How the containers of a pod end: order, grace, hooks (spec 3.10, KEP-753).

Pure. All regular containers are stopped at once. A sidecar serves them, so it waits until they have ended, and until
the later sidecars of the spec have ended. Regular init containers wait for nobody. All this happens within one grace
period. Time spent on waiting and on the preStop hook is taken off the container's timeout, down to a floor. Times are
nanoseconds of any one clock that the caller chooses.

If the spec of a pod is lost (an orphan of the runtime), the plan is made from the containers' annotations.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping

import msgspec

from actors.model.observed import ObservedContainer, ObservedPod
from config.objects import Container, LifecycleHandler, Pod
from config.pods.identity import containers_by_name, sidecar_names
from runtime.cri.identity import DELETION_GRACE_PERIOD, PRE_STOP_HANDLER, TERMINATION_GRACE_PERIOD, whole_number

MINIMUM_STOP_SECONDS = 2
"""The least timeout of StopContainer, so that every process gets its stop signal before it is killed."""
MINIMUM_OVERDUE_SECONDS = 10
_SECOND_NS = 1_000_000_000
PRE_STOP_EXTRA_NS = MINIMUM_STOP_SECONDS * _SECOND_NS
"""How long a preStop hook may outlast the grace: while its container is being stopped.

A kubelet never ends a hook; it ends with its container (`executePreStopHook`).
"""
_NOTHING_DECIDED: Mapping[str, int] = {}


class GraceCause(enum.Enum):
    """Why a container is ended, as far as its grace depends on that."""

    POD_ENDS = "pod ends"
    LIVENESS = "liveness"
    STARTUP = "startup"
    OTHER = "other"


class Ending(msgspec.Struct, frozen=True):
    """How to end one container. `after`: names of containers that must end first, while there is grace.

    Those wait for others in turn, which are not named again: a pod may have thousands of sidecars.
    """

    id: str
    name: str
    grace_seconds: int
    after: tuple[str, ...] = ()
    pre_stop: LifecycleHandler | None = None
    why: str = ""

    @property
    def message(self) -> str:
        """The message of the event."""
        return self.why or f"Stopping container {self.name}"


def grace_seconds(
    pod: Pod, container: Container | None = None, cause: GraceCause = GraceCause.OTHER, override: int | None = None
) -> int:
    """The whole grace of a container.

    `override` replaces everything; a deletion's grace replaces the spec's.
    """
    if override is not None:
        return override
    if pod.metadata.deletion_grace_period_seconds is not None:
        return pod.metadata.deletion_grace_period_seconds
    own = _probe_grace(container, cause) if container is not None else None
    if own is not None:
        return own
    spec = pod.spec.termination_grace_period_seconds
    return MINIMUM_STOP_SECONDS if spec is None else spec


def _probe_grace(container: Container, cause: GraceCause) -> int | None:
    if cause is GraceCause.POD_ENDS:
        return None
    if cause is GraceCause.LIVENESS and container.liveness_probe is not None:
        return container.liveness_probe.termination_grace_period_seconds
    if cause is GraceCause.STARTUP and container.startup_probe is not None:
        return container.startup_probe.termination_grace_period_seconds
    return None


def remaining_seconds(grace: int, elapsed_ns: int) -> int:
    """The timeout of StopContainer after this much of the grace has passed.

    Only whole seconds are taken off.
    """
    return max(MINIMUM_STOP_SECONDS, grace - elapsed_ns // _SECOND_NS)


def overdue_after_ns(grace: int) -> int:
    """How long the end of a whole pod may take before its requester gets a warning (spec 2.6)."""
    return max(MINIMUM_OVERDUE_SECONDS * _SECOND_NS, grace * _SECOND_NS * 3 // 2)


def pre_stop_deadline_ns(grace: int, elapsed_ns: int) -> int:
    """How long the stop waits for the preStop hook; 0: do not run it."""
    return max(0, grace * _SECOND_NS - elapsed_ns)


def plan_ending(pod: Pod, observed: ObservedPod, override: int | None = None) -> tuple[Ending, ...]:
    """How to end every container that may run.

    Regular ones end first, then sidecars in their order.

    Containers that the spec does not name end like regular ones.
    """
    sidecars, by_name = sidecar_names(pod.spec), containers_by_name(pod.spec)
    among_sidecars = frozenset(sidecars)
    first: list[Ending] = []
    for observed_container in observed.containers():
        if observed_container.may_run and observed_container.name not in among_sidecars:
            first.append(_ending(pod, by_name.get(observed_container.name), observed_container, override))
    if not sidecars:
        return tuple(first)
    after = tuple([container.name for container in pod.spec.containers if _may_run(observed, container.name)])
    last: list[Ending] = []
    for name in reversed(sidecars):
        for observed_container in observed.by_name.get(name, ()):
            if observed_container.may_run:
                ending = _ending(pod, by_name[name], observed_container, override)
                last.append(msgspec.structs.replace(ending, after=after))
        if _may_run(observed, name):
            after = (name,)
    return (*first, *last)


def plan_orphan_ending(
    observed: ObservedPod, override: int | None = None, decided: Mapping[str, int] = _NOTHING_DECIDED
) -> tuple[Ending, ...]:
    """Plan the end of a pod that only the runtime knows.

    No order among its containers is known, so none is kept.

    `decided`: container id -> the grace in seconds that its end began with while the pod was known. It holds.
    """
    return tuple(
        _orphan_ending(container, decided.get(container.id, override))
        for container in observed.containers()
        if container.may_run
    )


def sandboxes_to_stop(observed: ObservedPod) -> tuple[str, ...]:
    """Ids of all sandboxes of the pod.

    Stopping one twice is no error, and one that is not ready may hold a network.
    """
    return tuple([sandbox.id for sandbox in observed.sandboxes])


def left_of(observed: ObservedPod) -> tuple[ObservedContainer, ...] | None:
    """The containers of a pod in which nothing runs, if each belongs to a sandbox of the pod.

    None: the pod has not ended, or the look is inconsistent.

    If the runtime has lost a sandbox, the next sandbox reuses its attempt. A container of the lost one then seems to
    belong to the new one and stays. The next regular pass of the collector removes it as a leftover of an unknown pod.
    """
    attempts = {sandbox.attempt for sandbox in observed.sandboxes if not sandbox.ready}
    containers = tuple(observed.containers())
    orderly = len(attempts) == len(observed.sandboxes) and not any(
        each.may_run or each.sandbox_attempt not in attempts for each in containers
    )
    return containers if orderly else None


def may_stop(ending: Ending, running: Collection[str], elapsed_ns: int) -> bool:
    """Whether this container may be stopped: none of those it waits for runs, or the grace is used up."""
    if not ending.after or elapsed_ns >= ending.grace_seconds * _SECOND_NS:
        return True
    return not any(name in running for name in ending.after)


def _may_run(observed: ObservedPod, name: str) -> bool:
    return any(container.may_run for container in observed.by_name.get(name, ()))


def _ending(pod: Pod, container: Container | None, observed: ObservedContainer, override: int | None) -> Ending:
    if container is None:
        return Ending(observed.id, observed.name, grace_seconds(pod, None, GraceCause.POD_ENDS, override))
    grace = grace_seconds(pod, container, GraceCause.POD_ENDS, override)
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    return Ending(observed.id, observed.name, grace, (), hook if grace > 0 else None)


_decode_hook = msgspec.json.Decoder(LifecycleHandler).decode


def _orphan_ending(container: ObservedContainer, override: int | None) -> Ending:
    notes = container.annotations
    grace = override
    for key in (DELETION_GRACE_PERIOD, TERMINATION_GRACE_PERIOD):
        if grace is None:
            grace = whole_number(notes.get(key))
    if grace is None:
        grace = MINIMUM_STOP_SECONDS
    hook: LifecycleHandler | None = None
    if grace > 0 and PRE_STOP_HANDLER in notes:
        try:
            hook = _decode_hook(notes[PRE_STOP_HANDLER])
        except (msgspec.MsgspecError, UnicodeError):
            hook = None  # not our annotation: end the container without a hook
    return Ending(container.id, container.name, grace, (), hook)
