"""Rules of containers that no form of the data can say: a function each, as in `checks`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.cri.v1.messages import Signal
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import (
    label_key,
    no_backsteps,
    port_name,
    relative_path,
    subdomain,
    variable_name,
)

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
"""In the order in which upstream visits them."""
_INDEX = re.compile(r"\[(\d+)\]")


def items_before(seen: Seen) -> list[Any]:
    """The items of the list that stand before this one."""
    assert seen.outer is not None
    number = int(_INDEX.findall(seen.path[len(seen.outer.path) :])[0])
    return list(seen.outer.value[:number])


def each_container(seen: Seen) -> Iterator[tuple[Mapping[str, Any], str]]:
    """All containers of the spec at this place, with their paths."""
    for group in CONTAINERS:
        for number, container in enumerate(field_of(seen.value, group) or ()):
            yield container, f"{seen.join(group)}[{number}]"


@check
def annotation_names(seen: Seen) -> Iterator[Cause]:
    for key in seen.value or {}:
        yield from (causes.invalid(seen.path, key, why) for why in label_key(key.lower()))


# --- names that come twice ------------------------------------------------------------------------------------------


@check
def twice(seen: Seen) -> Iterator[Cause]:
    """The name of an item that one before it has."""
    assert seen.outer is not None
    if seen.value and any(field_of(one, "name") == seen.value for one in items_before(seen.outer)):
        yield causes.duplicate(seen.path, seen.value)


@check
def name_of_init_container(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    others = [*items_before(seen.outer), *(field_of(seen.around("containers"), "containers") or ())]
    if any(field_of(one, "name") == seen.value for one in others):
        yield causes.duplicate(seen.path, seen.value)


@check
def port_name_twice(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    if seen.value and not port_name(seen.value):
        yield from twice(seen)


@check
def host_ports_twice(seen: Seen) -> Iterator[Cause]:
    """Ports of the node that several containers want."""
    known: set[str] = set()
    for number, container in enumerate(seen.value or ()):
        yield from _host_ports(container, f"{seen.path}[{number}]", known)


@check
def host_ports_of_one(seen: Seen) -> Iterator[Cause]:
    """Init containers run one by one; upstream counts each as the first."""
    assert seen.outer is not None
    yield from _host_ports(seen.value, f"{seen.outer.path}[0]", set())


def _host_ports(container: Any, path: str, known: set[str]) -> Iterator[Cause]:
    for place, port in enumerate(field_of(container, "ports") or ()):
        if port.get("hostPort"):
            key = f"{port.get('protocol', '')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in known:
                yield causes.duplicate(f"{path}.ports[{place}].hostPort", key)
            known.add(key)


@check
def port_of_host(seen: Seen) -> Iterator[Cause]:
    """In the network of the node, a port is the same inside and outside; a template may leave it out."""
    inside, outside = seen.value.get("containerPort") or 0, seen.value.get("hostPort") or 0
    if inside != outside and (outside or field_of(seen.root, "kind") == "Pod"):
        why = "must match `containerPort` when `hostNetwork` is true"
        yield causes.invalid(seen.join("hostPort"), outside, why)


# --- environment ----------------------------------------------------------------------------------------------------

_OF_VOLUMES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_OF_ENV = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KNOWN_FIELDS = frozenset({*_OF_VOLUMES, *_OF_ENV, "spec.restartPolicy", "spec.schedulerName", "status.phase"})


@check
def field_of_env(seen: Seen) -> Iterator[Cause]:
    yield from _field(seen, _OF_ENV)


@check
def field_of_volume(seen: Seen) -> Iterator[Cause]:
    yield from _field(seen, _OF_VOLUMES)


def _field(seen: Seen, known: tuple[str, ...]) -> Iterator[Cause]:
    """A field of the pod, by its path in the object."""
    version, path, at = seen.value.get("apiVersion") or "", seen.value.get("fieldPath") or "", seen.join("fieldPath")
    if not (version and path):
        yield causes.required(at if version else seen.join("apiVersion"))
        return
    name, has_key, key = path.partition("['") if path.endswith("']") else (path, "", "")
    key = key.removesuffix("']")
    fault = ""
    if version != "v1":
        fault = f"unsupported pod version: {version}"
    elif has_key and name not in ("metadata.annotations", "metadata.labels"):
        fault = f"field label does not support subscript: {path}"
    elif not has_key and path not in _KNOWN_FIELDS:
        fault = f"field label not supported: {path}"
    if fault:
        yield causes.invalid(at, path, f"error converting fieldPath: {fault}")
    elif has_key:
        key = key.lower() if name.endswith("annotations") else key
        yield from (causes.invalid(seen.path, key, why) for why in label_key(key))
    elif path not in known:
        yield causes.not_supported(at, path, known)


_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


@check
def env_sources(seen: Seen) -> Iterator[Cause]:
    """A variable has a value or one source."""
    source, at = field_of(seen.value, "valueFrom"), seen.join("valueFrom")
    if source is None:
        return
    there = [name for name in _SOURCES if source.get(name) is not None]
    if not there:
        names = ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        yield causes.invalid(at, "", f"must specify one of: {names} or `{_SOURCES[-1]}`")
    elif seen.value.get("value"):
        yield causes.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(there) > 1:
        yield causes.invalid(at, "", "may not have more than one field specified at a time")


@check
def env_from(seen: Seen) -> Iterator[Cause]:
    for number, one in enumerate(seen.value or ()):
        at, prefix = f"{seen.path}[{number}]", one.get("prefix")
        if prefix:
            yield from (causes.invalid(f"{at}.prefix", prefix, why) for why in variable_name(prefix))
        there = [name for name in ("configMapRef", "secretRef") if one.get(name) is not None]
        for name in there:
            text, place = one[name].get("name") or "", f"{at}.{name}.name"
            if not text:
                yield causes.required(place)
            else:
                yield from (causes.invalid(place, text, why) for why in subdomain(text))
        if not there:
            yield causes.invalid(seen.path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(there) > 1:
            yield causes.invalid(seen.path, "", "may not have more than one field specified at a time")


# --- mounts ---------------------------------------------------------------------------------------------------------

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")


def _volumes(seen: Seen) -> Mapping[str, Any]:
    """The volumes of the pod around this place; claims of a StatefulSet are volumes of its pods, too."""
    spec = seen.around("containers") or {}
    found = {one.get("name") or "": one for one in spec.get("volumes") or ()}
    for one in field_of(field_of(seen.root, "spec"), "volumeClaimTemplates") or ():
        found[field_of(field_of(one, "metadata"), "name") or ""] = {"persistentVolumeClaim": {}}
    found.pop("", None)
    return found


@check
def volume_mounts(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    container, volumes, paths = seen.outer.value, _volumes(seen), set[str]()
    devices = {one.get("name") or "": one.get("devicePath") or "" for one in container.get("volumeDevices") or ()}
    for number, mount in enumerate(seen.value or ()):
        at, name, path = f"{seen.path}[{number}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield causes.required(f"{at}.name")
        if name not in volumes:
            yield causes.not_found(f"{at}.name", name)
        if not path:
            yield causes.required(f"{at}.mountPath")
        if path in paths:
            yield causes.invalid(f"{at}.mountPath", path, "must be unique")
        paths.add(path)
        if name in devices:
            yield causes.invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if path in devices.values():
            yield causes.invalid(f"{at}.mountPath", path, "must not already exist as a path in volumeDevices")
        yield from _below_mount(mount, at, seen, container)


def _below_mount(mount: Mapping[str, Any], at: str, seen: Seen, container: Any) -> Iterator[Cause]:
    part, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    yield from (causes.invalid(seen.join("subPath"), part, why) for why in relative_path(part))
    if part and expression:
        yield causes.invalid(f"{at}.subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
    yield from (causes.invalid(seen.join("subPathExpr"), expression, why) for why in relative_path(expression))
    propagation, recursion = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None and propagation not in _PROPAGATIONS:
        yield causes.not_supported(seen.join("mountPropagation"), propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not field_of(container.get("securityContext"), "privileged"):
        why = "Bidirectional mount propagation is available only to privileged containers"
        yield causes.forbidden(seen.join("mountPropagation"), why)
    if recursion in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield causes.forbidden(seen.join("recursiveReadOnly"), "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            why = "may only be specified when mountPropagation is None or not specified"
            yield causes.forbidden(seen.join("recursiveReadOnly"), why)
    elif recursion is not None and recursion not in _RECURSIONS:
        yield causes.not_supported(seen.join("recursiveReadOnly"), recursion, _RECURSIONS)


@check
def volume_devices(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    container, volumes, paths, names = seen.outer.value, _volumes(seen), set[str](), set[str]()
    mounts = {one.get("name") or "": one.get("mountPath") or "" for one in container.get("volumeMounts") or ()}
    for number, device in enumerate(seen.value or ()):
        at, name, path = f"{seen.path}[{number}]", device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            yield causes.required(f"{at}.name")
        if name in names:
            yield causes.invalid(f"{at}.name", name, "must be unique")
        if volume is None:
            yield causes.not_found(f"{at}.name", name)
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield causes.invalid(f"{at}.name", name, why)
        if not path:
            yield causes.required(f"{at}.devicePath")
        if path in paths:
            yield causes.invalid(f"{at}.devicePath", path, "must be unique")
        if no_backsteps(path):
            yield causes.invalid(f"{at}.devicePath", path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        if name in mounts:
            yield causes.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if path in mounts.values():
            yield causes.invalid(f"{at}.devicePath", path, "must not already exist as a path in volumeMounts")
        names |= {name} - {""}


# --- ends and actions -----------------------------------------------------------------------------------------------

_RESIZED = ("cpu", "memory")
_RESIZES = ("NotRequired", "RestartContainer")


@check
def resize_policy(seen: Seen) -> Iterator[Cause]:
    """Upstream calls the place of a wrong item the list."""
    never, known = field_of(seen.around("containers"), "restartPolicy") == "Never", list[Any]()
    for number, one in enumerate(seen.value or ()):
        name, policy = one.get("resourceName") or "", one.get("restartPolicy") or ""
        if name in known:
            yield causes.duplicate(f"{seen.path}[{number}]", name)
        known.append(name)
        for value, supported in ((name, _RESIZED), (policy, _RESIZES)):
            if not value:
                yield causes.required(seen.path)
            elif value not in supported:
                yield causes.not_supported(seen.path, value, supported)
        if never and policy != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield causes.invalid(seen.path, policy, why)


@check
def restart_of_init_container(seen: Seen) -> Iterator[Cause]:
    if field_of(seen.value, "restartPolicy") == "RestartContainer":
        why = "must not be set to 'RestartContainer' for non-sidecar initContainers"
        yield causes.invalid(seen.join("restartPolicy"), "RestartContainer", why)


_STOP_SIGNALS = {
    "linux": tuple(
        sorted(name.replace("PLUS", "+").replace("MINUS", "-") for name in Signal.__members__ if name.startswith("SIG"))
    ),
    "windows": ("SIGKILL", "SIGTERM"),
}


@check
def stop_signal(seen: Seen) -> Iterator[Cause]:
    system = field_of(seen.around("containers"), "os")
    if system is None:
        yield causes.forbidden(seen.path, "may not be set for containers with empty `spec.os.name`")
        return
    known = _STOP_SIGNALS.get(field_of(system, "name") or "")
    if known is not None and seen.value not in known:
        yield causes.not_supported(seen.path, seen.value, known)


@check
def sleep(seen: Seen) -> Iterator[Cause]:
    seconds, most = seen.value.get("seconds") or 0, field_of(seen.around("containers"), "terminationGracePeriodSeconds")
    if most is not None and not 0 <= seconds <= most:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({most})"
        yield causes.invalid(seen.path, seconds, why)


@check
def ephemeral_container(seen: Seen) -> Iterator[Cause]:
    assert seen.outer is not None
    spec, one = seen.around("containers") or {}, seen.value
    others = {each.get("name") for group in ("containers", "initContainers") for each in spec.get(group) or ()}
    if one.get("name", "") in others | {each.get("name") for each in items_before(seen)}:
        yield causes.duplicate(seen.join("name"), one.get("name", ""))
    target = one.get("targetContainerName")
    if target and target not in others:
        yield causes.not_found(seen.join("targetContainerName"), target)
    for name in _ORDER_OF_FIELDS:
        if one.get(name) not in (None, [], {}, ""):
            yield causes.forbidden(seen.join(name), "cannot be set for an Ephemeral Container")
    for number, mount in enumerate(one.get("volumeMounts") or ()):
        for name in ("subPath", "subPathExpr"):
            if mount.get(name):
                at = f"{seen.join('volumeMounts')}[{number}].{name}"
                yield causes.forbidden(at, "cannot be set for an Ephemeral Container")


_ORDER_OF_FIELDS = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)
"""What an ephemeral container may not have."""
