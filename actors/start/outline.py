"""What the spec of a pod says of one of its containers, as the steps of its start ask for it. Pure.

Worked out once for all pods of one spec, and for all starts of one pod: none of it depends on who the pod is, on its
node or on the time.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.model.identity import lasting_annotations
from actors.start.environment import file_references
from actors.start.object_references import has_environment_objects
from config.objects import Container, EphemeralContainer, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec


class Outline(msgspec.Struct, frozen=True):
    """`path`: where the container stands in its pod, `$.spec.containers[0]`. `reads_objects`: a variable is taken from
    a ConfigMap or Secret; `shows_amounts`: one shows a limit, which may be that of the node; `files`: (volume, path) of
    each that variables are taken from. `notes`: see `lasting_annotations`.
    """

    path: str
    reads_objects: bool
    shows_amounts: bool
    files: tuple[tuple[str, str], ...]
    notes: Mapping[str, str]


def outline_of(pod: Pod, container: Container) -> Outline:
    """Of a container of that pod."""
    known = _outlines(pod.spec).get(id(container))
    return _outline(pod.spec, container) if known is None else known


@once_per_spec
def _outlines(spec: PodSpec) -> dict[int, Outline]:
    """By the identity of the container, which is there as long as its spec."""
    everyone = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    return {id(container): _outline(spec, container) for container in everyone}


def shows_amounts(pod: Pod) -> bool:
    """Whether a variable of any container shows a limit."""
    return _shows_amounts_in(pod.spec)


@once_per_spec
def _shows_amounts_in(spec: PodSpec) -> bool:
    return any(outline.shows_amounts for outline in _outlines(spec).values())


def _outline(spec: PodSpec, container: Container) -> Outline:
    return Outline(
        path=document_path(spec, container),
        reads_objects=has_environment_objects(container),
        shows_amounts=_shows_amounts(container),
        files=file_references(container),
        notes=lasting_annotations(spec, container),
    )


def _shows_amounts(container: Container) -> bool:
    sources = (variable.value_from for variable in container.env)
    return any(source is not None and source.resource_field_ref is not None for source in sources)


def document_path(spec: PodSpec, container: Container) -> str:
    """Where the container stands in a pod of that spec: `$.spec.containers[0]`."""
    if isinstance(container, EphemeralContainer):
        field, group = "ephemeralContainers", [each.name for each in spec.ephemeral_containers]
    elif any(each.name == container.name for each in spec.containers):
        field, group = "containers", [each.name for each in spec.containers]
    else:
        field, group = "initContainers", [each.name for each in spec.init_containers]
    index = group.index(container.name) if container.name in group else 0
    return f"$.spec.{field}[{index}]"
