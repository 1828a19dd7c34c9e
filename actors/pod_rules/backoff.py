"""How long a container that keeps ending waits before it is started again (spec 2.1, 3.5).

The first end is forgiven: the container is started at once. Each further one waits twice as long as the one before (10,
20, 40 ... 300 s), counted from the end of the container. One that ran for the quiet time (600 s) is forgiven all.

There is no table of back-offs in memory, and so none that a restart of the agent could lose: each container carries,
as an annotation, the delay that its successor owes, and when it ended the runtime knows. A container that was made by
another agent carries none; its restart count then stands for the number of failures. Times are wall-clock nanoseconds;
when the clock was set back, nobody waits longer than the delay from now.
"""

from __future__ import annotations

import msgspec

from actors.model.identity import CONTAINER_IMAGE, RESOURCES, resources_text
from actors.model.observed import ObservedContainer
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, Pod


class Wait(msgspec.Struct, frozen=True, gc=False):
    """`until_ns`: not to be started before (0: at once). `delay_ns`: the back-off that makes this so.

    `next_delay_ns`: what the container that is now started will owe, to be written on it.
    """

    until_ns: int
    delay_ns: int
    next_delay_ns: int


AT_ONCE_FIRST = Wait(0, 0, 0)


def back_off(
    container: Container,
    last: ObservedContainer | None,
    periods: CrashLoopPeriods,
    wall_ns: int,
    *,
    excused: bool = False,
) -> Wait:
    """When `container` may be started, given the `last` of its name. `excused`: its end was not its own doing.

    Only one that exited makes anybody wait. With another image or other resources it is another: it begins anew.
    """
    if last is None:
        return AT_ONCE_FIRST
    owed_ns = _owed_ns(last, periods)
    if not last.exited or excused:
        return Wait(0, 0, owed_ns)  # it was never started or is lost: it owes what it owed
    if last.annotations and not _same_key(container, last):
        return AT_ONCE_FIRST
    ran_ns = last.finished_at_ns - (last.started_at_ns or last.created_at_ns)
    if owed_ns == 0 or ran_ns > periods.reset_after_ns:
        return Wait(0, 0, periods.initial_ns)
    until_ns = min(last.finished_at_ns, wall_ns) + owed_ns
    next_delay_ns = min(2 * owed_ns, periods.max_ns)
    return Wait(until_ns if until_ns > wall_ns else 0, owed_ns, next_delay_ns)


def back_off_message(pod: Pod, name: str, delay_ns: int) -> str:
    """For the waiting state of the container."""
    seconds = delay_ns / 1_000_000_000
    meta = pod.metadata
    return f"back-off {seconds:g}s restarting failed container={name} pod={meta.name}_{meta.namespace}({meta.uid})"


def _owed_ns(last: ObservedContainer, periods: CrashLoopPeriods) -> int:
    """The back-off after the end of `last`: 0 for the first of its kind."""
    noted = last.back_off_ns
    if noted is not None:
        return min(noted, periods.max_ns)
    if last.attempt == 0:
        return 0
    # Twenty doublings exceed every maximum; a restart count may be anything.
    return min(periods.initial_ns << min(last.attempt - 1, 20), periods.max_ns)


def _same_key(container: Container, last: ObservedContainer) -> bool:
    """Whether image and resources are what failed before (spec 3.5); who carries no note of one is not judged by it."""
    image, resources = last.annotations.get(CONTAINER_IMAGE), last.annotations.get(RESOURCES)
    same_resources = resources is None or resources == resources_text(container)
    return same_resources and (image is None or image == container.image)
