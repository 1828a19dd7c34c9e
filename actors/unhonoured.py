"""Fields of a pod that this agent knows and does not honour yet: said as a warning event, never passed over (pains 17).

Pure. A field that makes a container impossible is refused where the container is configured (`actors.start`); here are
those without which a pod can run, though not as its author meant. Each row goes when the field comes to be honoured.
"""

from __future__ import annotations

from collections.abc import Iterator

from config.objects import Container, Pod


def unhonoured_fields(pod: Pod, *, stop_signals: bool = False) -> tuple[str, ...]:
    """Paths in the document, in its order: `$.spec.containers[0].lifecycle.preStop`."""
    spec = pod.spec
    found = [f"$.spec.{name}" for name, said in (("resourceClaims", bool(spec.resource_claims)),) if said]
    for group, containers in (
        ("initContainers", spec.init_containers),
        ("containers", spec.containers),
        ("ephemeralContainers", spec.ephemeral_containers),
    ):
        for index, container in enumerate(containers):
            found += [f"$.spec.{group}[{index}].{field}" for field in _of_container(container, stop_signals)]
    return tuple(found)


def warning(paths: tuple[str, ...]) -> str:
    """What the event says."""
    return f"not honoured by this agent yet, the pod runs without: {', '.join(paths)}"


def _of_container(container: Container, stop_signals: bool) -> Iterator[str]:
    hooks = container.lifecycle
    if hooks is not None and hooks.stop_signal is not None and not stop_signals:
        yield "lifecycle.stopSignal"
