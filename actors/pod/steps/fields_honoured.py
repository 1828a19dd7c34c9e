"""Gate: notice a new form of the pod once. Warns of fields that this agent does not honour.

It never holds a pod up. It requests new volumes while the containers run.

A field that makes a container or a volume impossible is refused where that is made. The tables here list fields without
which a pod still runs, though not as its author meant (pains 17). Remove a row when its field is honoured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from actors.pod.one_pass import CONTINUE, Outcome, PodPass
from actors.pod.steps.volumes_ready import PodVolumes
from actors.pod.view import PodView
from config.objects import Container, EphemeralContainer, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec

T = TypeVar("T")

OF_A_POD: Mapping[str, Callable[[PodSpec], bool]] = {
    "securityContext.windowsOptions": lambda spec: (
        spec.security_context is not None and spec.security_context.windows_options is not None
    ),
}
STOP_SIGNAL = "lifecycle.stopSignal"
OF_A_CONTAINER: Mapping[str, Callable[[Container | EphemeralContainer], bool]] = {
    STOP_SIGNAL: lambda container: container.lifecycle is not None and container.lifecycle.stop_signal is not None,
    "securityContext.windowsOptions": lambda container: (
        container.security_context is not None and container.security_context.windows_options is not None
    ),
}


def unhonoured_fields(pod: Pod, *, stop_signals: bool = False) -> tuple[str, ...]:
    """Document paths of unhonoured fields in the pod and in its containers.

    A path is like `$.spec.containers[0].lifecycle.stopSignal`.

    `stop_signals`: this node passes stop signals to the runtime.
    """
    found = _found_in(pod.spec)
    return tuple(path for path in found if not path.endswith(STOP_SIGNAL)) if stop_signals else found


def warning(paths: tuple[str, ...]) -> str:
    """The message of the event."""
    return f"not honoured by this agent yet, the pod runs without: {', '.join(paths)}"


@once_per_spec
def _found_in(spec: PodSpec) -> tuple[str, ...]:
    return tuple(_search(spec))


def _search(spec: PodSpec) -> Iterator[str]:
    yield from _asked_for(OF_A_POD, spec, "$.spec")
    for group, index, container in _containers_of(spec):
        yield from _asked_for(OF_A_CONTAINER, container, f"$.spec.{group}[{index}]")


def _containers_of(spec: PodSpec) -> Iterator[tuple[str, int, Container | EphemeralContainer]]:
    for group, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers):
            yield group, index, container


def _asked_for(rows: Mapping[str, Callable[[T], bool]], said: T, path: str) -> Iterator[str]:
    return (f"{path}.{field}" for field, is_asked_for in rows.items() if is_asked_for(said))


class FieldsHonoured:
    """See the module. `stop_signals`: this node passes stop signals to the runtime."""

    def __init__(self, view: PodView, volumes: PodVolumes, *, stop_signals: bool) -> None:
        self._view = view
        self._volumes = volumes
        self._stop_signals = stop_signals
        self._checked: Pod | None = None
        """The last form of the pod that a pass has checked."""

    async def step(self, this: PodPass) -> Outcome:
        before, now = self._checked, this.pod
        if before is now:
            return CONTINUE
        self._checked = now
        if before is not None:
            self._volumes.pod_changed(now, before)
        paths = unhonoured_fields(now, stop_signals=self._stop_signals)
        known = () if before is None else unhonoured_fields(before, stop_signals=self._stop_signals)
        if paths and paths != known:
            self._view.say("Warning", "FieldsNotHonoured", warning(paths))
        return CONTINUE
