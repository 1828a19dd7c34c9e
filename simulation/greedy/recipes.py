"""Finds, for any field of a pod, a template that the API server accepts.

A template begins with what the types say: the path to the field, and what must be written on the way. Then the rules of
the API server are asked, and what they refuse is changed step by step: another word, one more field, a field less. The
words are in `WORDS` and in the hints of the refusals. `MEANT` and `ALSO` say what an agent has to meet, so that the
field is of some use. A field for which nothing helps is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect as types

from config.documents.codec import DocumentError, from_builtins
from config.objects import Pod
from config.pods.defaults import default_pod
from config.validation.pod import validate_pod
from simulation.greedy.fields import LARGE, MANY, fields_of, plain, required_of, type_at
from simulation.greedy.templates import ADDRESS, NUMBER, Json, LargeText, ManyEntries, ManyItems, WholeNumber, rendered

OBJECT = "greedy"
"""The name of the ConfigMap and of the Secret that greedy pods refer to."""
KEY = "data"
"""The only key in both."""
IMAGE = "registry.example/greedy:1"
OWN_IMAGE = "registry.example/greedy-{n}:1"
NODE = "node-0"
SHOWN = "x" * 10_000
"""The value of an annotation that files show."""
WORDS = (
    "n{n}",
    "{n}",
    "/n{n}",
    "example.com/n{n}",
    "registry.example/n{n}:1",
    ADDRESS,
    "n{n}.example",
    "data",
    "disk",
    "claim",
    "app",
    "metadata.name",
    "limits.memory",
    "Exists",
    "Always",
    "1Gi",
    "In",
)
NUMBERS: tuple[Json, ...] = (WholeNumber(60_000), 0, 600, True)
MEANT: Mapping[str, str | int] = {
    "ConfigMapEnvSource.name": OBJECT,
    "ConfigMapKeySelector.key": KEY,
    "ConfigMapKeySelector.name": OBJECT,
    "ConfigMapProjection.name": OBJECT,
    "ConfigMapVolumeSource.name": OBJECT,
    "Container.image": IMAGE,
    "EphemeralContainer.image": IMAGE,
    "HostPathVolumeSource.path": "/etc",
    "KeyToPath.key": KEY,
    "NFSVolumeSource.server": "nfs.example",
    "SecretEnvSource.name": OBJECT,
    "SecretKeySelector.key": KEY,
    "SecretKeySelector.name": OBJECT,
    "SecretProjection.name": OBJECT,
    "SecretVolumeSource.secretName": OBJECT,
    "SleepAction.seconds": 1,
    "VolumeDevice.devicePath": "/dev/n{n}",
    "VolumeMount.mountPath": "/n{n}",
    "spec.initContainers[].image": OWN_IMAGE,
}
"""Structure or path, and field -> the word or the number that is tried first."""
ALSO: Mapping[str, Mapping[str, Json]] = {
    "ConfigMapVolumeSource": {"name": OBJECT},
    "DownwardAPIVolumeFile": {"fieldRef": {"fieldPath": "metadata.annotations"}},
    "HostAlias": {"hostnames": ["n{n}.example"]},
    "ImageVolumeSource": {"reference": OWN_IMAGE},
    "LocalObjectReference": {"name": "n{n}"},
    "SecretVolumeSource": {"secretName": OBJECT},
    "ServiceAccountTokenProjection": {"audience": "n{n}"},
    "Toleration": {"key": "n{n}", "operator": "Exists"},
}
"""Structure -> fields that need not be written, and without which it asks nothing of an agent."""
COMPANIONS: Mapping[str, Mapping[str, Mapping[str, Json]]] = {
    ".claims": {"spec": {"resourceClaims": [{"name": "claim", "resourceClaimName": "claim"}]}},
    ".downwardAPI.items": {"metadata": {"annotations": {"greedy/shown": SHOWN}}},
    ".volumeDevices": {
        "spec": {
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
            ]
        }
    },
}
"""Part of a path -> other parts of the pod to which such a field refers."""
STEPS_AT_MOST = 30
_PLACE = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]")
_HINTED = re.compile(r"[A-Za-z][A-Za-z0-9./-]*")
_ASSIGNED = re.compile(r"([A-Za-z]+): ([A-Za-z]+)")

Step = str | int


class LeftOutError(Exception):
    """No pod with that field grown is accepted. The text says what was refused last."""


@lru_cache(maxsize=4096)
def template_of(field: str) -> Json:
    """The template for that field. Nobody changes it. Raises LeftOutError."""
    template = _begun(field)
    faults: Sequence[DocumentError] = faults_of(rendered(template, 2))
    for _ in range(STEPS_AT_MOST):
        if not faults:
            break
        found = _better(template, faults, field)
        if found is None:
            break
        template, faults = found
    if faults:
        raise LeftOutError(str(faults[0]))
    if template["spec"].get("nodeName") != NODE:
        raise LeftOutError(f"no node gets a pod with {field}")
    return template


def faults_of(document: Json) -> tuple[DocumentError, ...]:
    """What the rules of an API server refuse of a pod."""
    try:
        return validate_pod(default_pod(from_builtins(document, Pod)))
    except DocumentError as error:
        return error.faults


# --- what the types say -----------------------------------------------------------------------------------------------


def _begun(field: str) -> Json:
    template: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": OBJECT, "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "containers": [{"name": "app", "image": IMAGE}],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }
    for part, companions in COMPANIONS.items():
        if part in field:
            for name, companion in companions.items():
                template[name] |= deepcopy(companion)
    _put(template, _steps_of(field), "")
    return template


def _steps_of(field: str) -> list[str]:
    """`spec.volumes[*].nfs` in steps: spec, volumes, [*], nfs."""
    return field.replace("[", ".[").replace("{", ".{").replace(LARGE, f".{LARGE}").split(".")


def _has(node: Json, steps: Sequence[str]) -> bool:
    """Whether the template has what the steps lead to."""
    if not steps or steps[0] == LARGE:
        return node is not None
    if isinstance(node, list):
        return any(_has(each.item if isinstance(each, ManyItems) else each, steps[1:]) for each in node)
    if isinstance(node, ManyEntries) or steps[0] == "{}":
        return True
    return isinstance(node, dict) and _has(node.get(steps[0]), steps[1:])


def _put(at: Json, steps: Sequence[str], path: str) -> None:
    """Add to the structure `at` what `steps` lead to. `path`: of the structure, as `type_at` takes it."""
    (name, *rest), here = steps, f"{path}.{steps[0]}" if path else steps[0]
    kind = type_at(here)
    if not rest:
        at.setdefault(name, _value(here, "", kind))
    elif rest[0] == LARGE:
        at[name] = LargeText(NUMBER)
    elif isinstance(kind, types.DictType):
        grows = rest[0] != "{}"
        value: Json = "x" if isinstance(plain(kind.value_type), types.StrType) else {}
        at[name] = ManyEntries(WORDS[0], value) if grows else {"n0": LargeText(NUMBER)}
    elif isinstance(kind, types.VarTupleType):
        _put_item(at, name, plain(kind.item_type), rest, f"{here}[]")
    else:
        assert isinstance(kind, types.StructType)
        _put(at.setdefault(name, _least(kind, here)), rest, here)


def _put_item(at: Json, name: str, kind: types.Type, steps: Sequence[str], path: str) -> None:
    """Add an item to a list, or as many as wanted."""
    grows = steps[0] == f"[{MANY}]"
    if not isinstance(kind, types.StructType):
        item: Json = _value(path, "", kind) if grows else LargeText(NUMBER)
    elif name == "containers" and not grows:
        _put(at[name][0], steps[1:], path)  # the one that every pod has
        return
    else:
        item = _least(kind, path)
        if steps[1:]:
            _put(item, steps[1:], path)
    at.setdefault(name, []).append(ManyItems(item) if grows else item)


def _least(kind: types.StructType, path: str) -> Json:
    """A structure with what must be written and what is of use, and nothing else."""
    parts = fields_of(kind)
    least = {name: _value(f"{path}.{name}", f"{kind.cls.__name__}.{name}", parts[name]) for name in required_of(kind)}
    return {**least, **deepcopy(ALSO.get(kind.cls.__name__, {}))}


def _value(path: str, owner: str, kind: types.Type) -> Json:
    """The simplest value of a type. `owner`: structure and field."""
    if isinstance(kind, types.StructType):
        return _least(kind, path)
    if isinstance(kind, types.IntType):
        return MEANT.get(owner, NUMBERS[0])
    if isinstance(kind, types.BoolType):
        return True
    if isinstance(kind, types.VarTupleType):
        return [_value(f"{path}[]", owner, plain(kind.item_type))]
    if isinstance(kind, types.DictType):
        return {WORDS[0]: "1"}
    return MEANT.get(path) or MEANT.get(owner) or WORDS[0]


# --- what the API server says -----------------------------------------------------------------------------------------


def _better(template: Json, faults: Sequence[DocumentError], field: str) -> tuple[Json, Sequence[DocumentError]] | None:
    """A template with fewer faults, or else one whose first fault comes later. None if nothing helps."""
    best: tuple[Json, Sequence[DocumentError]] | None = None
    later: tuple[Json, Sequence[DocumentError]] | None = None
    for candidate in _changes(template, faults[0]):
        if not _has(candidate, _steps_of(field)):
            continue
        left = faults_of(rendered(candidate, 2))
        if not left:
            return candidate, left
        if len(left) < len(faults if best is None else best[1]):
            best = candidate, left
        elif left[0].path > faults[0].path and (later is None or len(left) < len(later[1])):
            later = candidate, left
    return best or later


def _changes(template: Json, fault: DocumentError) -> Iterator[Json]:
    """Templates with one change where the fault is: another value, another field, a field less."""
    steps: list[Step] = [
        name or (msgspec.json.decode(key) if key else int(index)) for name, index, key in _PLACE.findall(fault.path)
    ]
    hinted = tuple(dict.fromkeys(_HINTED.findall(fault.hint)))
    for name, value in _ASSIGNED.findall(fault.hint):
        yield from _with(template, [*steps, name], value)
        yield from _with(template, [*steps[:-1], name], value)
    values: tuple[Json, ...] = (None, *hinted, *WORDS, *NUMBERS)
    for value in values:
        yield from _with(template, steps, value)
    yield from _with_another_field(template, steps, hinted)


def _found(node: Json, steps: Sequence[Step]) -> tuple[Json, str]:
    """The place that the steps lead to, or the last one that is there, and its path for `type_at`."""
    path = ""
    for step in steps:
        below = _below(node, step)
        if below is None:
            break
        if isinstance(node, list):
            path += "[]"
        elif isinstance(node, ManyEntries):
            path += "{}"
        else:
            path += f".{step}" if path else str(step)
        node = below
    return node, path


def _below(node: Json, step: Step) -> Json:
    if isinstance(node, ManyEntries):
        return node.value
    if isinstance(node, list) and node and isinstance(step, int):
        found = node[min(step, len(node) - 1)]
        return found.item if isinstance(found, ManyItems) else found
    return node.get(step) if isinstance(node, dict) else None


def _with(template: Json, steps: Sequence[Step], value: Json) -> Iterator[Json]:
    """The template with another value at a place, if such a value fits there. None: the simplest one."""
    changed = deepcopy(template)
    _make_way(changed, steps[:-1])
    above, path = _found(changed, steps[:-1])
    last = steps[-1] if steps else ""
    if isinstance(above, ManyEntries):
        yield from _with_entries(template, steps, value)
    elif isinstance(above, list) and above:
        if _fits_in_place_of(above[-1], value):
            above[-1] = _grown_like(above[-1], value)
            yield changed
    elif isinstance(above, dict) and isinstance(last, str):
        kind, owner = _part(path, last)
        if value is None and kind is not None and last not in above:
            above[last] = _value(f"{path}.{last}", owner, kind)
            yield changed
        elif _is_of(kind, value) and _fits_in_place_of(above.get(last), value):
            above[last] = _grown_like(above.get(last), value)
            yield changed


def _with_entries(template: Json, steps: Sequence[Step], value: Json) -> Iterator[Json]:
    """A map that grows, with other keys or other values."""
    if isinstance(value, str):
        for name in ("key", "value") if NUMBER in value else ("value",):
            changed = deepcopy(template)
            setattr(_found(changed, steps[:-1])[0], name, value)
            yield changed


def _fits_in_place_of(before: Json, value: Json) -> bool:
    """Whether a value may take the place of another one: what grows must go on growing."""
    if isinstance(before, LargeText):
        return isinstance(value, str) and NUMBER in value
    if isinstance(before, ManyItems):
        return value is not None and not isinstance(before.item, dict)
    return value is not None and not isinstance(before, dict | list)


def _grown_like(before: Json, value: Json) -> Json:
    if isinstance(before, LargeText):
        return LargeText(value)
    return ManyItems(value) if isinstance(before, ManyItems) else value


def _is_of(kind: types.Type | None, value: Json) -> bool:
    if isinstance(value, str):
        return isinstance(kind, types.StrType)
    return isinstance(kind, types.BoolType) if value is True else isinstance(kind, types.IntType)


def _part(path: str, name: str) -> tuple[types.Type | None, str]:
    """The type of a field of what stands at the path, and structure and field in words."""
    kind: Any = type_at(path) if path else None
    if isinstance(kind, types.DictType):
        return plain(kind.value_type), ""
    if isinstance(kind, types.StructType):
        return fields_of(kind).get(name), f"{kind.cls.__name__}.{name}"
    return None, ""


def _make_way(template: Json, steps: Sequence[Step]) -> None:
    """Add the structures and maps that are missing on the way to a place."""
    for number, step in enumerate(steps):
        node, path = _found(template, steps[:number])
        if isinstance(node, dict) and isinstance(step, str) and step not in node:
            kind, _ = _part(path, step)
            if isinstance(kind, types.StructType):
                node[step] = _least(kind, f"{path}.{step}")
            elif isinstance(kind, types.DictType):
                node[step] = {}


def _with_another_field(template: Json, steps: Sequence[Step], hinted: Sequence[str]) -> Iterator[Json]:
    """The template with a field more or less at a place, or around it. Hinted ones come first."""
    for way in (steps, steps[:-1]):
        node, path = _found(template, way)
        kind = type_at(path) if path else None
        if not isinstance(node, dict) or not isinstance(kind, types.StructType):
            continue
        for name in sorted(fields_of(kind).keys() - node.keys(), key=lambda name: (name not in hinted, name)):
            part, owner = _part(path, name)
            assert part is not None
            changed = deepcopy(template)
            _found(changed, way)[0][name] = _value(f"{path}.{name}", owner, part)
            yield changed
    for way in (steps, steps[:-1]):
        node, _ = _found(template, way)
        for name in node if isinstance(node, dict) else ():
            changed = deepcopy(template)
            del _found(changed, way)[0][name]
            yield changed
