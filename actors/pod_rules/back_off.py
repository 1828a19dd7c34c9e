"""When a container that has ended starts again (spec 3.5 and 3.6). Pure.

After its first end a container starts again at once (spec 3.6). Each further end doubles the delay (10, 20, 40 ...
300 s), counted from the end of the container. After a quiet time (600 s) the back-off begins anew. No table in memory
holds the back-offs, so a restart of the agent loses none. Each container carries the delay of its successor as an
annotation, and the runtime knows when it ended. A container of another agent carries none; its restart count stands for
the number of failures. If the clock was set back by more than the delay since the end, the container starts at once.
So does one that the runtime has lost, with the machine's power or a runtime that died: no one knows how it ended.

A container that this agent kills for a probe counts as upstream counts it: see `after_own_kill`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.model.observed import ObservedContainer
from actors.pod_rules.action_types import AT_ONCE_FIRST, BackOffWait
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, Pod
from config.pods.identity import title
from config.values.durations import format_duration_ns
from runtime.cri.identity import CONTAINER_IMAGE, RESOURCES, resources_text, same_hash

LOST_CODE, LOST_REASON = 255, "Unknown"
"""What containerd says of a container whose task was gone when it started."""


def back_off(
    container: Container,
    last: ObservedContainer,
    periods: CrashLoopPeriods,
    wall_ns: int,
    *,
    excused: bool = False,
) -> BackOffWait:
    """When `container` may start after `last`, the newest of its name.

    `excused`: its end was not its own doing.

    Only a container that exited causes a delay. With another image or other resources the back-off begins anew, also
    if `last` was killed for that change. An earlier end then counts as the first, as upstream counts it.
    """
    if not _same_key(container, last):
        has_ended = last.attempt > 0 or (last.exited and not excused)
        return BackOffWait(0, 0, periods.initial_ns if has_ended else 0)
    owed_ns = _owed_ns(last, periods)
    if not last.exited or excused or (last.exit_code, last.reason) == (LOST_CODE, LOST_REASON):
        return BackOffWait(0, 0, owed_ns)  # it never started or is lost: its delay stays
    ran_ns = last.finished_at_ns - (last.started_at_ns or last.created_at_ns)
    if owed_ns == 0 or ran_ns > periods.reset_after_ns:
        return BackOffWait(0, 0, periods.initial_ns)
    # An end in the future tells nothing about the time since. To wait from now on, at each look, would never end.
    waits = abs(wall_ns - last.finished_at_ns) < owed_ns
    next_delay_ns = min(2 * owed_ns, periods.max_ns)
    return BackOffWait(last.finished_at_ns + owed_ns if waits else 0, owed_ns, next_delay_ns)


def after_own_kill(wait: BackOffWait, last: ObservedContainer, group: Sequence[ObservedContainer]) -> BackOffWait:
    """The wait after `last`, which was killed for a failed probe.

    `group` has all containers of its name, newest first.

    Such a container starts again at once, unless it ended within the back-off after the end before it. So one that
    lives longer than its back-off is never held up. The first kill counts for nothing: there is no end before it.
    """
    before = next((each for each in group if each.attempt < last.attempt and each.exited), None)
    if before is None:
        return AT_ONCE_FIRST if last.attempt == 0 else wait
    if wait.until_ns and last.finished_at_ns >= before.finished_at_ns + wait.delay_ns:
        return msgspec.structs.replace(wait, until_ns=0)
    return wait


def back_off_message(pod: Pod, name: str, delay_ns: int) -> str:
    """The message for the waiting state of the container."""
    return f"back-off {format_duration_ns(delay_ns)} restarting failed container={name} pod={title(pod)}"


def back_off_event(pod: Pod, name: str) -> str:
    """The message of the event."""
    return f"Back-off restarting failed container {name} in pod {title(pod)}"


def _owed_ns(last: ObservedContainer, periods: CrashLoopPeriods) -> int:
    """The back-off after the end of `last`: 0 after the first."""
    noted = last.back_off_ns
    if noted is not None:
        return min(noted, periods.max_ns)
    if last.attempt == 0:
        return 0
    # Twenty doublings exceed every maximum, and a restart count may be any number.
    return min(periods.initial_ns << min(last.attempt - 1, 20), periods.max_ns)


def _same_key(container: Container, last: ObservedContainer) -> bool:
    """Whether image and resources are those that failed before (spec 3.5).

    Resources without a note count as the same.
    """
    image, resources = last.annotations.get(CONTAINER_IMAGE), last.annotations.get(RESOURCES)
    same_resources = resources is None or resources == resources_text(container)
    same_image = same_hash(container, last.annotations) if image is None else image == container.image
    return same_resources and same_image
