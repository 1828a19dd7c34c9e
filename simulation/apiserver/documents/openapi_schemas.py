"""OpenAPI schemas of built-in kinds.

Some are as published, the others are made from structs of `config.objects`.

Owns the schema of a Python type: its name, its fields, and its patch rules (from `config.patches`). Descriptions are
the docstrings of the structs. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import inspect

from config.objects import ObjectMeta
from config.objects.base import UNKNOWN_KEY
from config.patches import Schema, schema_for
from config.patches.strategic_schema import NO_RULE, FieldRule
from simulation.apiserver.kinds.structs import struct_of
from simulation.apiserver.kinds.table import DEFINITIONS, ServedResource
from simulation.apiserver.schemas.published import INT_OR_TEXT, META, QUANTITY, components
from simulation.apiserver.schemas.structural import DEFINITION

Json = dict[str, Any]

_WELL_KNOWN: Mapping[str, Json] = {
    QUANTITY: {
        "description": "An amount with a suffix, such as 500m, 1.5Gi or 2e3.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    INT_OR_TEXT: {
        "description": "A number, or text: the number of a port or its name, an amount or a percentage.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}
_OF_METADATA: Mapping[str, str] = {
    "annotations": "Annotations are text for programs, by key. Selectors do not know them.",
    "creationTimestamp": "CreationTimestamp is a timestamp: when the server made the object.",
    "deletionGracePeriodSeconds": "DeletionGracePeriodSeconds is how long the object may take to end.",
    "deletionTimestamp": "DeletionTimestamp is a timestamp: when the object will be gone, or has to be.",
    "finalizers": "Finalizers keep an object that is being deleted until the last of them is removed.",
    "generateName": "GenerateName is the beginning of a name that the server completes.",
    "generation": "Generation counts the changes of what is desired.",
    "labels": "Labels are keys and values by which objects are selected.",
    "managedFields": "ManagedFields say who set which fields.",
    "name": "Name is unique among the objects of the kind in the namespace.",
    "namespace": "Namespace is where names are unique. Objects of the whole cluster have none.",
    "ownerReferences": "OwnerReferences are the objects that this one depends on; it goes with the last of them.",
    "resourceVersion": "ResourceVersion changes with each write. A write that names an old one is refused.",
    "uid": "UID is unique in time and space.",
}
"""What `kubectl explain KIND.metadata` shows of the fields of every object."""
_SCALARS: Mapping[type[inspect.Type], Json] = {
    inspect.StrType: {"type": "string"},
    inspect.BoolType: {"type": "boolean"},
    inspect.IntType: {"type": "integer", "format": "int64"},
    inspect.FloatType: {"type": "number", "format": "double"},
    inspect.BytesType: {"type": "string", "format": "byte"},
    inspect.LiteralType: {"type": "string"},
}
_MAY_BE_REQUIRED = (inspect.StrType, inspect.BoolType, inspect.IntType)
_LISTS_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "PodSpec": ("containers",),
    "NodeSelector": ("nodeSelectorTerms",),
}


def schema_name(resource: ServedResource) -> str:
    """The name of the schema of the resource's kind: `io.k8s.api.core.v1.Pod`."""
    if resource.described is not None and resource.described.published:
        return resource.described.published
    return _prefix(resource) + resource.kind


def schemas_of(resources: Sequence[ServedResource]) -> dict[str, Json]:
    """Name -> schema of the kinds of these resources, and of all the types that they contain.

    The resources are of one group and version.
    """
    writer = _Writer(_prefix(resources[0]))
    schemas: dict[str, Json] = dict(_WELL_KNOWN)
    for resource in resources:
        struct = struct_of(resource)
        schema: Mapping[str, Any] | None = DEFINITION if resource is DEFINITIONS else None
        if resource.is_defined and resource.described is not None:
            schema = resource.described.schema
        if resource.described is not None and resource.described.published:
            writer.visit(ObjectMeta, {})
            schemas |= {name: dict(one) for name, one in components(resource.described.published).items()}
        elif schema is not None:
            writer.visit(ObjectMeta, {})
            schemas[schema_name(resource)] = _shown(schema, _reference(f"{META}.ObjectMeta"))
        elif struct is None:
            schemas[schema_name(resource)] = {
                "description": f"{resource.api_version} {resource.kind}.",
                "type": "object",
            }
        else:
            writer.visit(struct, schema_for(resource.api_version, resource.kind))
    schemas |= writer.schemas()
    for resource in resources:
        identity = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        schemas[schema_name(resource)] |= {"x-kubernetes-group-version-kind": [identity]}
    return schemas


def _prefix(resource: ServedResource) -> str:
    if resource.is_defined:
        return f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}."
    group = resource.group.partition(".")[0] or "core"
    return f"io.k8s.api.{group}.{resource.version}."


