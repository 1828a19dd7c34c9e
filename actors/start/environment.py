"""The environment of a container: which variables, from where, and who wins (spec 13.2, 13.3). Pure.

`envFrom` comes first, then `env` in its order, each later one over the earlier; service variables fill what is left.
Objects of the API are given in `Sources`; a node that has none (no API server) refuses a reference that is not
optional, because a container without a variable it was promised is worse than one that does not start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from actors.start.expansion import expand
from actors.start.refusal import StartRefusedError
from config.objects import Container, EnvFromSource, EnvVar, ObjectFieldSelector, Pod, ResourceFieldSelector
from config.quantity import parse_quantity

Data = Mapping[str, str]
_NO_DATA: Data = {}
_NO_OBJECTS: Mapping[str, Data] = {}
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")


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
        return _field(pod, origin.field_ref, f"{path}.fieldRef.fieldPath", sources)
    if origin.resource_field_ref is not None:
        return _resource(pod, container, origin.resource_field_ref, f"{path}.resourceFieldRef", sources)
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


def _field(pod: Pod, selector: ObjectFieldSelector, path: str, sources: Sources) -> str:
    field = selector.field_path
    meta = pod.metadata
    keyed = _KEYED.fullmatch(field)
    if keyed is not None:
        return (meta.labels if keyed[1] == "labels" else meta.annotations).get(keyed[2], "")
    values = {
        "metadata.name": meta.name,
        "metadata.namespace": meta.namespace,
        "metadata.uid": meta.uid,
        "spec.nodeName": pod.spec.node_name or "",
        "spec.serviceAccountName": pod.spec.service_account_name or "",
        "status.hostIP": sources.host_ips[0] if sources.host_ips else "",
        "status.hostIPs": ",".join(sources.host_ips),
        "status.podIP": sources.pod_ips[0] if sources.pod_ips else "",
        "status.podIPs": ",".join(sources.pod_ips),
    }
    if field not in values:
        raise StartRefusedError(path, f"{field!r} cannot be a variable; use one of {', '.join(values)}")
    return values[field]


def _resource(pod: Pod, container: Container, selector: ResourceFieldSelector, path: str, sources: Sources) -> str:
    kind, _, resource = selector.resource.partition(".")
    owner: Container | None = container
    if selector.container_name and selector.container_name != container.name:
        everyone = (*pod.spec.init_containers, *pod.spec.containers)
        owner = next((each for each in everyone if each.name == selector.container_name), None)
        if owner is None:
            raise StartRefusedError(f"{path}.containerName", f"the pod has no container {selector.container_name!r}")
    resources = owner.resources if owner is not None else None
    if kind == "limits":
        amount = resources.limits.get(resource) if resources is not None else None
        amount = amount or sources.allocatable.get(resource)
        if amount is None:
            raise StartRefusedError(f"{path}.resource", f"no limit of {resource} is set, and the node's is not known")
    elif kind == "requests":
        amount = (resources.requests.get(resource) if resources is not None else None) or "0"
    else:
        raise StartRefusedError(f"{path}.resource", f"{selector.resource!r} must begin with limits. or requests.")
    divisor = parse_quantity(selector.divisor).nanos if selector.divisor else 0
    # Rounded up: a container is never told that it has less than it has.
    return str(-(-parse_quantity(amount).nanos // (divisor or 1_000_000_000)))
