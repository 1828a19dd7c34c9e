"""The environment of a container: which variables, from where, and which value wins (spec 13.2, 13.3).

Pure.

`envFrom` comes first, then `env` in its order; later values replace earlier ones. Service variables fill in what is
left. `Sources` has the objects of the API, and the reasons why some could not be read. A failed read does not mean
absence: it is refused even for an optional reference. An absent object is refused unless it is optional, because a
container without a promised variable is worse than one that does not start.

`outline_of` is what the spec says of one container, computed once for all pods of one spec. `references` lists the
ConfigMaps and Secrets that a pod refers to, with place and purpose (spec 8.9); all are in the pod's own namespace.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from actors.messages.references import ObjectRef
from actors.model.expansion import Expansion, ExpansionTooLongError
from actors.model.refusal import ContainerRefusedError
from actors.start.env_file import EnvFileError, read_env_file
from actors.start.pod_fields import resource_value, variable_field
from config.objects import (
    Container,
    EnvFromSource,
    EnvVarSource,
    EphemeralContainer,
    FileKeySelector,
    Pod,
    PodSpec,
    Volume,
    VolumeProjection,
)
from config.pods.once_per_spec import once_per_spec
from runtime.cri.identity import lasting_annotations


class ObjectPurpose(enum.Enum):
    """Why an object is needed: to start a container, all the time, or to pull an image."""

    ENVIRONMENT = "environment"
    VOLUME = "volume"
    PULL = "pull"


class NeededObject(msgspec.Struct, frozen=True):
    """One reference of a pod. `optional`: the object may be missing."""

    ref: ObjectRef
    optional: bool
    purpose: ObjectPurpose


# Volumes that name a secret with credentials in `secret_ref` (spec 8.9).
KEYS_SHOWN = 10
"""Of an object that lacks the key that is wanted."""
_WITH_SECRET_REF = ("cephfs", "cinder", "flex_volume", "iscsi", "rbd", "scale_io", "storageos")


def references(pod: Pod) -> tuple[NeededObject, ...]:
    """Every reference, in the order: pull secrets, containers, volumes.

    An object may occur more than once.
    """
    return tuple(each_reference(pod))


def each_reference(pod: Pod) -> Iterator[NeededObject]:
    """`references`, for readers that take a few at a time."""
    namespace = pod.metadata.namespace
    for kind, name, optional, purpose in _named_in(pod.spec):
        yield NeededObject(ObjectRef(kind, namespace, name), optional, purpose)


def environment_objects(pod: Pod) -> tuple[ObjectRef, ...]:
    """The objects that variables of any container are taken from, each once."""
    found = references(pod)
    return _objects(found, ObjectPurpose.ENVIRONMENT) if found else ()


def pull_secrets(pod: Pod) -> tuple[ObjectRef, ...]:
    """The pull secrets, in the order of the pod, each once."""
    return _objects(references(pod), ObjectPurpose.PULL)


def has_environment_objects(container: Container) -> bool:
    """Whether a variable of this container is taken from an object."""
    return any(True for _ in _of_container(container))


def uses_tokens(pod: Pod) -> bool:
    """Whether a volume of the pod holds a token of its service account."""
    return _uses_tokens(pod.spec)


def everyone(pod: Pod) -> tuple[Container, ...]:
    """Every container of the pod."""
    return _everyone_in(pod.spec)


@once_per_spec
def _everyone_in(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)


@once_per_spec
def _uses_tokens(spec: PodSpec) -> bool:
    return any(
        source.service_account_token is not None
        for volume in spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
    )


@once_per_spec
def _named_in(spec: PodSpec) -> tuple[tuple[str, str, bool, ObjectPurpose], ...]:
    """Kind, name, optional, and purpose of each reference."""
    found = [
        *((SECRET, each.name, True, ObjectPurpose.PULL) for each in spec.image_pull_secrets),
        *((*each, ObjectPurpose.ENVIRONMENT) for container in _everyone_in(spec) for each in _of_container(container)),
        *((*each, ObjectPurpose.VOLUME) for volume in spec.volumes for each in _of_volume(volume)),
    ]
    return tuple((kind, name, bool(optional), purpose) for kind, name, optional, purpose in found if name)


def _objects(found: Iterable[NeededObject], purpose: ObjectPurpose) -> tuple[ObjectRef, ...]:
    return tuple(dict.fromkeys(each.ref for each in found if each.purpose is purpose))


_Found = tuple[str, str | None, bool | None]


def _of_container(container: Container) -> Iterator[_Found]:
    for origin in container.env_from:
        if origin.config_map_ref is not None:
            yield CONFIG_MAP, origin.config_map_ref.name, origin.config_map_ref.optional
        if origin.secret_ref is not None:
            yield SECRET, origin.secret_ref.name, origin.secret_ref.optional
    for variable in container.env:
        source = variable.value_from
        if source is not None and source.config_map_key_ref is not None:
            yield CONFIG_MAP, source.config_map_key_ref.name, source.config_map_key_ref.optional
        if source is not None and source.secret_key_ref is not None:
            yield SECRET, source.secret_key_ref.name, source.secret_key_ref.optional


def _of_volume(volume: Volume) -> Iterator[_Found]:
    if volume.config_map is not None:
        yield CONFIG_MAP, volume.config_map.name, volume.config_map.optional
    if volume.secret is not None:
        yield SECRET, volume.secret.secret_name, volume.secret.optional
    if volume.projected is not None:
        for source in volume.projected.sources:
            yield from _of_projection(source)
    if volume.azure_file is not None:
        yield SECRET, volume.azure_file.secret_name, False
    if volume.csi is not None and volume.csi.node_publish_secret_ref is not None:
        yield SECRET, volume.csi.node_publish_secret_ref.name, False
    for name in _WITH_SECRET_REF:
        source = getattr(volume, name)
        if source is not None and source.secret_ref is not None:
            yield SECRET, source.secret_ref.name, False


def _of_projection(source: VolumeProjection) -> Iterator[_Found]:
    if source.config_map is not None:
        yield CONFIG_MAP, source.config_map.name, source.config_map.optional
    if source.secret is not None:
        yield SECRET, source.secret.name, source.secret.optional


CONFIG_MAP, SECRET = "ConfigMap", "Secret"

Data = Mapping[str, str]
_NO_DATA: Data = {}
_NO_OBJECTS: Mapping[str, Data] = {}
_NO_FAILURES: Mapping[tuple[str, str], str] = {}


class FileText(msgspec.Struct, frozen=True):
    """The content of a file of variables; `error`: why it could not be read.

    With neither, the file does not exist.
    """

    text: str | None = None
    error: str = ""


_NO_FILES: Mapping[tuple[str, str], FileText] = {}


class Sources(msgspec.Struct, frozen=True):
    """The sources of values: objects of the pod's namespace by name, and facts of pod and node.

    `failures`: (kind, name) of an object that could not be read -> why. `files`: (volume, path) of every `fileKeyRef`
    -> its content; None if this node does not read them. `services`: see `actors.cluster.service_variables`.
    `allocatable`: the node's resources (quantities), for limits that are not set. Secret bytes that are not UTF-8
    become surrogates.
    """

    config_maps: Mapping[str, Data] = _NO_OBJECTS
    secrets: Mapping[str, Data] = _NO_OBJECTS
    failures: Mapping[tuple[str, str], str] = _NO_FAILURES
    files: Mapping[tuple[str, str], FileText] | None = _NO_FILES
    services: Data = _NO_DATA
    allocatable: Data = _NO_DATA
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()


NO_SOURCES = Sources()


def environment(pod: Pod, container: Container, path: str, sources: Sources = NO_SOURCES) -> dict[str, str]:
    """Every variable. `path`: document path of the container.

    Raises ContainerRefusedError, also when all of them together are longer than a program can be given.
    """
    if not container.env and not container.env_from:
        return dict(sources.services)
    room = Expansion()
    found: dict[str, str] = {}
    try:
        for index, origin in enumerate(container.env_from):
            for name, value in _all_of(origin, f"{path}.envFrom[{index}]", sources):
                room.take(name)
                room.take(value)
                found[name] = value
        if container.env:
            known = {**sources.services, **found}
            files: dict[str, Mapping[str, str]] = {}
            for index, variable in enumerate(container.env):
                room.take(variable.name)
                if variable.value or variable.value_from is None:  # a literal value wins over any reference
                    value = room.expand(variable.value, known)
                else:
                    referenced = _referenced(
                        pod, container, variable.value_from, f"{path}.env[{index}]", sources, files
                    )
                    if referenced is None:
                        continue
                    value = referenced
                    room.take(value)
                found[variable.name] = known[variable.name] = value
    except ExpansionTooLongError as failure:
        raise ContainerRefusedError(
            f"{path}.env", f"the variables are {failure}; use fewer or shorter ones"
        ) from failure
    for name, value in sources.services.items():
        found.setdefault(name, value)
    return found


def file_references(container: Container) -> tuple[tuple[str, str], ...]:
    """(volume, path) of every file that the container takes variables from, each once."""
    origins = (variable.value_from for variable in container.env if not variable.value)
    files = (origin.file_key_ref for origin in origins if origin is not None)
    return tuple(dict.fromkeys((file.volume_name, file.path) for file in files if file is not None))


def _all_of(origin: EnvFromSource, path: str, sources: Sources) -> Iterator[tuple[str, str]]:
    """The variables that one entry of `envFrom` gives."""
    if origin.config_map_ref is not None:
        name, optional = origin.config_map_ref.name, origin.config_map_ref.optional
        data = _object(sources, CONFIG_MAP, name, optional, f"{path}.configMapRef")
    elif origin.secret_ref is not None:
        name, optional = origin.secret_ref.name, origin.secret_ref.optional
        data = _object(sources, SECRET, name, optional, f"{path}.secretRef")
    else:
        return
    prefix = origin.prefix or ""
    for key, value in (data or _NO_DATA).items():
        yield prefix + key, value


def _referenced(
    pod: Pod,
    container: Container,
    origin: EnvVarSource,
    path: str,
    sources: Sources,
    files: dict[str, Mapping[str, str]],
) -> str | None:
    """The value of a reference; None leaves the variable undefined.

    `files` keeps what was read of each text.
    """
    path = f"{path}.valueFrom"
    if origin.field_ref is not None:
        place = f"{path}.fieldRef.fieldPath"
        return variable_field(pod, origin.field_ref.field_path, place, sources.pod_ips, sources.host_ips)
    if origin.resource_field_ref is not None:
        place = f"{path}.resourceFieldRef"
        return resource_value(pod, container, origin.resource_field_ref, place, sources.allocatable)
    if origin.config_map_key_ref is not None:
        key = origin.config_map_key_ref
        data = _object(sources, CONFIG_MAP, key.name, key.optional, f"{path}.configMapKeyRef")
        whose = f"{CONFIG_MAP} {pod.metadata.namespace}/{key.name}"
        return _key(data, key.key, key.optional, whose, f"{path}.configMapKeyRef")
    if origin.secret_key_ref is not None:
        secret = origin.secret_key_ref
        data = _object(sources, SECRET, secret.name, secret.optional, f"{path}.secretKeyRef")
        whose = f"{SECRET} {pod.metadata.namespace}/{secret.name}"
        return _key(data, secret.key, secret.optional, whose, f"{path}.secretKeyRef")
    if origin.file_key_ref is not None:
        return _from_file(sources, origin.file_key_ref, f"{path}.fileKeyRef", files)
    return ""


def _object(sources: Sources, kind: str, name: str | None, optional: bool | None, path: str) -> Data | None:
    """The object; None for an optional one that does not exist."""
    name = name or ""
    data = (sources.config_maps if kind == CONFIG_MAP else sources.secrets).get(name)
    if data is not None:
        return data
    failure = sources.failures.get((kind, name))
    if failure is not None:
        raise ContainerRefusedError(path, failure)
    if not optional:
        raise ContainerRefusedError(
            path, f'{kind.lower()} "{name}" not found; create it, or mark the reference optional'
        )
    return None


def _key(data: Data | None, key: str, optional: bool | None, whose: str, path: str) -> str | None:
    if data is None:
        return None
    if key not in data and not optional:
        raise ContainerRefusedError(path, f"couldn't find key {key} in {whose}; {_keys_of(data)}")
    return data.get(key)


def _keys_of(data: Data) -> str:
    """The keys that are there: a misspelt one is found at a glance."""
    if not data:
        return "it has no keys"
    first = sorted(data)[:KEYS_SHOWN]
    more = f" and {len(data) - len(first)} more" if len(data) > len(first) else ""
    return f"its keys are {', '.join(first)}{more}"


def _from_file(sources: Sources, origin: FileKeySelector, path: str, files: dict[str, Mapping[str, str]]) -> str | None:
    if sources.files is None:
        raise ContainerRefusedError(path, "variables from files are switched off by the feature gate EnvFiles")
    where = f"file {origin.path} of volume {origin.volume_name}"
    file = sources.files.get((origin.volume_name, origin.path), FileText())
    if file.error:
        raise ContainerRefusedError(path, f"couldn't read {where}: {file.error}")
    if file.text is None:
        if origin.optional:
            return None
        raise ContainerRefusedError(path, f"{where} not found; an earlier container must write it")
    try:
        if file.text not in files:
            files[file.text] = read_env_file(file.text)
        value = files[file.text].get(origin.key)
    except EnvFileError as failure:
        raise ContainerRefusedError(path, f"couldn't parse {where}: {failure}") from failure
    if not value and not origin.optional:
        raise ContainerRefusedError(path, f"couldn't find key {origin.key} in {where}")
    return value or None


class Outline(msgspec.Struct, frozen=True):
    """`path`: document path of the container, `$.spec.containers[0]`.

    `reads_objects`: a variable comes from a ConfigMap or Secret. `shows_amounts`: a variable shows a limit, which may
    be that of the node. `files`: (volume, path) of each file with variables. `notes`: see `lasting_annotations`.
    """

    path: str
    reads_objects: bool
    shows_amounts: bool
    files: tuple[tuple[str, str], ...]
    notes: Mapping[str, str]


def outline_of(pod: Pod, container: Container) -> Outline:
    """The outline of a container of that pod."""
    known = _outlines(pod.spec).get(id(container))
    return _outline(pod.spec, container) if known is None else known


@once_per_spec
def _outlines(spec: PodSpec) -> dict[int, Outline]:
    """Outlines by `id()` of the container, which lives as long as its spec."""
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
    """The document path of a container of that spec: `$.spec.containers[0]`."""
    ephemeral, others = _document_paths(spec)
    if isinstance(container, EphemeralContainer):
        return ephemeral.get(container.name, "$.spec.ephemeralContainers[0]")
    return others.get(container.name, "$.spec.initContainers[0]")


@once_per_spec
def _document_paths(spec: PodSpec) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """By name: the paths of ephemeral containers, and of the others. The first of a name counts."""
    regular = _paths_of("containers", spec.containers)
    return _paths_of("ephemeralContainers", spec.ephemeral_containers), {
        **_paths_of("initContainers", spec.init_containers),
        **regular,
    }


def _paths_of(field: str, group: tuple[Container, ...]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for index, container in enumerate(group):
        paths.setdefault(container.name, f"$.spec.{field}[{index}]")
    return paths