class _Writer:
    """Finds every struct below some kinds with the way it is patched, then writes them."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._rules: dict[type[msgspec.Struct], Schema] = {}

    def visit(self, struct: type[msgspec.Struct], rules: Schema) -> None:
        """Record a type.

        A type is patched in one way wherever it is used; a place without patch rules does not count.
        """
        if struct in self._rules and (not rules or self._rules[struct]):
            return
        self._rules[struct] = rules
        for field in _fields(struct):
            rule = rules.get(field.encode_name, NO_RULE)
            _each_struct(field.type, partial(self.visit, rules=rule.schema))

    def schemas(self) -> dict[str, Json]:
        return {self._name(struct): self._struct(struct, rules) for struct, rules in self._rules.items()}

    def _name(self, struct: type[msgspec.Struct]) -> str:
        is_meta = struct.__module__ == "config.objects.meta" or struct.__name__.startswith("LabelSelector")
        return (f"{META}." if is_meta else self._prefix) + struct.__name__

    def _struct(self, struct: type[msgspec.Struct], rules: Schema) -> Json:
        properties: Json = {}
        required: list[str] = []
        for field in _fields(struct):
            shown = self._field(field.type, rules.get(field.encode_name, NO_RULE))
            words = _OF_METADATA.get(field.encode_name) if struct is ObjectMeta else None
            properties[field.encode_name] = {"description": words, **shown} if words else shown
            # A scalar that is written even when empty is one that the API requires.
            must = field.default_factory is not msgspec.NODEFAULT and type(field.type) in _MAY_BE_REQUIRED
            if must or field.encode_name in _LISTS_REQUIRED.get(struct.__name__, ()):
                required.append(field.encode_name)
        schema: Json = {"description": _first_words(struct), "type": "object", "properties": properties}
        return {**schema, "required": required} if required else schema

    def _field(self, of: inspect.Type, rule: FieldRule) -> Json:
        schema = self._type(of)
        if rule.merge:
            schema["x-kubernetes-patch-strategy"] = "merge,retainKeys" if rule.retain_keys else "merge"
            if rule.key:
                schema["x-kubernetes-patch-merge-key"] = rule.key
        elif rule.retain_keys or rule.replace:
            schema["x-kubernetes-patch-strategy"] = "retainKeys" if rule.retain_keys else "replace"
        return schema

    def _type(self, of: inspect.Type) -> Json:
        if isinstance(of, inspect.Metadata):
            return _reference(QUANTITY) if (of.extra or {}).get("quantity") else self._type(of.type)
        if isinstance(of, inspect.UnionType):
            return self._union([one for one in of.types if not isinstance(one, inspect.NoneType)])
        if isinstance(of, inspect.StructType):
            # Beside the reference, because `kubectl explain` looks there first.
            words = _first_words(of.cls)
            return {**({"description": words} if words else {}), **_reference(self._name(of.cls))}
        if isinstance(of, inspect.VarTupleType):
            return {"type": "array", "items": _bare(self._type(of.item_type))}
        if isinstance(of, inspect.DictType):
            return {"type": "object", "additionalProperties": _bare(self._type(of.value_type))}
        return dict(_SCALARS.get(type(of), {"type": "object"}))

    def _union(self, types: list[inspect.Type]) -> Json:
        if len(types) == 1:
            return self._type(types[0])
        return _reference(INT_OR_TEXT)


def _reference(name: str) -> Json:
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}]}


def _bare(schema: Json) -> Json:
    """Items of lists and maps refer without the wrapping that a description would need."""
    return dict(schema["allOf"][0]) if "allOf" in schema else schema


def _fields(struct: type[msgspec.Struct]) -> list[inspect.Field]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return [field for field in info.fields if field.encode_name != UNKNOWN_KEY]


def _each_struct(of: inspect.Type, found: Callable[[type[msgspec.Struct]], None]) -> None:
    """Call `found` with every struct that the type is made of, not with those within them."""
    if isinstance(of, inspect.StructType):
        found(of.cls)
    elif isinstance(of, inspect.Metadata):
        _each_struct(of.type, found)
    elif isinstance(of, inspect.UnionType):
        for one in of.types:
            _each_struct(one, found)
    elif isinstance(of, inspect.VarTupleType):
        _each_struct(of.item_type, found)
    elif isinstance(of, inspect.DictType):
        _each_struct(of.value_type, found)


def _first_words(struct: type[msgspec.Struct]) -> str:
    words = " ".join((struct.__doc__ or "").partition("\n\n")[0].split())
    # "core/v1 Probe." is all that some structs say, and the name stands beside it already.
    return "" if words.endswith(f"/v1 {struct.__name__}.") else words


def _shown(schema: Mapping[str, Any], metadata: Mapping[str, Any]) -> Json:
    """The schema as OpenAPI shows it, with the fields of every object.

    `metadata`: a reference to their schema.
    """
    properties = {
        "apiVersion": {
            "type": "string",
            "description": "APIVersion defines the version of the fields: group and version with a slash between them.",
        },
        "kind": {"type": "string", "description": "Kind is what the object is, such as Pod."},
        **(schema.get("properties") or {}),
        "metadata": {"description": "Standard object's metadata: name, labels and the like.", **metadata},
    }
    kept = {name: part for name, part in schema.items() if name != "default"}
    if not kept:  # a definition without a schema: clients must not take other fields for unknown
        return {"type": "object"}
    return {**kept, "type": "object", "properties": properties}
