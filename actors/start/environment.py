"""The environment of a container: which variables, from where, and who wins (spec 13.2, 13.3). Pure.

`envFrom` comes first, then `env` in its order, each later one over the earlier; service variables fill what is left.
Objects of the API are given in `Sources`; a node that has none (no API server) refuses a reference that is not
optional, because a container without a variable it was promised is worse than one that does not start.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.start.expansion import expand
from actors.start.pod_fields import resource_value, variable_field
from actors.start.refusal import StartRefusedError
from config.objects import Container, EnvFromSource, EnvVar, Pod

Data = Mapping[str, str]
_NO_DATA: Data = {}
_NO_OBJECTS: Mapping[str, Data] = {}


class Sources(msgspec.Struct, frozen=True):
    """What values are taken from: objects of the pod's namespace by name, and facts of pod and node.

    `allocatable`: of the node, for limits that are not set (quantities). `services`: spec 13.1, made elsewhere.
    """

    config_maps: Mapping[str, Data] = _NO_OBJECTS
    secrets: Mapping[str, Data] = _NO_OBJECTS
    services: Data = _NO_DATA
    allocatable: Data = _NO_DATA
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()


NO_SOURCES = Sources()


def environment(pod: Pod, container: Container, path: str, sources: Sources = NO_SOURCES) -> dict[str, str]:
    """Every variable. `path` is that of the container in the pod. Raises StartRefusedError."""
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


def _add_all(found: dict[str, str], origin: EnvFromSource, path: str, sources: Sources) -> None:
    if origin.config_map_ref is not None:
        name, optional = origin.config_map_ref.name, origin.config_map_ref.optional
        data = _object(sources.config_maps, name, optional, "ConfigMap", f"{path}.configMapRef")
    elif origin.secret_ref is not None:
        name, optional = origin.secret_ref.name, origin.secret_ref.optional
        data = _object(sources.secrets, name, optional, "Secret", f"{path}.secretRef")
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
        return variable_field(
            pod, origin.field_ref.field_path, f"{path}.fieldRef.fieldPath", sources.pod_ips, sources.host_ips
        )
    if origin.resource_field_ref is not None:
        return resource_value(
            pod, container, origin.resource_field_ref, f"{path}.resourceFieldRef", sources.allocatable
        )
    if origin.config_map_key_ref is not None:
        key = origin.config_map_key_ref
        return _key(sources.config_maps, key.name, key.key, key.optional, "ConfigMap", f"{path}.configMapKeyRef")
    if origin.secret_key_ref is not None:
        secret = origin.secret_key_ref
        return _key(sources.secrets, secret.name, secret.key, secret.optional, "Secret", f"{path}.secretKeyRef")
    if origin.file_key_ref is not None:
        raise StartRefusedError(f"{path}.fileKeyRef", "variables from files are not supported by this agent yet")
    return ""


def _object(objects: Mapping[str, Data], name: str | None, optional: bool | None, kind: str, path: str) -> Data | None:
    data = objects.get(name or "")
    if data is None and not optional:
        raise StartRefusedError(path, f"{kind} {name!r} is not there; create it, or mark the reference as optional")
    return data


def _key(
    objects: Mapping[str, Data], name: str | None, key: str, optional: bool | None, kind: str, path: str
) -> str | None:
    data = _object(objects, name, optional, kind, path)
    if data is None:
        return None
    if key not in data and not optional:
        raise StartRefusedError(path, f"{kind} {name!r} has no key {key!r}; add it, or mark the reference as optional")
    return data.get(key)
