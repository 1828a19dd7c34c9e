"""The environment of a container: which variables, from where, and who wins (spec 13.2, 13.3). Pure.

`envFrom` comes first, then `env` in its order, each later one over the earlier; service variables fill what is left.
Objects of the API are given in `Sources`, and so is why one could not be read: that is no absence, and is refused even
where the reference is optional. What is absent is refused unless it is optional, because a container without a variable
that it was promised is worse than one that does not start.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.model.expansion import expand
from actors.model.refusal import StartRefusedError
from actors.start.env_file import EnvFileError, read_env_file
from actors.start.pod_fields import resource_value, variable_field
from config.objects import Container, EnvFromSource, EnvVar, FileKeySelector, Pod

CONFIG_MAP, SECRET = "ConfigMap", "Secret"

Data = Mapping[str, str]
_NO_DATA: Data = {}
_NO_OBJECTS: Mapping[str, Data] = {}
_NO_FAILURES: Mapping[tuple[str, str], str] = {}


class FileText(msgspec.Struct, frozen=True):
    """What a file of variables holds; `error`: why it could not be read. With neither, there is no such file."""

    text: str | None = None
    error: str = ""


_NO_FILES: Mapping[tuple[str, str], FileText] = {}


class Sources(msgspec.Struct, frozen=True):
    """What values are taken from: objects of the pod's namespace by name, and facts of pod and node.

    `failures`: (kind, name) of what could not be read -> why. `files`: (volume, path) of every `fileKeyRef` -> what it
    holds; None where this node does not read them. `services`: see `actors.model.service_variables`. `allocatable`: of
    the node, for limits that are not set (quantities). Bytes of a secret that are no UTF-8 stand as surrogates.
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
    """Every variable. `path` is that of the container in the pod. Raises StartRefusedError."""
    if not container.env and not container.env_from:
        return dict(sources.services)
    found: dict[str, str] = {}
    for index, origin in enumerate(container.env_from):
        _add_all(found, origin, f"{path}.envFrom[{index}]", sources)
    if container.env:
        known = {**sources.services, **found}
        for index, variable in enumerate(container.env):
            value = _value(pod, container, variable, f"{path}.env[{index}]", sources, known)
            if value is not None:
                found[variable.name] = known[variable.name] = value
    for name, value in sources.services.items():
        found.setdefault(name, value)
    return found


def file_references(container: Container) -> tuple[tuple[str, str], ...]:
    """(volume, path) of every file that the container takes variables from, each once."""
    origins = (variable.value_from for variable in container.env if not variable.value)
    files = (origin.file_key_ref for origin in origins if origin is not None)
    return tuple(dict.fromkeys((file.volume_name, file.path) for file in files if file is not None))


def _add_all(found: dict[str, str], origin: EnvFromSource, path: str, sources: Sources) -> None:
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
        found[prefix + key] = value


def _value(pod: Pod, container: Container, variable: EnvVar, path: str, sources: Sources, known: Data) -> str | None:
    """None leaves the variable undefined. A value that is written out wins over any reference."""
    if variable.value or variable.value_from is None:
        return expand(variable.value, known)
    origin = variable.value_from
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
        return _from_file(sources, origin.file_key_ref, f"{path}.fileKeyRef")
    return ""


def _object(sources: Sources, kind: str, name: str | None, optional: bool | None, path: str) -> Data | None:
    """None for an optional object that is not there."""
    name = name or ""
    data = (sources.config_maps if kind == CONFIG_MAP else sources.secrets).get(name)
    if data is not None:
        return data
    failure = sources.failures.get((kind, name))
    if failure is not None:
        raise StartRefusedError(path, failure)
    if not optional:
        raise StartRefusedError(path, f'{kind.lower()} "{name}" not found; create it, or mark the reference optional')
    return None


def _key(data: Data | None, key: str, optional: bool | None, whose: str, path: str) -> str | None:
    if data is None:
        return None
    if key not in data and not optional:
        raise StartRefusedError(path, f"couldn't find key {key} in {whose}")
    return data.get(key)


def _from_file(sources: Sources, origin: FileKeySelector, path: str) -> str | None:
    if sources.files is None:
        raise StartRefusedError(path, "variables from files are switched off by the feature gate EnvFiles")
    where = f"file {origin.path} of volume {origin.volume_name}"
    file = sources.files.get((origin.volume_name, origin.path), FileText())
    if file.error:
        raise StartRefusedError(path, f"couldn't read {where}: {file.error}")
    if file.text is None:
        if origin.optional:
            return None
        raise StartRefusedError(path, f"{where} not found; an earlier container must write it")
    try:
        value = read_env_file(file.text).get(origin.key)
    except EnvFileError as failure:
        raise StartRefusedError(path, f"couldn't parse {where}: {failure}") from failure
    if not value and not origin.optional:
        raise StartRefusedError(path, f"couldn't find key {origin.key} in {where}")
    return value or None
